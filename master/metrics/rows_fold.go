package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// The summarizer folds the rows of one transaction into the summaries of their trials. A trial whose rows or summary
// are too large, or cannot be stored, gets an incomplete summary, and the other trials get theirs.
const (
	summariesAtOnce = 4 << 20         // estimated bytes of the summaries that are in memory together; one has at most summary.MaxBytes
	rebuildBytes    = 16 << 20        // bytes of the rows from which one transaction rebuilds summaries
	rebuildRows     = 100_000         // and their number
	rebuildShare    = 4               // the summary of one trial gets this part of both
	rebuildTime     = 3 * time.Second // after which one transaction begins no further rebuild
)

const (
	unreadable = "the trial has reports that are larger than reports may be: its summary does not have them"
	unstorable = "the summary of the trial could not be stored: %v"
)

// A rebuilding is what one transaction may still read to rebuild summaries.
type rebuilding struct {
	rows, bytes int
	until       time.Time
}

func (r *rebuilding) ended() bool { return r.rows <= 0 || r.bytes <= 0 || time.Now().After(r.until) }

// foldRows adds rows to the summaries of their trials, up to a position, and rebuilds stale summaries as far as
// one transaction may; done.more becomes true if some stay stale.
func foldRows(ctx context.Context, db *database.DB, list []pendingRow, to Position, done *summarized) error {
	stale, err := database.Scalars[int](ctx, db, `SELECT trial_id FROM trial_summaries WHERE stale ORDER BY tried_at NULLS FIRST, trial_id LIMIT $1`, maxRebuilds)
	if err != nil {
		return err
	}
	trials := append(reportedBy(list), stale...)
	if len(trials) == 0 {
		return nil
	}
	byTrial := map[int][]pendingRow{}
	for _, r := range list {
		byTrial[r.TrialID] = append(byTrial[r.TrialID], r)
	}
	sizes, err := lockSummaries(ctx, db, trials)
	if err != nil {
		return err
	}
	left := rebuilding{rows: rebuildRows, bytes: rebuildBytes, until: time.Now().Add(rebuildTime)}
	for len(sizes) > 0 {
		var ids []int
		for size := 0; len(sizes) > 0 && (size == 0 || size+sizes[0].Size <= summariesAtOnce); sizes = sizes[1:] {
			size += sizes[0].Size
			ids = append(ids, sizes[0].TrialID)
		}
		if err := foldSome(ctx, db, ids, byTrial, to, &left, done); err != nil {
			return err
		}
	}
	done.more = done.more || len(stale) == maxRebuilds
	return nil
}

// foldSome folds the rows of some trials.
func foldSome(ctx context.Context, db *database.DB, ids []int, byTrial map[int][]pendingRow, to Position, left *rebuilding, done *summarized) error {
	sums, err := readSummaries(ctx, db, ids)
	if err != nil {
		return err
	}
	for i := range sums {
		s := &sums[i]
		s.foldRows(byTrial[s.TrialID])
		if s.Stale && !left.ended() {
			if err := rebuild(ctx, db, s, to, left); err != nil {
				return err
			}
		}
		done.more = done.more || s.Stale
	}
	if err := saveSummaries(ctx, db, sums); err != nil {
		return err
	}
	for _, s := range sums {
		if s.sum.Incomplete != "" && s.sum.Incomplete != s.Incomplete {
			done.incomplete[s.TrialID] = s.sum.Incomplete
		}
	}
	return nil
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
	Incomplete   string          `db:"incomplete"`
	RebuiltXID   *uint64         `db:"rebuilt_xid"`
	RebuiltID    *int64          `db:"rebuilt_id"`
	Oversized    bool            `db:"oversized"` // larger than a summary may be; Summary is empty
	Metric       string          `db:"metric"`
	Smaller      bool            `db:"smaller"`

	sum     summary.Trial
	touched bool // it must be stored
	added   int  // bytes of the rows
}

// foldRows adds the trial's rows, unless the summary is stale and is rebuilt with them.
func (s *summaryRow) foldRows(list []pendingRow) {
	for _, r := range list {
		s.added += r.Size
		switch {
		case r.Merged: // the summary includes the report's old names already
			s.Stale, s.touched = true, true
			s.RebuiltXID, s.RebuiltID = nil, nil
		case !s.Stale && !r.Archived:
			s.touched = true
			s.foldRow(r)
		}
	}
}

func (s *summaryRow) foldRow(r pendingRow) {
	values, err := summary.Values(r.Metrics)
	if err != nil {
		if s.sum.Incomplete == "" {
			s.sum.Incomplete = unreadable
		}
		return
	}
	s.sum.Fold(r.RunID, r.Group, r.Steps, values, s.Metric, s.Smaller)
}

