package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/metrics"
)

// updateTrial updates columns of a trial that its program sets.
func (db *DB) updateTrial(ctx context.Context, trial int, set string, args ...any) error {
	n, err := db.Exec(ctx, "UPDATE trials SET "+set+" WHERE id = $1", append([]any{trial}, args...)...)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "trial %d not found", trial)
	}
	return database.BadData(err)
}

// SetTrialProgress stores the progress of a trial, from 0 to 1.
func (db *DB) SetTrialProgress(ctx context.Context, trial int, progress float64) error {
	return db.updateTrial(ctx, trial, "progress = $2", progress)
}

// SetRunnerState stores the state that a trial's program reports, as text for users.
func (db *DB) SetRunnerState(ctx context.Context, trial int, state string) error {
	return db.updateTrial(ctx, trial, "runner_state = $2", state)
}

// SetTrialMetadata replaces the metadata of a trial.
func (db *DB) SetTrialMetadata(ctx context.Context, trial int, metadata json.RawMessage) error {
	return db.updateTrial(ctx, trial, "metadata = $2::text::jsonb", string(metadata))
}

// ReportEarlyExit stores why a trial will end early. The first reason counts.
func (db *DB) ReportEarlyExit(ctx context.Context, trial int, reason string) error {
	type exit struct {
		Reason string `db:"early_exit"`
	}
	e, err := database.Row[exit](ctx, db.DB, fmt.Sprintf("trial %d", trial), `
		UPDATE trials SET early_exit = coalesce(early_exit, $2) WHERE id = $1 RETURNING early_exit`, trial, reason)
	if err == nil && e.Reason != reason {
		return fault.New(fault.Invalid, "trial %d has already reported an early exit, because of %s", trial, e.Reason)
	}
	return err
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

// TrialSearcher reads the TrialSearcher of a trial.
func (db *DB) TrialSearcher(ctx context.Context, trial int) (TrialSearcher, error) {
	return database.Row[TrialSearcher](ctx, db.DB, fmt.Sprintf("trial %d", trial), `
		SELECT t.task_id, t.experiment_id, t.number, `+maxLength+` AS max_length, t.progress, t.target, t.completed_length AS completed,
			t.stop_wanted OR t.ended_at IS NOT NULL AS stopped, t.held
		FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}

// CompleteLength stores that a trial has reached a length, and adds event to its search in
// the same transaction, unless event is nil.
func (db *DB) CompleteLength(ctx context.Context, trial int, length int64, event *NewEvent) error {
	return db.Tx(ctx, func(tx *DB) error {
		set := "completed_length = greatest(coalesce(completed_length, 0), $2)"
		if event == nil {
			set += ", progress = 1"
		}
		if err := tx.updateTrial(ctx, trial, set, length); err != nil || event == nil {
			return err
		}
		return AppendEvents(ctx, tx.DB, []NewEvent{*event})
	})
}

// SearchInput is the input of a search: the configuration with which it began, the seed, and
// the events after a number, limited to what fits into memory beside the search.
type SearchInput struct {
	State  string
	Config json.RawMessage
	Seed   int64
	Memory int64 // maximum memory of the search with all its events, in bytes
	Events []SearchEvent
	More   bool // there are more events
}

// SearchInput reads the input of a search. If after is not 0, the caller has the search up to
// this event, and the result omits the configuration.
func (db *DB) SearchInput(ctx context.Context, experiment int, after int64) (SearchInput, error) {
	type head struct {
		State  string          `db:"state"`
		Config json.RawMessage `db:"config"`
		Seed   int64           `db:"seed"`
		Memory int64           `db:"memory"`
	}
	var in SearchInput
	err := db.Snapshot(ctx, func(tx *DB) error {
		h, err := database.Row[head](ctx, tx.DB, fmt.Sprintf("experiment %d", experiment), `
			SELECT state, CASE WHEN $2::bigint > 0 THEN '{}'::jsonb ELSE coalesce(search_config, config) END AS config, seed, memory FROM experiments WHERE id = $1`, experiment, after)
		if err != nil {
			return err
		}
		in.State, in.Config, in.Seed, in.Memory = h.State, h.Config, h.Seed, h.Memory
		in.Events, in.More, err = SomeEvents(ctx, tx.DB, `
			SELECT experiment_id, seq, kind, trial, body FROM search_events WHERE experiment_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, experiment, after, MaxEvents)
		return err
	})
	return in, err
}

// SearchMemory returns the maximum memory of an experiment's search, in bytes.
func (db *DB) SearchMemory(ctx context.Context, experiment int) (int64, error) {
	return database.Scalar[int64](ctx, db.DB, `SELECT memory FROM experiments WHERE id = $1`, experiment)
}

// AppendOperations adds the operations of a custom searcher's program to its search, if the
// search has no events after the number `after`, up to which the operations were checked.
// more is the memory that they add to the search, in bytes.
func (db *DB) AppendOperations(ctx context.Context, experiment int, after int64, kind string, body json.RawMessage, more int64) (told bool, err error) {
	if err := jsontext.Storable(body); err != nil {
		return false, err
	}
	errLate := errors.New("another event has come")
	err = db.Tx(ctx, func(tx *DB) error {
		if err := tx.grow(ctx, experiment, more); err != nil { // locks the experiment's row before its counter, like the loop
			return err
		}
		n, err := tx.Exec(ctx, "UPDATE search_counters SET next = next WHERE experiment_id = $1 AND next = $2 + 1", experiment, after)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLate
		}
		return AppendEvents(ctx, tx.DB, []NewEvent{{ExperimentID: experiment, Kind: kind, Body: body}})
	})
	if errors.Is(err, errLate) {
		return false, nil
	}
	return err == nil, err
}

// BestValidation returns the best value of an experiment's searcher metric. It reads the
// search's events, which exist as soon as a report is answered.
func (db *DB) BestValidation(ctx context.Context, experiment int) (float64, error) {
	type best struct {
		Smaller bool     `db:"smaller"`
		Min     *float64 `db:"min"`
		Max     *float64 `db:"max"`
	}
	const value = `(SELECT %s((body->>'metric')::double precision) FROM search_events
		WHERE experiment_id = e.id AND kind = 'validated' AND body->>'metric' IS NOT NULL) AS %[1]s`
	b, err := database.Row[best](ctx, db.DB, fmt.Sprintf("experiment %d", experiment), `
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
func (db *DB) SearchesOf(ctx context.Context, experiments []int) (list []metrics.Search, err error) {
	return database.Rows[metrics.Search](ctx, db.DB, `SELECT id, coalesce(searcher, '') AS searcher, coalesce(metric, '') AS metric, `+isOver+` AS over
		FROM experiments e WHERE id = ANY($1) ORDER BY id`, experiments)
}

// SearcherMetric returns searcher.metric of a trial's experiment; "" for none.
func (db *DB) SearcherMetric(ctx context.Context, trial int) (string, error) {
	return database.Scalar[string](ctx, db.DB, `SELECT coalesce(e.metric, '') FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}
