package searches

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
)

// A Trial is a trial of a search, without its curve.
type Trial struct {
	ID       int        `db:"id"`
	Shown    string     `db:"shown"`
	HParams  []byte     `db:"hparams"`
	EndedAt  *time.Time `db:"ended_at"`
	Restarts int        `db:"restarts"`
	Batches  int        `db:"batches"`
	Stopped  bool       `db:"stop_wanted"`
}

// TrialFilter chooses trials of a search.
type TrialFilter struct {
	Experiment   int
	After        int        // the trials with larger ids
	ChangedSince *time.Time // without the trials that ended before; nil: all
	Limit        int
}

// ListTrials lists trials of an experiment by id. If their hyperparameters are longer than a page may be, it
// returns the first of them, and full is true.
func ListTrials(ctx context.Context, db *database.DB, f TrialFilter) (list []Trial, full bool, err error) {
	return database.RowsUpTo[Trial](ctx, db, database.MaxPageBytes, `
		SELECT t.id, `+experiments.ShownTrial+` AS shown, t.hparams, t.ended_at, t.restarts, t.stop_wanted,
			coalesce((SELECT s.total_batches FROM trial_summaries s WHERE s.trial_id = t.id), 0) AS batches
		FROM trials t JOIN experiments e ON e.id = t.experiment_id
		WHERE t.experiment_id = $1 AND t.id > $2 AND ($3::timestamptz IS NULL OR t.ended_at IS NULL OR t.ended_at > $3)
		ORDER BY t.id LIMIT $4`, f.Experiment, f.After, f.ChangedSince, f.Limit)
}
