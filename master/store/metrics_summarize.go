package store

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	summarizeBatch      = 5000                  // reports in one transaction of the summarizer
	maxRebuilds         = 50                    // summaries to rebuild in one transaction
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
	db  *DB
	bus *Bus
	log *slog.Logger
}

// NewSummarizer returns a Summarizer; Run starts it.
func NewSummarizer(db *DB, bus *Bus, log *slog.Logger) *Summarizer {
	return &Summarizer{db: db, bus: bus, log: log}
}

// Run works until ctx ends, woken by reports.
func (s *Summarizer) Run(ctx context.Context) {
	wake, cancel := s.bus.Subscribe(TopicMetrics)
	defer cancel()
	for ctx.Err() == nil {
		began := time.Now()
		more, err := s.db.Summarize(ctx)
		pause := min(max(summarizeMinPause, summarizeRestFactor*time.Since(began)), summarizeMaxPause)
		switch {
		case err != nil && ctx.Err() == nil:
			pause = summarizeRetry
			if !fault.Is(err, fault.Unavailable) {
				s.log.Error("summaries of metrics are behind", "error", err)
			}
		case more:
			continue
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
			if idle, err := s.db.nothingToSummarize(ctx); err != nil || !idle {
				return
			}
		}
	}
}

// wait waits for a wake-up, but no longer than d.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}

// cursor is a position in the rows of metrics: the summaries include the rows up to it.
type cursor struct {
	XID uint64
	ID  int64
}

// metricRow is a row as the summarizer reads it.
type metricRow struct {
	XID      uint64          `db:"xid"`
	ID       int64           `db:"id"`
	TrialID  int             `db:"trial_id"`
	RunID    int             `db:"run_id"`
	Group    string          `db:"grp"`
	Steps    *int            `db:"steps"`
	Merged   bool            `db:"merged"`
	Archived bool            `db:"archived"`
	Metrics  json.RawMessage `db:"avg"`
}

const metricColumns = `xid, id, trial_id, run_id, grp, steps, merged, archived, avg`

