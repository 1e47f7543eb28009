package metrics

import (
	"context"
	"errors"
	"fmt"
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
	loops.Go(func() { s.repeat(ctx, "rebuilds of summaries of metrics are behind", rebuildStale(false)) })
	loops.Go(func() { s.repeat(ctx, "thresholds of webhooks are behind", newThresholds(s.log).step) })
	loops.Go(func() { s.list(ctx) })
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
		if p.after(done, err, time.Now()) && ctx.Err() == nil {
			s.log.Error(behind, "failures", p.failures, "next_reports", p.most, "error", err)
		}
		for _, trial := range slices.Sorted(maps.Keys(done.incomplete)) {
			s.log.Warn("the summary of a trial's metrics is incomplete", "trial_id", trial, "reason", done.incomplete[trial])
		}
		switch {
		case err != nil:
			pause = summarizeRetry
		case done.more && !done.rests:
			continue
		}
		if sleep.For(ctx, pause) == nil && err == nil && !done.more {
			// Wake-ups can be lost, and the rows of reports can wait for the end of an older transaction.
			sleep.UntilWoken(ctx, wake, summarizeInterval)
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

// after reports whether the log shall have the failure of a transaction: that the database does not answer in time if it repeats, once a minute.
func (p *pace) after(done summarized, err error, now time.Time) (log bool) {
	if err == nil {
		if !done.busy { // else another master does it, which says nothing of how much fits into a transaction
			p.most, p.failures = min(max(1, 2*p.most), summarizeBatch), 0
		}
		return false
	}
	if p.failures++; done.read > 0 {
		p.most /= 2
	}
	if log = !fault.Is(err, fault.Unavailable) || p.failures > 2 && now.Sub(p.logged) >= summarizeLogged; log {
		p.logged = now
	}
	return log
}

// Position is a position in the order in which the rows of metrics become visible. The summaries include the rows up to that of
// metrics_cursor.
type Position struct {
	XID uint64 `db:"xid"`
	ID  int64  `db:"id"`
}

// Summarize adds the next rows to their trials' summaries, does a step of the rebuild of each stale one, and compares rows with thresholds; more is true if further rows
// wait. It does nothing while another master summarizes.
func Summarize(ctx context.Context, db *database.DB) (more bool, err error) {
	for _, step := range []func(context.Context, *database.DB, int) (summarized, error){summarize, rebuildStale(true), newThresholds(slog.New(slog.DiscardHandler)).step} {
		done, failed := step(ctx, db, summarizeBatch)
		more, err = more || done.more, errors.Join(err, failed)
	}
	return more, err
}

// summarized is the result of a transaction of the summarizer.
type summarized struct {
	read       int            // reports, also if it failed with them
	busy       bool           // another master has the cursor
	more       bool           // further rows or stale summaries wait
	rests      bool           // the loop pauses before it reads them
	incomplete map[int]string // the trials whose summaries became incomplete, with the reason
}

func summarize(ctx context.Context, db *database.DB, most int) (summarized, error) {
	return next(ctx, db, summaryCursor, brought, summarizeTimeout, most, func(ctx context.Context, tx *database.DB, list []pendingRow, done *summarized) (int, error) {
		err := foldRows(ctx, tx, list, done)
		if err == nil {
			err = dropParts(ctx, tx, list[len(list)-1])
		}
		return len(list), err
	})
}

// dropParts removes parts up to a row that the summaries have. A stale summary may need its parts again.
func dropParts(ctx context.Context, db *database.DB, upTo pendingRow) error {
	return db.Exec(ctx, `DELETE FROM metric_parts p WHERE (p.xid, p.id) <= ($1, $2) AND NOT EXISTS (SELECT FROM trial_summaries s WHERE s.trial_id = p.trial_id AND s.stale)`, upTo.XID, upTo.ID)
}

// next works on the next rows of a source behind a cursor in one transaction, and moves the cursor past those on which work has worked. It
// reads at most so many rows, and at least one.
func next(ctx context.Context, db *database.DB, cursor string, of source, timeout time.Duration, most int,
	work func(ctx context.Context, tx *database.DB, list []pendingRow, done *summarized) (n int, err error)) (done summarized, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = db.Tx(ctx, func(tx *database.DB) error {
		done = summarized{incomplete: map[int]string{}}
		from, upTo, ok, err := takeCursor(ctx, tx, cursor)
		if err != nil || !ok {
			done.busy = err == nil
			return err
		}
		list, more, err := of.read(ctx, tx, rowLimits{max(1, most), summarizeStored, summarizeBytes}, `xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2)`, from.XID, from.ID, upTo)
		if err != nil || len(list) == 0 {
			return err
		}
		done.read = len(list)
		n, err := work(ctx, tx, list, &done)
		if err != nil {
			return err
		}
		to := Position{upTo, 0}
		if done.more = more || n < len(list); done.more {
			to = Position{list[n-1].XID, list[n-1].ID}
		}
		return moveCursor(ctx, tx, cursor, to)
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
	err = db.QueryRow(ctx, `SELECT xid, id, pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmax(pg_current_snapshot()) FROM `+cursor).Scan(&from.XID, &from.ID, &upTo, &next)
	if err == nil && from.XID > next {
		from = Position{upTo, 0}
		if err = moveCursor(ctx, db, cursor, from); err == nil && cursor == summaryCursor {
			err = renumber(ctx, db, next)
		}
	}
	return from, max(upTo, from.XID), err == nil, err
}

// moveCursor moves a cursor. While there are no thresholds, their cursor follows that of the summaries, never backwards: a new threshold
// is not compared with reports that came before it.
func moveCursor(ctx context.Context, db *database.DB, cursor string, to Position) error {
	return db.Exec(ctx, `WITH idle AS (UPDATE threshold_cursor SET xid = $1, id = $2
			WHERE $3 = 'metrics_cursor' AND (xid, id) < ($1, $2) AND NOT EXISTS (SELECT FROM webhook_triggers WHERE type = 'METRIC_THRESHOLD_EXCEEDED'))
		UPDATE `+cursor+` SET xid = $1, id = $2`, to.XID, to.ID, cursor)
}

// renumber corrects the rows after a dump was restored into another server: their transaction
// ids may be higher than those of this server. All summaries become stale and are rebuilt.
func renumber(ctx context.Context, db *database.DB, next uint64) error {
	for _, sql := range []string{
		`SET LOCAL statement_timeout = 0`, `DELETE FROM metric_parts`, fmt.Sprintf(`UPDATE metrics SET xid = '3' WHERE xid >= '%d'`, next),
		`INSERT INTO trial_summaries (trial_id, stale) SELECT DISTINCT trial_id, true FROM metrics ` + markStale,
	} {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// MarkStale marks a trial's summary, so that the summarizer rebuilds it.
func MarkStale(ctx context.Context, db *database.DB, trial int) error {
	return db.Exec(ctx, `INSERT INTO trial_summaries (trial_id, stale) VALUES ($1, true) `+markStale, trial)
}

const markStale = `ON CONFLICT (trial_id) DO UPDATE SET stale = true, rebuilt_xid = NULL, rebuilt_id = NULL, version = trial_summaries.version + 1`
