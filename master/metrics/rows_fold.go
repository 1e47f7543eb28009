package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// The summarizer folds the rows of one transaction into the summaries of their trials. A trial whose rows or summary
// are too large, or cannot be stored, gets an incomplete summary, and the other trials get theirs.
//
// To fold one row costs as much as the whole summary, which is read and written. So that small reports of large summaries do not
// keep the summaries of others waiting, the summaries of a transaction have a limit in bytes, which its rows share. A summary that is larger
// than what its rows allow becomes stale, from the cursor on: the rebuild loop adds its rows, and only the rows since then. Meanwhile the
// summary is behind, and its rows only count towards its size. A summary that is stale for another reason gets its rows, so that it has
// the newest values while it is rebuilt.

const (
	summariesAtOnce = 4 << 20 // the estimated number of bytes of the summaries that are in memory together; one has at most summary.MaxBytes
	foldedPerByte   = 16      // a transaction folds rows into summaries with so many bytes for each byte of a row
)

// summariesFolded are further bytes of summaries in one transaction, which its rows share equally.
var summariesFolded = 16 << 20

const unreadable = "the trial has reports that cannot be read: its summary does not have them"

// foldRows adds rows to the summaries of their trials.
func foldRows(ctx context.Context, db *database.DB, list []pendingRow, done *summarized) error {
	if len(list) == 0 {
		return nil
	}
	byTrial := map[int][]pendingRow{}
	for _, r := range list {
		byTrial[r.TrialID] = append(byTrial[r.TrialID], r)
	}
	summaries, err := lockSummaries(ctx, db, reportedBy(list))
	if err != nil {
		return err
	}
	var later staleRows
	summaries = slices.DeleteFunc(summaries, func(s summarySize) bool {
		rows := byTrial[s.TrialID]
		if s.Behind || s.Size > allowedFor(rows, len(list)) {
			later.add(s.TrialID, rows)
			return true
		}
		return false
	})
	if err := later.save(ctx, db); err != nil {
		return err
	}
	for len(summaries) > 0 {
		var ids []int
		for size := 0; len(summaries) > 0 && (size == 0 || size+summaries[0].Size <= summariesAtOnce); summaries = summaries[1:] {
			size += summaries[0].Size
			ids = append(ids, summaries[0].TrialID)
		}
		sums, err := readSummaries(ctx, db, ids)
		if err != nil {
			return err
		}
		for i := range sums {
			sums[i].foldRows(byTrial[sums[i].TrialID])
		}
		if err := saveSummaries(ctx, db, sums, done); err != nil {
			return err
		}
	}
	return nil
}

// allowedFor is how large a summary may be for the transaction to fold its rows into it; the transaction has so many rows in all.
func allowedFor(rows []pendingRow, all int) int {
	size := len(rows) * (summariesFolded / all)
	for _, r := range rows {
		size += foldedPerByte * len(r.Metrics)
	}
	return size
}

// staleRows are the trials whose summaries get their rows from the rebuild loop.
type staleRows struct {
	trials []int
	added  []int  // bytes of their rows
	lost   []bool // a summary has an older version of one of the rows
}

func (s *staleRows) add(trial int, rows []pendingRow) {
	size, lost := 0, false
	for _, r := range rows {
		size += r.Size
		lost = lost || r.Lost
	}
	s.trials, s.added, s.lost = append(s.trials, trial), append(s.added, size), append(s.lost, lost)
}

// save marks the summaries as stale. To one that was not stale before, the rebuild loop adds the rows from the cursor on, which this
// transaction moves after it.
func (s *staleRows) save(ctx context.Context, db *database.DB) error {
	if len(s.trials) == 0 {
		return nil
	}
	return db.Exec(ctx, `
		UPDATE trial_summaries s SET stale = true, bytes = s.bytes + n.added, version = s.version + CASE WHEN n.lost OR NOT s.stale THEN 1 ELSE 0 END,
			rebuilt_xid = CASE WHEN n.lost THEN NULL WHEN s.stale THEN s.rebuilt_xid ELSE c.xid END,
			rebuilt_id = CASE WHEN n.lost THEN NULL WHEN s.stale THEN s.rebuilt_id ELSE c.id END,
			behind_xid = CASE WHEN s.stale THEN coalesce(s.behind_xid, s.rebuilt_xid, c.xid) ELSE c.xid END,
			behind_id = CASE WHEN s.stale THEN coalesce(s.behind_id, s.rebuilt_id, c.id) ELSE c.id END
		FROM unnest($1::int[], $2::bigint[], $3::boolean[]) n (trial_id, added, lost), metrics_cursor c
		WHERE s.trial_id = n.trial_id`, s.trials, s.added, s.lost)
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
	Behind       bool            `db:"behind"`    // it lacks reports before the cursor, which the rebuild loop adds
	Oversized    bool            `db:"oversized"` // larger than a summary may be; Summary is empty
	Metric       string          `db:"metric"`
	Smaller      bool            `db:"smaller"`
	Version      int             `db:"version"`

	sum     summary.Trial
	touched bool // it must be stored
	anew    bool // its rebuild begins anew
	added   int  // bytes of the rows
}

// behind is SQL for whether a summary lacks reports before the cursor. An earlier release has only rebuilt_xid.
const behind = `(s.stale AND coalesce(s.behind_xid, s.rebuilt_xid) IS NOT NULL)`

// byStep sorts rows that came together by their steps: their ids are in no order of theirs, and the last value is that of the latest step.
func byStep(list []pendingRow) {
	slices.SortStableFunc(list, func(a, b pendingRow) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Position, b.Position))
	})
}

