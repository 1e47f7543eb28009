package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/fault"
)

// reportedByTrial updates columns of a trial that its program writes.
func (db *DB) reportedByTrial(ctx context.Context, trial int, set string, args ...any) error {
	n, err := db.exec(ctx, "UPDATE trials SET "+set+" WHERE id = $1", append([]any{trial}, args...)...)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "trial %d not found", trial)
	}
	return badData(err)
}

// SetTrialProgress stores how much of its training a trial has done, from 0 to 1.
func (db *DB) SetTrialProgress(ctx context.Context, trial int, progress float64) error {
	return db.reportedByTrial(ctx, trial, "progress = $2", progress)
}

// SetRunnerState stores what a program says it is doing.
func (db *DB) SetRunnerState(ctx context.Context, trial int, state string) error {
	return db.reportedByTrial(ctx, trial, "runner_state = $2", state)
}

// SetTrialMetadata replaces what was noted about a trial.
func (db *DB) SetTrialMetadata(ctx context.Context, trial int, metadata json.RawMessage) error {
	return db.reportedByTrial(ctx, trial, "metadata = $2::text::jsonb", string(metadata))
}

// ReportEarlyExit stores why a trial will end before its time. The first reason
// counts; the same one again is no news.
func (db *DB) ReportEarlyExit(ctx context.Context, trial int, reason string) error {
	type exit struct {
		Reason string `db:"early_exit"`
	}
	e, err := row[exit](ctx, db, fmt.Sprintf("trial %d", trial), `
		UPDATE trials SET early_exit = coalesce(early_exit, $2) WHERE id = $1 RETURNING early_exit`, trial, reason)
	if err == nil && e.Reason != reason {
		return fault.New(fault.Invalid, "trial %d has reported an early exit before, because of %s", trial, e.Reason)
	}
	return err
}

// TrialSearcher is what harnesses that ask the master for lengths need to know.
type TrialSearcher struct {
	TaskID  string          `db:"task_id"`
	Config  json.RawMessage `db:"config"`
	Done    *float64        `db:"progress"`
	Stopped bool            `db:"stopped"`
}

// TrialSearcher reads the configuration that says how long a trial trains.
func (db *DB) TrialSearcher(ctx context.Context, trial int) (TrialSearcher, error) {
	return row[TrialSearcher](ctx, db, fmt.Sprintf("trial %d", trial), `
		SELECT t.task_id, e.config, t.progress, t.stop_wanted OR t.completed_length IS NOT NULL AS stopped
		FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}

// CompleteLength notes that a trial has trained as long as it was told to.
func (db *DB) CompleteLength(ctx context.Context, trial int, length int64) error {
	return db.reportedByTrial(ctx, trial, "completed_length = greatest(coalesce(completed_length, 0), $2), progress = 1", length)
}