// summary decodes the row.
func (s *summaryRow) summary() (summary.Trial, error) {
	sum := summary.Trial{TotalBatches: s.TotalBatches, BestMetric: s.Value, Incomplete: s.Incomplete}
	if s.LatestRun != nil && s.LatestSteps != nil {
		sum.Latest = &summary.Validation{Run: *s.LatestRun, Steps: *s.LatestSteps}
	}
	if s.BestRun != nil && s.BestSteps != nil {
		sum.Best = &summary.Validation{Run: *s.BestRun, Steps: *s.BestSteps}
	}
	err := json.Unmarshal(s.Summary, &sum.Metrics)
	sum.Sized()
	return sum, err
}

// searcherColumns are the columns of the trial's experiment e that fold needs.
const searcherColumns = `coalesce(e.metric, '') AS metric, e.smaller_is_better AS smaller`

// A summarySize estimates the size of a summary. The texts of most summaries are ten times as long as what PostgreSQL stores.
type summarySize struct {
	TrialID int `db:"trial_id"`
	Size    int `db:"size"`
}

// lockSummaries locks the summaries of trials, and inserts missing ones. The result omits
// deleted trials.
func lockSummaries(ctx context.Context, db *database.DB, trials []int) ([]summarySize, error) {
	_, err := db.Exec(ctx, `
		INSERT INTO trial_summaries (trial_id) SELECT id FROM trials WHERE id = ANY($1) ORDER BY id FOR KEY SHARE
		ON CONFLICT DO NOTHING`, trials)
	if err != nil {
		return nil, err
	}
	return database.Rows[summarySize](ctx, db, `
		SELECT trial_id, CASE WHEN pg_column_size(summary) > 2000 THEN 20 ELSE 1 END * pg_column_size(summary) AS size
		FROM trial_summaries WHERE trial_id = ANY($1) ORDER BY trial_id FOR UPDATE`, trials)
}

// readSummaries reads and decodes summaries. Those that are larger than the summarizer makes them are rebuilt.
func readSummaries(ctx context.Context, db *database.DB, trials []int) ([]summaryRow, error) {
	list, err := database.Rows[summaryRow](ctx, db, `
		SELECT s.trial_id, CASE WHEN o.oversized THEN '{}' ELSE s.summary END AS summary, s.total_batches, s.latest_run, s.latest_steps, s.best_run,
			s.best_steps, s.searcher_value, s.stale, s.incomplete, s.rebuilt_xid, s.rebuilt_id, o.oversized, `+searcherColumns+`
		FROM trial_summaries s JOIN trials t ON t.id = s.trial_id JOIN experiments e ON e.id = t.experiment_id
		CROSS JOIN LATERAL (SELECT CASE WHEN pg_column_size(s.summary) <= 8192 THEN false WHEN pg_column_size(s.summary || '{}') > $2 THEN true
			ELSE octet_length(s.summary::text) > $2 END AS oversized) o
		WHERE s.trial_id = ANY($1) ORDER BY s.trial_id`, trials, 2*summary.MaxBytes)
	if err != nil {
		return nil, err
	}
	for i := range list {
		s := &list[i]
		if s.sum, err = s.summary(); err != nil || s.Oversized { // what cannot be read is made anew, too
			s.Stale, s.touched = true, true
			s.RebuiltXID, s.RebuiltID = nil, nil
		}
		s.Summary = nil // it is decoded
	}
	return list, nil
}

// rebuild rebuilds a summary from the rows of its trial up to a position, or a part of it, with which the next transaction goes on.
func rebuild(ctx context.Context, db *database.DB, s *summaryRow, to Position, left *rebuilding) error {
	for _, sql := range []string{`SAVEPOINT rebuild`, `SET LOCAL statement_timeout = '10s'`} {
		if _, err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	err := summarizeAnew(ctx, db, s, to, left)
	s.touched = true
	late := database.RejectionOf(err).Code == "57014" && ctx.Err() == nil // of the statement, whose trial has too many reports
	if err == nil || !late && fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
		return err
	}
	_, back := db.Exec(ctx, `ROLLBACK TO SAVEPOINT rebuild`)
	s.Stale, s.RebuiltXID, s.RebuiltID = false, nil, nil
	s.sum.Incomplete = fmt.Sprintf("the summary of the trial could not be rebuilt from its reports: %v", err)
	return back
}