// foldRows adds the trial's rows. Where a value has replaced another one, the summary forgets that one, and is rebuilt if that is not enough.
func (s *summaryRow) foldRows(list []pendingRow) {
	byStep(list)
	for _, r := range list {
		s.added += r.Size
		switch {
		case r.Lost: // the summary includes the report's old names already
			s.rebuildAnew()
		case !r.Archived:
			s.touched = true
			if !s.foldRow(r) && !s.Stale { // a rebuild that has begun finds it
				s.rebuildAnew()
			}
		}
	}
}

// rebuildAnew marks the summary as one that is rebuilt from its first report.
func (s *summaryRow) rebuildAnew() {
	s.Stale, s.anew, s.touched = true, true, true
	s.RebuiltXID, s.RebuiltID = nil, nil
}

// foldRow adds a row. It reports whether the summary is as if it had never had what the row replaces.
func (s *summaryRow) foldRow(r pendingRow) (exact bool) {
	values, err := summary.Values(r.Metrics)
	var was map[string]any
	if err == nil && r.Was != nil {
		was, err = summary.Values(r.Was)
	}
	if err != nil {
		if s.sum.Incomplete == "" {
			s.sum.Incomplete = unreadable
		}
		return !r.Replaces
	}
	exact = s.sum.Fold(summary.Report{Run: r.RunID, Group: r.Group, Steps: r.Steps, Values: values, Was: was, Newest: r.Newest}, s.Metric, s.Smaller)
	return exact && r.Replaces == (r.Was != nil)
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
	TrialID int  `db:"trial_id"`
	Size    int  `db:"size"`
	Behind  bool `db:"behind"`
}

// lockSummaries locks the summaries of trials, and inserts missing ones. The result omits
// deleted trials.
func lockSummaries(ctx context.Context, db *database.DB, trials []int) ([]summarySize, error) {
	err := db.Exec(ctx, `
		INSERT INTO trial_summaries (trial_id) SELECT id FROM trials WHERE id = ANY($1) ORDER BY id FOR KEY SHARE
		ON CONFLICT DO NOTHING`, trials)
	if err != nil {
		return nil, err
	}
	return database.Rows[summarySize](ctx, db, `
		SELECT trial_id, CASE WHEN pg_column_size(summary) > 2000 THEN 20 ELSE 1 END * pg_column_size(summary) AS size, `+behind+` AS behind
		FROM trial_summaries s WHERE trial_id = ANY($1) ORDER BY trial_id FOR UPDATE`, trials)
}

// readSummaries reads and decodes summaries. Those that are larger than the summarizer makes them are rebuilt.
func readSummaries(ctx context.Context, db *database.DB, trials []int) ([]summaryRow, error) {
	list, err := database.Rows[summaryRow](ctx, db, `
		SELECT s.trial_id, CASE WHEN o.oversized THEN '{}' ELSE s.summary END AS summary, s.total_batches, s.latest_run, s.latest_steps, s.best_run,
			s.best_steps, s.searcher_value, s.stale, s.incomplete, s.rebuilt_xid, s.rebuilt_id, s.version, o.oversized, `+behind+` AS behind, `+searcherColumns+`
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
			if s.touched = true; !s.Stale || s.RebuiltXID != nil {
				s.rebuildAnew()
			}
		}
		s.Summary = nil // it is decoded
	}
	return list, nil
}

// saveSummaries stores summaries in one round trip. If PostgreSQL rejects a summary, saveSummaries stores each
// summary on its own; of a rejected summary it keeps the stored version and records the reason.
func saveSummaries(ctx context.Context, db *database.DB, sums []summaryRow, done *summarized) error {
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
	rejected := db.Send(ctx, b)
	if rejected != nil {
		if fault.Is(rejected, fault.Unavailable) || ctx.Err() != nil {
			return rejected
		}
		if err := db.Exec(ctx, `ROLLBACK TO SAVEPOINT summaries`); err != nil {
			return err
		}
		if len(sums) > 1 {
			for i := range sums {
				if err := saveSummaries(ctx, db, sums[i:i+1], done); err != nil {
					return err
				}
			}
			return nil
		}
		sums[0].sum.Incomplete = fmt.Sprintf("the summary of the trial could not be stored: %v", rejected)
		if err := db.Exec(ctx, `UPDATE trial_summaries SET stale = false, rebuilt_xid = NULL, rebuilt_id = NULL, behind_xid = NULL, behind_id = NULL, incomplete = $2, bytes = bytes + $3, version = version + 1
			WHERE trial_id = $1`, sums[0].TrialID, sums[0].sum.Incomplete, sums[0].added); err != nil {
			return err
		}
	}
	for _, s := range sums {
		if s.sum.Incomplete != "" && s.sum.Incomplete != s.Incomplete {
			done.incomplete[s.TrialID] = s.sum.Incomplete
		}
	}
	return nil
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
		searcher_value = $8, stale = $9, incomplete = $10, rebuilt_xid = $11, rebuilt_id = $12, behind_xid = NULL, behind_id = NULL, version = version + CASE WHEN $14 THEN 1 ELSE 0 END,
		bytes = bytes + $13 WHERE trial_id = $1`, s.TrialID, string(text), sum.TotalBatches, lr, ls, br, bs, sum.BestMetric, s.Stale, sum.Incomplete, s.RebuiltXID, s.RebuiltID, s.added, s.anew)
	return nil
}
