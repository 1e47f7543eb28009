package metrics

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
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
	summarizeLogged     = 1 * time.Minute       // pause between two entries of the log about a database that does not answer in time
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

// Run works until ctx ends, woken by reports. The loops wait for nothing that another of them does.
func (s *Summarizer) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { s.repeat(ctx, "summaries of metrics are behind", summarize) })
	loops.Go(func() { s.repeat(ctx, "thresholds of webhooks are behind", newThresholds(s.log).step) })
	loops.Wait()
}

// repeat does the steps of one loop. A step reads at most so many reports.
func (s *Summarizer) repeat(ctx context.Context, behind string, step func(ctx context.Context, db *database.DB, most int) (summarized, error)) {
	wake, cancel := s.bus.Subscribe(Topic)
	defer cancel()
	p := pace{most: summarizeBatch}
	for ctx.Err() == nil {
		began := time.Now()
		done, err := step(ctx, s.db, p.most)
		pause := min(max(summarizeMinPause, summarizeRestFactor*time.Since(began)), summarizeMaxPause)
		switch {
		case err != nil && ctx.Err() == nil:
			pause = summarizeRetry
			if p.failed(done, err, time.Now()) {
				s.log.Error(behind, "failures", p.failures, "next_reports", p.most, "error", err)
			}
		case err == nil:
			p.succeeded()
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

// A pace says how many reports the next transaction of a loop may read: half as many after one that failed with its reports, down to 0,
// and twice as many after one that succeeded.
type pace struct {
	most     int
	failures int // since the last success
	logged   time.Time
}

func (p *pace) succeeded() { p.most, p.failures = min(max(1, 2*p.most), summarizeBatch), 0 }

// failed reports whether the log shall have the failure: a database that does not answer in time is there if this repeats, once a minute.
func (p *pace) failed(done summarized, err error, now time.Time) (log bool) {
	if done.read > 0 {
		p.most /= 2
	}
	p.failures++
	if log = !fault.Is(err, fault.Unavailable) || p.failures > 2 && now.Sub(p.logged) >= summarizeLogged; log {
		p.logged = now
	}
	return log
}

// await waits for reports. Wake-ups can be lost, and the rows of reports can wait for the end of an older
// transaction, so it also ends after a while.
func (s *Summarizer) await(ctx context.Context, wake <-chan struct{}) {
	look := time.NewTimer(summarizeInterval)
	defer look.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-look.C:
	}
}

// Position is a position in the order in which the rows of metrics become visible. The summaries include the rows up to that of
// metrics_cursor.
type Position struct {
	XID uint64
	ID  int64
}

// Summarize adds the next rows to their trials' summaries, and compares rows with thresholds; more is true if further rows
// wait. It does nothing while another master summarizes.
func Summarize(ctx context.Context, db *database.DB) (more bool, err error) {
	for _, step := range []func(context.Context, *database.DB, int) (summarized, error){summarize, newThresholds(slog.New(slog.DiscardHandler)).step} {
		done, err := step(ctx, db, summarizeBatch)
		if err != nil {
			return false, err
		}
		more = more || done.more
	}
	return more, nil
}

// summarized is the result of a transaction of the summarizer.
type summarized struct {
	read       int            // reports, also if it failed with them
	more       bool           // further rows or stale summaries wait
	incomplete map[int]string // the trials whose summaries became incomplete, with the reason
}

func summarize(ctx context.Context, db *database.DB, most int) (done summarized, err error) {
	ctx, cancel := context.WithTimeout(ctx, summarizeTimeout)
	defer cancel()
	err = db.Tx(ctx, func(tx *database.DB) error {
		done = summarized{incomplete: map[int]string{}}
		from, upTo, ok, err := takeCursor(ctx, tx, summaryCursor)
		if err != nil || !ok {
			return err
		}
		list, more, err := nextRows(ctx, tx, rowLimits{max(1, most), summarizeStored, summarizeBytes}, beforeXID, from.XID, from.ID, upTo)
		if err != nil {
			return err
		}
		to := Position{upTo, 0}
		if done.read, done.more = len(list), more; more {
			last := list[len(list)-1]
			to = Position{last.XID, last.ID}
		}
		if err := foldRows(ctx, tx, list, to, &done); err != nil || len(list) == 0 {
			return err
		}
		return moveCursor(ctx, tx, summaryCursor, to)
	})
	return done, err
}

// CaughtUp reports whether the summaries include all reports. They may be behind
// while an older writing transaction runs anywhere on the server, because it might still
// commit rows that come before the newest ones.
func CaughtUp(ctx context.Context, db *database.DB) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT NOT EXISTS (SELECT 1 FROM metrics m, metrics_cursor c WHERE m.xid >= c.xid AND (m.xid, m.id) > (c.xid, c.id))
		AND NOT EXISTS (SELECT 1 FROM trial_summaries WHERE stale)`)
}

// The cursors, each in a table of its own: up to where the summaries have the rows, and up to where rows were compared with thresholds.
const (
	summaryCursor   = "metrics_cursor"
	thresholdCursor = "threshold_cursor"
)

// beforeXID is SQL for the rows after a position, of the transactions before another one.
const beforeXID = `xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2)`

// takeCursor locks a cursor for this transaction. It returns the position after which to
// read, and the transaction id below which all transactions have ended; ok is false if
// another master has the lock.
func takeCursor(ctx context.Context, db *database.DB, cursor string) (from Position, upTo uint64, ok bool, err error) {
	var next uint64
	// An advisory lock, because a row lock would be a write, and most calls find no new rows.
	ok, err = database.Scalar[bool](ctx, db, `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`, cursor)
	if err != nil || !ok {
		return from, 0, false, err
	}
	err = db.QueryRow(ctx, `
		SELECT xid, id, pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmax(pg_current_snapshot())
		FROM `+cursor).Scan(&from.XID, &from.ID, &upTo, &next)
	if err == nil && from.XID > next {
		from = Position{upTo, 0}
		if err = moveCursor(ctx, db, cursor, from); err == nil && cursor == summaryCursor {
			err = renumber(ctx, db, next)
		}
	}
	return from, max(upTo, from.XID), err == nil, err
}

func moveCursor(ctx context.Context, db *database.DB, cursor string, to Position) error {
	_, err := db.Exec(ctx, `UPDATE `+cursor+` SET xid = $1, id = $2`, to.XID, to.ID)
	return err
}

// renumber corrects the rows after a dump was restored into another server: their transaction
// ids may be higher than those of this server. All summaries become stale and are rebuilt.
func renumber(ctx context.Context, db *database.DB, next uint64) error {
	for _, change := range []struct {
		sql  string
		args []any
	}{
		{`SET LOCAL statement_timeout = 0`, nil},
		{`UPDATE metrics SET xid = '3' WHERE xid >= $1`, []any{next}},
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
