package metrics

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	summarizeBatch      = 5000                  // reports in one transaction of the summarizer
	summarizeStored     = 1 << 20               // bytes of these reports, as PostgreSQL stores them
	summarizeBytes      = 4 << 20               // bytes of these reports, as PostgreSQL sends them
	maxRebuilds         = 50                    // stale summaries on which one transaction works
	summarizeMinPause   = 50 * time.Millisecond // minimum pause between two transactions
	summarizeRestFactor = 9                     // the pause is this many times as long as the transaction, so that the summarizer uses at most a tenth of the server
	summarizeMaxPause   = 1 * time.Second       // maximum of that pause
	summarizeRetry      = 1 * time.Second       // pause after an error
	summarizeInterval   = 2 * time.Second       // pause without new reports
	summarizeTimeout    = 18 * time.Second      // for one transaction
)

// Summarizer updates trial_summaries from the rows of metrics. Every master runs one; a lock
// lets one of them work at a time.
type Summarizer struct {
	db  *database.DB
	bus *database.Bus
	log *slog.Logger
}

// NewSummarizer returns a Summarizer; Run starts it.
func NewSummarizer(db *database.DB, bus *database.Bus, log *slog.Logger) *Summarizer {
	return &Summarizer{db: db, bus: bus, log: log}
}

// Run works until ctx ends, woken by reports.
func (s *Summarizer) Run(ctx context.Context) {
	wake, cancel := s.bus.Subscribe(Topic)
	defer cancel()
	for ctx.Err() == nil {
		began := time.Now()
		done, err := summarize(ctx, s.db)
		pause := min(max(summarizeMinPause, summarizeRestFactor*time.Since(began)), summarizeMaxPause)
		switch {
		case err != nil && ctx.Err() == nil:
			pause = summarizeRetry
			if !fault.Is(err, fault.Unavailable) {
				s.log.Error("summaries of metrics are behind", "error", err)
			}
		case err == nil:
			for _, trial := range slices.Sorted(maps.Keys(done.incomplete)) {
				s.log.Warn("the summary of a trial's metrics is incomplete", "trial_id", trial, "reason", done.incomplete[trial])
			}
			if done.more {
				continue
			}
		}
		if sleep.For(ctx, pause) != nil {
			return
		}
		if err == nil {
			s.await(ctx, wake)
		}
	}
}

// await waits for reports. Wake-ups can be lost, and the rows of reports can wait for the end of an older
// transaction, so it also looks for some now and then.
func (s *Summarizer) await(ctx context.Context, wake <-chan struct{}) {
	look := time.NewTicker(summarizeInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
			return
		case <-look.C:
			if idle, err := nothingToSummarize(ctx, s.db); err != nil || !idle {
				return
			}
		}
	}
}

// Position is a position in the order in which the rows of metrics become visible. The summaries include the rows up to that of
// metrics_cursor.
type Position struct {
	XID uint64
	ID  int64
}

// Summarize adds the next rows to their trials' summaries; more is true if further rows
// wait. It does nothing while another master summarizes.
func Summarize(ctx context.Context, db *database.DB) (more bool, err error) {
	done, err := summarize(ctx, db)
	return done.more, err
}

// summarized is the result of a transaction of the summarizer.
type summarized struct {
	more       bool           // further rows or stale summaries wait
	incomplete map[int]string // the trials whose summaries became incomplete, with the reason
}

