package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// maxSearchReports is the maximum number of reports that one part of a search's trials reads.
const maxSearchReports = 300_000

// A SearchTrial is a trial of a search, without its curve.
type SearchTrial struct {
	ID       int        `db:"id"`
	Shown    string     `db:"shown"`
	HParams  []byte     `db:"hparams"`
	EndedAt  *time.Time `db:"ended_at"`
	Restarts int        `db:"restarts"`
	Batches  int        `db:"batches"`
	Stopped  bool       `db:"stop_wanted"`
}

// SearchTrialFilter chooses trials of a search.
type SearchTrialFilter struct {
	Experiment   int
	After        int        // the trials with larger ids
	ChangedSince *time.Time // without the trials that ended before; nil: all
	Limit        int
}

// SearchTrials lists trials of an experiment by id. If their hyperparameters are longer than a page may be, it
// returns the first of them, and full is true.
func (db *DB) SearchTrials(ctx context.Context, f SearchTrialFilter) (list []SearchTrial, full bool, err error) {
	return database.RowsUpTo[SearchTrial](ctx, db.DB, database.MaxPageBytes, `
		SELECT t.id, `+shownTrial+` AS shown, t.hparams, t.ended_at, t.restarts, t.stop_wanted,
			coalesce((SELECT s.total_batches FROM trial_summaries s WHERE s.trial_id = t.id), 0) AS batches
		FROM trials t JOIN experiments e ON e.id = t.experiment_id
		WHERE t.experiment_id = $1 AND t.id > $2 AND ($3::timestamptz IS NULL OR t.ended_at IS NULL OR t.ended_at > $3)
		ORDER BY t.id LIMIT $4`, f.Experiment, f.After, f.ChangedSince, f.Limit)
}

// CurvesOf reads a metric of trials over steps. It reads at most maxSearchReports reports, in the
// order of the trials' ids. The result is complete for the first `whole` trials; whole is at least 1.
func (db *DB) CurvesOf(ctx context.Context, trials []int, group, name string) (curves map[int][]Point, whole int, err error) {
	curves = make(map[int][]Point, len(trials))
	var trial, steps, n int
	var value database.RawBytes
	err = db.Each(ctx, `
		SELECT trial_id, steps, avg->$3 FROM metrics
		WHERE trial_id = ANY($1) AND group_name = $2 AND steps IS NOT NULL AND NOT archived
		ORDER BY trial_id, position, run_id LIMIT $4`, []any{trials, group, name, maxSearchReports}, []any{&trial, &steps, &value}, func() error {
		n++
		if v, ok := drawable(value); ok {
			curves[trial] = append(curves[trial], Point{Steps: steps, Values: []float64{v}})
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	whole = len(trials)
	if n == maxSearchReports { // the reports of the last trial, and of those after it, are not all here
		for i, id := range trials {
			if id == trial {
				whole = max(1, i)
			}
		}
	}
	return curves, whole, nil
}