// summarizeAnew rebuilds a summary from the next rows of its trial.
func summarizeAnew(ctx context.Context, db *database.DB, s *summaryRow, to Position, left *rebuilding) error {
	at := Position{}
	if s.RebuiltXID == nil || s.RebuiltID == nil {
		s.sum = summary.Trial{}
	} else {
		at = Position{*s.RebuiltXID, *s.RebuiltID}
	}
	// One query, because PostgreSQL sorts the rows of the trial for each.
	list, more, err := nextRows(ctx, db, rowLimits{rebuildRows / rebuildShare, rebuildBytes / rebuildShare, rebuildBytes / rebuildShare},
		`trial_id = $1 AND NOT archived AND (xid, id) > ($2, $3) AND (xid, id) <= ($4, $5)`, s.TrialID, at.XID, at.ID, to.XID, to.ID)
	if err != nil {
		return err
	}
	for _, r := range list {
		s.foldRow(r)
		left.rows, left.bytes = left.rows-1, left.bytes-len(r.Metrics)
	}
	if !more {
		s.Stale, s.RebuiltXID, s.RebuiltID = false, nil, nil
		return nil
	}
	last := list[len(list)-1]
	s.RebuiltXID, s.RebuiltID = &last.XID, &last.ID
	return nil
}

// saveSummaries stores summaries in one round trip. If PostgreSQL rejects one, each is stored on its own.
func saveSummaries(ctx context.Context, db *database.DB, sums []summaryRow) error {
	b := &database.Batch{}
	b.Queue(`SAVEPOINT summaries`)
	for i := range sums {
		if err := sums[i].save(b); err != nil {
			return err
		}
	}
	if b.Len() == 1 {
		return nil
	}
	err := db.Send(ctx, b)
	if err == nil || fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
		return err
	}
	if _, err := db.Exec(ctx, `ROLLBACK TO SAVEPOINT summaries`); err != nil {
		return err
	}
	for i := range sums {
		if err := saveAlone(ctx, db, &sums[i]); err != nil {
			return err
		}
	}
	return nil
}

// saveAlone stores a summary, or, if PostgreSQL rejects it, the reason in place of what is new.
func saveAlone(ctx context.Context, db *database.DB, s *summaryRow) error {
	b := &database.Batch{}
	b.Queue(`SAVEPOINT summary`)
	if err := s.save(b); err != nil || b.Len() == 1 {
		return err
	}
	err := db.Send(ctx, b)
	if err == nil || fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
		return err
	}
	s.sum.Incomplete = fmt.Sprintf(unstorable, err)
	if _, err := db.Exec(ctx, `ROLLBACK TO SAVEPOINT summary`); err != nil {
		return err
	}
	_, err = db.Exec(ctx, `UPDATE trial_summaries SET stale = false, rebuilt_xid = NULL, rebuilt_id = NULL, incomplete = $2, bytes = bytes + $3
		WHERE trial_id = $1`, s.TrialID, s.sum.Incomplete, s.added)
	return err
}

// save queues the statement that stores the summary, or only the size of its rows.
func (s *summaryRow) save(b *database.Batch) error {
	if !s.touched {
		if s.added > 0 {
			b.Queue(`UPDATE trial_summaries SET bytes = bytes + $2 WHERE trial_id = $1`, s.TrialID, s.added)
		}
		return nil
	}
	sum := s.sum
	if sum.Metrics == nil {
		sum.Metrics = map[string]map[string]*summary.Metric{}
	}
	text, err := json.Marshal(sum.Metrics)
	if err != nil {
		return err
	}
	var lr, ls, br, bs *int
	if sum.Latest != nil {
		lr, ls = &sum.Latest.Run, &sum.Latest.Steps
	}
	if sum.Best != nil {
		br, bs = &sum.Best.Run, &sum.Best.Steps
	}
	if sum.BestMetric != nil && math.IsNaN(*sum.BestMetric) {
		sum.BestMetric = nil
	}
	b.Queue(`UPDATE trial_summaries SET summary = $2::text::jsonb, total_batches = $3, latest_run = $4, latest_steps = $5, best_run = $6, best_steps = $7,
		searcher_value = $8, stale = $9, incomplete = $10, rebuilt_xid = $11, rebuilt_id = $12, tried_at = CASE WHEN $9 THEN now() END,
		bytes = bytes + $13 WHERE trial_id = $1`, s.TrialID, string(text), sum.TotalBatches, lr, ls, br, bs, sum.BestMetric, s.Stale, sum.Incomplete, s.RebuiltXID, s.RebuiltID, s.added)
	return nil
}
