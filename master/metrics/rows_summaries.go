package metrics

import (
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/summary"
)

// Summaries returns the summaries of trials, including the reports that the summarizer
// has not processed yet. The result omits trials without reports. If more than
// summarizeBatch reports wait for the summarizer, or large ones, the result lacks the newest.
func Summaries(ctx context.Context, db *database.DB, trials []int) (map[int]summary.Trial, error) {
	var list []summaryRow
	var tail []pendingRow
	err := db.Snapshot(ctx, func(tx *database.DB) (err error) {
		if tail, err = tailOf(ctx, tx, trials); err != nil {
			return err
		}
		list, err = database.Rows[summaryRow](ctx, tx, `
			SELECT t.id AS trial_id, coalesce(s.summary, '{}') AS summary, coalesce(s.total_batches, 0) AS total_batches,
				s.latest_run, s.latest_steps, s.best_run, s.best_steps, s.searcher_value, coalesce(s.stale, false) AS stale,
				coalesce(s.incomplete, '') AS incomplete, s.rebuilt_xid, s.rebuilt_id, 0 AS version, false AS oversized, coalesce(`+behind+`, false) AS behind, `+searcherColumns+`
			FROM trials t JOIN experiments e ON e.id = t.experiment_id LEFT JOIN trial_summaries s ON s.trial_id = t.id
			WHERE t.id = ANY($1) AND (s.trial_id IS NOT NULL OR t.id = ANY($2))`, trials, reportedBy(tail))
		return err
	})
	if err != nil {
		return nil, err
	}
	return foldTail(list, tail)
}

// reportedBy returns the trials of rows, each once.
func reportedBy(list []pendingRow) []int {
	trials := map[int]bool{}
	for _, r := range list {
		trials[r.TrialID] = true
	}
	return slices.Sorted(maps.Keys(trials))
}

// foldTail adds later reports to summaries. It leaves those unchanged that lack earlier reports.
func foldTail(list []summaryRow, tail []pendingRow) (map[int]summary.Trial, error) {
	byTrial := make(map[int]*summaryRow, len(list))
	for i := range list {
		s := &list[i]
		var err error
		if s.sum, err = s.summary(); err != nil {
			return nil, err
		}
		s.Summary = nil // it is decoded
		byTrial[s.TrialID] = s
	}
	byStep(tail)
	for _, r := range tail {
		if s := byTrial[r.TrialID]; s != nil && !s.Behind {
			_ = s.foldRow(r) // what is not exact is so until the summarizer has come to the row
		}
	}
	sums := make(map[int]summary.Trial, len(list))
	for id, s := range byTrial {
		sums[id] = s.sum
	}
	return sums, nil
}
