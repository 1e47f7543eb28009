package experiments

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
)

// updateTrial updates columns of a trial that its program sets.
func updateTrial(ctx context.Context, db *database.DB, trial int, set string, args ...any) error {
	return database.BadData(db.Change(ctx, fault.New(fault.NotFound, "trial %d not found", trial), "UPDATE trials SET "+set+" WHERE id = $1", append([]any{trial}, args...)...))
}

// SetTrialProgress stores the progress of a trial, from 0 to 1.
func SetTrialProgress(ctx context.Context, db *database.DB, trial int, progress float64) error {
	return updateTrial(ctx, db, trial, "progress = $2", progress)
}

// SetRunnerState stores the state that a trial's program reports, as text for users.
func SetRunnerState(ctx context.Context, db *database.DB, trial int, state string) error {
	return updateTrial(ctx, db, trial, "runner_state = $2", state)
}

// SetTrialMetadata replaces the metadata of a trial. What its program has logged with MLflow's client stays, unless the new metadata have the
// key mlflow, too: a program may use both.
func SetTrialMetadata(ctx context.Context, db *database.DB, trial int, metadata json.RawMessage) error {
	return updateTrial(ctx, db, trial, `metadata = CASE WHEN jsonb_typeof(metadata) = 'object' AND metadata ? 'mlflow' AND jsonb_typeof($2::text::jsonb) = 'object'
		THEN jsonb_build_object('mlflow', metadata -> 'mlflow') || $2::text::jsonb ELSE $2::text::jsonb END`, string(metadata))
}

// ReportEarlyExit stores why a trial will end early. The first reason counts.
func ReportEarlyExit(ctx context.Context, db *database.DB, trial int, reason string) error {
	was, err := database.Scalar[string](ctx, db, `
		UPDATE trials SET early_exit = coalesce(early_exit, $2) WHERE id = $1 RETURNING early_exit`, trial, reason)
	if err == nil && was != reason {
		return fault.New(fault.Invalid, "trial %d has already reported an early exit, because of %s", trial, was)
	}
	return database.Missing(err, fault.New(fault.NotFound, "trial %d not found", trial))
}

// TrialSearcher has the fields of a trial that old versions of Determined's harness need,
// which request lengths of training from the master.
type TrialSearcher struct {
	TaskID       string   `db:"task_id"`
	ExperimentID int      `db:"experiment_id"`
	Number       int      `db:"number"`
	MaxLength    *int64   `db:"max_length"` // in the configuration, in its units; nil: none
	Done         *float64 `db:"progress"`
	Target       *int64   `db:"target"`    // the length to which it trains now
	Reached      *int64   `db:"completed"` // the length that it reports to have reached
	Stopped      bool     `db:"stopped"`
	Held         bool     `db:"held"`
}

// maxLength is searcher.max_length of an experiment e: a number, alone or with its unit. Programs ask for it often, so the configuration,
// which may be large, is neither sent nor parsed.
const maxLength = `(SELECT CASE jsonb_typeof(l) WHEN 'number' THEN (l #>> '{}')::numeric::bigint
	WHEN 'object' THEN (SELECT value::numeric::bigint FROM jsonb_each_text(l) LIMIT 1) END FROM (SELECT e.config #> '{searcher,max_length}' AS l) x)`

// SearcherOf reads the TrialSearcher of a trial.
func SearcherOf(ctx context.Context, db *database.DB, trial int) (TrialSearcher, error) {
	return database.Row[TrialSearcher](ctx, db, fmt.Sprintf("trial %d", trial), `
		SELECT t.task_id, t.experiment_id, t.number, `+maxLength+` AS max_length, t.progress, t.target, t.completed_length AS completed,
			t.stop_wanted OR t.ended_at IS NOT NULL AS stopped, t.held
		FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}

// CompleteLength stores that a trial has reached a length, and adds event to its search in
// the same transaction, unless event is nil.
func CompleteLength(ctx context.Context, db *database.DB, trial int, length int64, event *NewEvent) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		set := "completed_length = greatest(coalesce(completed_length, 0), $2)"
		if event == nil {
			set += ", progress = 1"
		}
		if err := updateTrial(ctx, tx, trial, set, length); err != nil || event == nil {
			return err
		}
		return AppendEvents(ctx, tx, []NewEvent{*event})
	})
}

// BestValidation returns the best value of an experiment's searcher metric. It reads the
// search's events, which exist as soon as a report is answered.
func BestValidation(ctx context.Context, db *database.DB, experiment int) (float64, error) {
	type best struct {
		Smaller bool     `db:"smaller"`
		Min     *float64 `db:"min"`
		Max     *float64 `db:"max"`
	}
	const value = `(SELECT %s((body->>'metric')::double precision) FROM search_events
		WHERE experiment_id = e.id AND kind = 'validated' AND body->>'metric' IS NOT NULL) AS %[1]s`
	b, err := database.Row[best](ctx, db, fmt.Sprintf("experiment %d", experiment), `
		SELECT e.smaller_is_better AS smaller, `+
		fmt.Sprintf(value, "min")+`, `+fmt.Sprintf(value, "max")+` FROM experiments e WHERE e.id = $1`, experiment)
	switch {
	case err != nil:
		return 0, err
	case b.Min == nil || b.Max == nil:
		return 0, fault.New(fault.NotFound, "experiment %d has no validation with its searcher's metric yet", experiment)
	case b.Smaller:
		return *b.Min, nil
	}
	return *b.Max, nil
}

// SearchesOf reads the names of the searchers and the searchers' metrics of experiments.
func SearchesOf(ctx context.Context, db *database.DB, experiments []int) (list []metrics.Search, err error) {
	return database.Rows[metrics.Search](ctx, db, `SELECT id, coalesce(searcher, '') AS searcher, coalesce(metric, '') AS metric, `+isOver+` AS over
		FROM experiments e WHERE id = ANY($1) ORDER BY id`, experiments)
}

// SearcherMetric returns searcher.metric of a trial's experiment; "" for none.
func SearcherMetric(ctx context.Context, db *database.DB, trial int) (string, error) {
	return database.Scalar[string](ctx, db, `SELECT coalesce(e.metric, '') FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}