func summarize(ctx context.Context, db *database.DB) (done summarized, err error) {
	ctx, cancel := context.WithTimeout(ctx, summarizeTimeout)
	defer cancel()
	err = db.Tx(ctx, func(tx *database.DB) error {
		done = summarized{incomplete: map[int]string{}}
		from, upTo, ok, err := takeCursor(ctx, tx)
		if err != nil || !ok {
			return err
		}
		list, more, err := nextRows(ctx, tx, rowLimits{summarizeBatch, summarizeStored, summarizeBytes}, `xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2)`, from.XID, from.ID, upTo)
		if err != nil {
			return err
		}
		to := Position{upTo, 0}
		if done.more = more; more {
			last := list[len(list)-1]
			to = Position{last.XID, last.ID}
		}
		if err := foldRows(ctx, tx, list, to, &done); err != nil || len(list) == 0 {
			return err
		}
		if err := fireThresholds(ctx, tx, list); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE metrics_cursor SET xid = $1, id = $2`, to.XID, to.ID)
		return err
	})
	return done, err
}

// CaughtUp reports whether the summaries include all reports. They may be behind
// while an older writing transaction runs anywhere on the server, because it might still
// commit rows that come before the newest ones.
func CaughtUp(ctx context.Context, db *database.DB) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT `+caughtUp)
}

const caughtUp = `NOT EXISTS (SELECT 1 FROM metrics m, metrics_cursor c WHERE m.xid >= c.xid AND (m.xid, m.id) > (c.xid, c.id))
	AND NOT EXISTS (SELECT 1 FROM trial_summaries WHERE stale)`

// nothingToSummarize reports whether Summarize would do nothing.
func nothingToSummarize(ctx context.Context, db *database.DB) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT `+caughtUp+` AND NOT EXISTS (SELECT FROM metrics_cursor WHERE xid > pg_snapshot_xmax(pg_current_snapshot()))`)
}

// takeCursor locks the cursor for this transaction. It returns the position after which to
// read, and the transaction id below which all transactions have ended; ok is false if
// another master has the lock.
func takeCursor(ctx context.Context, db *database.DB) (from Position, upTo uint64, ok bool, err error) {
	var next uint64
	// An advisory lock, because a row lock would be a write, and most calls find no new rows.
	ok, err = database.Scalar[bool](ctx, db, `SELECT pg_try_advisory_xact_lock(hashtextextended('summaries of metrics', 0))`)
	if err != nil || !ok {
		return from, 0, false, err
	}
	err = db.QueryRow(ctx, `
		SELECT xid, id, pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmax(pg_current_snapshot())
		FROM metrics_cursor`).Scan(&from.XID, &from.ID, &upTo, &next)
	if err == nil && from.XID > next {
		from = Position{upTo, 0}
		err = renumber(ctx, db, next, from)
	}
	return from, max(upTo, from.XID), err == nil, err
}

// renumber corrects the rows and the cursor after a dump was restored into another server:
// their transaction ids may be higher than those of this server. All summaries become stale
// and are rebuilt. renumber writes the cursor itself, because there may be no new row
// that would move it.
func renumber(ctx context.Context, db *database.DB, next uint64, at Position) error {
	for _, change := range []struct {
		sql  string
		args []any
	}{
		{`SET LOCAL statement_timeout = 0`, nil},
		{`UPDATE metrics SET xid = '3' WHERE xid >= $1`, []any{next}},
		{`UPDATE metrics_cursor SET xid = $1, id = $2`, []any{at.XID, at.ID}},
		{`INSERT INTO trial_summaries (trial_id, stale) SELECT DISTINCT trial_id, true FROM metrics
			ON CONFLICT (trial_id) DO UPDATE SET stale = true, rebuilt_xid = NULL, rebuilt_id = NULL`, nil},
	} {
		if _, err := db.Exec(ctx, change.sql, change.args...); err != nil {
			return err
		}
	}
	return nil
}

// MarkStale marks a trial's summary, so that the summarizer rebuilds it.
func MarkStale(ctx context.Context, db *database.DB, trial int) error {
	_, err := db.Exec(ctx, `
		INSERT INTO trial_summaries (trial_id, stale) VALUES ($1, true)
		ON CONFLICT (trial_id) DO UPDATE SET stale = true, rebuilt_xid = NULL, rebuilt_id = NULL`, trial)
	return err
}
