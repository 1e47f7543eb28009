package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/detent-ml/detent/master/fault"
)

// updateTrial updates columns of a trial that its program writes.
func (db *DB) updateTrial(ctx context.Context, trial int, set string, args ...any) error {
	n, err := db.exec(ctx, "UPDATE trials SET "+set+" WHERE id = $1", append([]any{trial}, args...)...)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "trial %d not found", trial)
	}
	return badData(err)
}

// SetTrialProgress stores how much of its training a trial has done, from 0 to 1.
func (db *DB) SetTrialProgress(ctx context.Context, trial int, progress float64) error {
	return db.updateTrial(ctx, trial, "progress = $2", progress)
}

// SetRunnerState stores what a program says it is doing.
func (db *DB) SetRunnerState(ctx context.Context, trial int, state string) error {
	return db.updateTrial(ctx, trial, "runner_state = $2", state)
}

// SetTrialMetadata replaces what was noted about a trial.
func (db *DB) SetTrialMetadata(ctx context.Context, trial int, metadata json.RawMessage) error {
	return db.updateTrial(ctx, trial, "metadata = $2::text::jsonb", string(metadata))
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
		return fault.New(fault.Invalid, "trial %d has already reported an early exit, because of %s", trial, e.Reason)
	}
	return err
}

// TrialSearcher is what harnesses that ask the master for lengths need to know.
type TrialSearcher struct {
	TaskID       string          `db:"task_id"`
	ExperimentID int             `db:"experiment_id"`
	Number       int             `db:"number"`
	Config       json.RawMessage `db:"config"`
	Done         *float64        `db:"progress"`
	Target       *int64          `db:"target"`    // it trains to for now
	Reached      *int64          `db:"completed"` // by its own word
	Stopped      bool            `db:"stopped"`
	Held         bool            `db:"held"`
}

// TrialSearcher reads the configuration that says how long a trial trains.
func (db *DB) TrialSearcher(ctx context.Context, trial int) (TrialSearcher, error) {
	return row[TrialSearcher](ctx, db, fmt.Sprintf("trial %d", trial), `
		SELECT t.task_id, t.experiment_id, t.number, e.config, t.progress, t.target, t.completed_length AS completed,
			t.stop_wanted OR t.ended_at IS NOT NULL AS stopped, t.held
		FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = $1`, trial)
}

// CompleteLength notes that a trial has trained as long as it was told to. With
// an event, its search hears of it in the same moment.
func (db *DB) CompleteLength(ctx context.Context, trial int, length int64, event *NewEvent) error {
	return db.Tx(ctx, func(tx *DB) error {
		set := "completed_length = greatest(coalesce(completed_length, 0), $2)"
		if event == nil {
			set += ", progress = 1"
		}
		if err := tx.updateTrial(ctx, trial, set, length); err != nil || event == nil {
			return err
		}
		return tx.AppendEvents(ctx, []NewEvent{*event})
	})
}

// SearchInput is all that a search is made of: the configuration that it began
// with, the seed and the events after a number, no more of them than fit into memory
// beside the search.
type SearchInput struct {
	State  string
	Config json.RawMessage
	Seed   int64
	Memory int64 // that the search takes at most, with all of its events
	Events []SearchEvent
	More   bool // there are more events
}

// SearchInput reads what a search is made of. Of one that is known up to an event
// the configuration is not sent again.
func (db *DB) SearchInput(ctx context.Context, experiment int, after int64) (SearchInput, error) {
	type head struct {
		State  string          `db:"state"`
		Config json.RawMessage `db:"config"`
		Seed   int64           `db:"seed"`
		Memory int64           `db:"memory"`
	}
	var in SearchInput
	err := db.Snapshot(ctx, func(tx *DB) error {
		h, err := row[head](ctx, tx, fmt.Sprintf("experiment %d", experiment), `
			SELECT state, CASE WHEN $2::bigint > 0 THEN '{}'::jsonb ELSE coalesce(search_config, config) END AS config, seed, memory FROM experiments WHERE id = $1`, experiment, after)
		if err != nil {
			return err
		}
		in.State, in.Config, in.Seed, in.Memory = h.State, h.Config, h.Seed, h.Memory
		in.Events, in.More, err = someEvents(ctx, tx, `
			SELECT experiment_id, seq, kind, trial, body FROM search_events WHERE experiment_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, experiment, after, maxEvents)
		return err
	})
	return in, err
}

// SearchMemory is how much the search of an experiment takes at most.
func (db *DB) SearchMemory(ctx context.Context, experiment int) (int64, error) {
	return scalar[int64](ctx, db, `SELECT memory FROM experiments WHERE id = $1`, experiment)
}

// AppendOperations appends the operations of a program that drives a search, if no
// other event has come since the program's operations were looked at. more is how much
// memory the search takes with them, beside what it takes already.
func (db *DB) AppendOperations(ctx context.Context, experiment int, after int64, kind string, body json.RawMessage, more int64) (told bool, err error) {
	errLate := errors.New("another event has come")
	err = db.Tx(ctx, func(tx *DB) error {
		if err := tx.grow(ctx, experiment, more); err != nil { // the experiment's row before its counter, as the loop locks them
			return err
		}
		n, err := tx.exec(ctx, "UPDATE search_counters SET next = next WHERE experiment_id = $1 AND next = $2 + 1", experiment, after)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLate
		}
		return tx.AppendEvents(ctx, []NewEvent{{ExperimentID: experiment, Kind: kind, Body: body}})
	})
	if errors.Is(err, errLate) {
		return false, nil
	}
	return err == nil, err
}