// Summarize adds the next rows to their trials' summaries; more is true if further rows
// wait. It does nothing while another master summarizes.
func (db *DB) Summarize(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, summarizeTimeout)
	defer cancel()
	err = db.Tx(ctx, func(tx *DB) error {
		from, upTo, ok, err := tx.takeCursor(ctx)
		if err != nil || !ok {
			return err
		}
		list, err := rows[metricRow](ctx, tx, `SELECT `+metricColumns+` FROM metrics
			WHERE xid >= $1 AND xid < $3 AND (xid, id) > ($1, $2) ORDER BY xid, id LIMIT $4`, from.XID, from.ID, upTo, summarizeBatch)
		if err != nil {
			return err
		}
		to := cursor{upTo, 0}
		if more = len(list) == summarizeBatch; more {
			last := list[len(list)-1]
			to = cursor{last.XID, last.ID}
		}
		again, err := tx.foldRows(ctx, list, to)
		if err != nil || len(list) == 0 {
			more = again
			return err
		}
		more = more || again
		if err := tx.fireThresholds(ctx, list); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE metrics_cursor SET xid = $1, id = $2`, to.XID, to.ID)
		return err
	})
	return more, err
}

// SummariesCaughtUp reports whether the summaries include all reports. They may be behind
// while an older writing transaction runs anywhere on the server, because it might still
// commit rows that come before the newest ones.
func (db *DB) SummariesCaughtUp(ctx context.Context) (bool, error) {
	return scalar[bool](ctx, db, `SELECT `+caughtUp)
}

const caughtUp = `NOT EXISTS (SELECT 1 FROM metrics m, metrics_cursor c WHERE m.xid >= c.xid AND (m.xid, m.id) > (c.xid, c.id))
	AND NOT EXISTS (SELECT 1 FROM trial_summaries WHERE stale)`

// nothingToSummarize reports whether Summarize would do nothing.
func (db *DB) nothingToSummarize(ctx context.Context) (bool, error) {
	return scalar[bool](ctx, db, `SELECT `+caughtUp+` AND NOT EXISTS (SELECT FROM metrics_cursor WHERE xid > pg_snapshot_xmax(pg_current_snapshot()))`)
}

// takeCursor locks the cursor for this transaction. It returns the position after which to
// read, and the transaction id below which all transactions have ended; ok is false if
// another master has the lock.
func (db *DB) takeCursor(ctx context.Context) (from cursor, upTo uint64, ok bool, err error) {
	var next uint64
	// An advisory lock, because a row lock would be a write, and most calls find no new rows.
	ok, err = scalar[bool](ctx, db, `SELECT pg_try_advisory_xact_lock(hashtextextended('summaries of metrics', 0))`)
	if err != nil || !ok {
		return from, 0, false, err
	}
	err = db.QueryRow(ctx, `
		SELECT xid, id, pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmax(pg_current_snapshot())
		FROM metrics_cursor`).Scan(&from.XID, &from.ID, &upTo, &next)
	if err == nil && from.XID > next {
		from = cursor{upTo, 0}
		err = db.renumber(ctx, next, from)
	}
	return from, max(upTo, from.XID), err == nil, asFault(err)
}

// renumber corrects the rows and the cursor after a dump was restored into another server:
// their transaction ids may be higher than those of this server. All summaries become stale
// and are rebuilt. renumber writes the cursor itself, because there may be no new row
// that would move it.
func (db *DB) renumber(ctx context.Context, next uint64, at cursor) error {
	for _, change := range []struct {
		sql  string
		args []any
	}{
		{`SET LOCAL statement_timeout = 0`, nil},
		{`UPDATE metrics SET xid = '3' WHERE xid >= $1`, []any{next}},
		{`UPDATE metrics_cursor SET xid = $1, id = $2`, []any{at.XID, at.ID}},
		{`INSERT INTO trial_summaries (trial_id, stale) SELECT DISTINCT trial_id, true FROM metrics
			ON CONFLICT (trial_id) DO UPDATE SET stale = true`, nil},
	} {
		if _, err := db.exec(ctx, change.sql, change.args...); err != nil {
			return err
		}
	}
	return nil
}

// foldRows adds rows to the summaries of their trials, up to a position, and rebuilds up to
// maxRebuilds stale summaries; again is true if more are stale.
func (db *DB) foldRows(ctx context.Context, list []metricRow, to cursor) (again bool, err error) {
	trials := reportedBy(list)
	stale, err := scalars[int](ctx, db, `SELECT trial_id FROM trial_summaries WHERE stale ORDER BY trial_id LIMIT $1`, maxRebuilds)
	if err != nil {
		return false, err
	}
	trials = append(trials, stale...)
	if len(trials) == 0 {
		return false, nil
	}
	sums, err := db.lockSummaries(ctx, trials)
	if err != nil {
		return false, err
	}
	for _, r := range list {
		if s := sums[r.TrialID]; s != nil && !s.Stale {
			if r.Merged {
				s.Stale = true // the summary includes the report's old names already
			} else if !r.Archived {
				if err := s.foldRow(r); err != nil {
					return false, err
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		if sums[id].Stale {
			if err := db.summarizeAnew(ctx, sums[id], to); err != nil {
				return false, err
			}
		}
	}
	return len(stale) == maxRebuilds, db.saveSummaries(ctx, sums)
}

// summaryRow is a stored summary with the fields that fold needs.
type summaryRow struct {
	TrialID      int             `db:"trial_id"`
	Summary      json.RawMessage `db:"summary"`
	TotalBatches int             `db:"total_batches"`
	LatestRun    *int            `db:"latest_run"`
	LatestSteps  *int            `db:"latest_steps"`
	BestRun      *int            `db:"best_run"`
	BestSteps    *int            `db:"best_steps"`
	Value        *float64        `db:"searcher_value"`
	Stale        bool            `db:"stale"`
	Metric       string          `db:"metric"`
	Smaller      bool            `db:"smaller"`

	sum TrialSummary
}

func (s *summaryRow) foldRow(r metricRow) error {
	values, err := decode(r.Metrics)
	if err != nil {
		return err
	}
	s.sum.fold(r.RunID, r.Group, r.Steps, values, s.Metric, s.Smaller)
	return nil
}

// summary decodes the row.
func (s *summaryRow) summary() (TrialSummary, error) {
	sum := TrialSummary{TotalBatches: s.TotalBatches, BestMetric: s.Value}
	if s.LatestRun != nil && s.LatestSteps != nil {
		sum.Latest = &ValidationKey{*s.LatestRun, *s.LatestSteps}
	}
	if s.BestRun != nil && s.BestSteps != nil {
		sum.Best = &ValidationKey{*s.BestRun, *s.BestSteps}
	}
	return sum, json.Unmarshal(s.Summary, &sum.Metrics)
}

// searcherColumns are the columns of the trial's experiment e that fold needs.
const searcherColumns = `coalesce(e.metric, '') AS metric, e.smaller_is_better AS smaller`

// lockSummaries locks the summaries of trials, and inserts missing ones. The result omits
// deleted trials.
func (db *DB) lockSummaries(ctx context.Context, trials []int) (map[int]*summaryRow, error) {
	_, err := db.exec(ctx, `
		INSERT INTO trial_summaries (trial_id) SELECT id FROM trials WHERE id = ANY($1) ORDER BY id FOR KEY SHARE
		ON CONFLICT DO NOTHING`, trials)
	if err != nil {
		return nil, err
	}
	list, err := rows[summaryRow](ctx, db, `
		SELECT s.trial_id, s.summary, s.total_batches, s.latest_run, s.latest_steps, s.best_run, s.best_steps, s.searcher_value,
			s.stale, `+searcherColumns+`
		FROM trial_summaries s JOIN trials t ON t.id = s.trial_id JOIN experiments e ON e.id = t.experiment_id
		WHERE s.trial_id = ANY($1) ORDER BY s.trial_id FOR UPDATE OF s`, trials)
	if err != nil {
		return nil, err
	}
	sums := make(map[int]*summaryRow, len(list))
	for i := range list {
		s := &list[i]
		if s.sum, err = s.summary(); err != nil {
			return nil, err
		}
		sums[s.TrialID] = s
	}
	return sums, nil
}

// summarizeAnew rebuilds a summary from all rows of its trial up to a position.
func (db *DB) summarizeAnew(ctx context.Context, s *summaryRow, to cursor) error {
	s.sum = TrialSummary{}
	last := cursor{}
	for {
		list, err := rows[metricRow](ctx, db, `SELECT `+metricColumns+` FROM metrics
			WHERE trial_id = $1 AND NOT archived AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5)
			ORDER BY xid, id LIMIT $6`, s.TrialID, last.XID, last.ID, to.XID, to.ID, summarizeBatch)
		if err != nil {
			return err
		}
		for _, r := range list {
			if err := s.foldRow(r); err != nil {
				return err
			}
		}
		if len(list) < summarizeBatch {
			return nil
		}
		last = cursor{list[len(list)-1].XID, list[len(list)-1].ID}
	}
}

func (db *DB) saveSummaries(ctx context.Context, sums map[int]*summaryRow) error {
	b := &pgx.Batch{}
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		s := sums[id].sum
		if s.Metrics == nil {
			s.Metrics = map[string]map[string]*MetricSummary{}
		}
		text, err := json.Marshal(s.Metrics)
		if err != nil {
			return err
		}
		var lr, ls, br, bs *int
		if s.Latest != nil {
			lr, ls = &s.Latest.Run, &s.Latest.Steps
		}
		if s.Best != nil {
			br, bs = &s.Best.Run, &s.Best.Steps
		}
		if s.BestMetric != nil && math.IsNaN(*s.BestMetric) {
			s.BestMetric = nil
		}
		b.Queue(`UPDATE trial_summaries SET summary = $2::text::jsonb, total_batches = $3, latest_run = $4, latest_steps = $5,
			best_run = $6, best_steps = $7, searcher_value = $8, stale = false WHERE trial_id = $1`,
			id, string(text), s.TotalBatches, lr, ls, br, bs, s.BestMetric)
	}
	return asFault(db.SendBatch(ctx, b).Close())
}

// markStale marks a trial's summary, so that the summarizer rebuilds it.
func (db *DB) markStale(ctx context.Context, trial int) error {
	_, err := db.exec(ctx, `
		INSERT INTO trial_summaries (trial_id, stale) VALUES ($1, true)
		ON CONFLICT (trial_id) DO UPDATE SET stale = true`, trial)
	return err
}

// scalars reads a column.
func scalars[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	r, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, asFault(err)
	}
	list, err := pgx.CollectRows(limited(ctx, r), pgx.RowTo[T])
	return list, asFault(err)
}
