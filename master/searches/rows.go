package searches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
)

// Input is the input of a search: the configuration with which it began, the seed, and
// the events after a number, limited to what fits into memory beside the search.
type Input struct {
	State  string                    `db:"state"`
	Config json.RawMessage           `db:"config"`
	Seed   int64                     `db:"seed"`
	Memory int64                     `db:"memory"` // maximum memory of the search with all its events, in bytes
	Events []experiments.SearchEvent `db:"-"`
	More   bool                      `db:"-"` // there are more events
}

// ReadInput reads the input of a search. If after is not 0, the caller has the search up to
// this event, and the result omits the configuration.
func ReadInput(ctx context.Context, db *database.DB, experiment int, after int64) (Input, error) {
	var in Input
	err := db.Snapshot(ctx, func(tx *database.DB) (err error) {
		in, err = database.Row[Input](ctx, tx, fmt.Sprintf("experiment %d", experiment), `
			SELECT state, CASE WHEN $2::bigint > 0 THEN '{}'::jsonb ELSE coalesce(search_config, config) END AS config, seed, memory FROM experiments WHERE id = $1`, experiment, after)
		if err != nil {
			return err
		}
		in.Events, in.More, err = experiments.SomeEvents(ctx, tx, `
			SELECT experiment_id, seq, kind, trial, body FROM search_events WHERE experiment_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, experiment, after, experiments.MaxEvents)
		return err
	})
	return in, err
}

// Reached returns the number of the last event of a search, and the state of its experiment.
func Reached(ctx context.Context, db *database.DB, experiment int) (seq int64, state string, err error) {
	type at struct {
		Seq   int64  `db:"seq"`
		State string `db:"state"`
	}
	x, err := database.Row[at](ctx, db, fmt.Sprintf("experiment %d", experiment), `
		SELECT coalesce((SELECT next - 1 FROM search_counters c WHERE c.experiment_id = e.id), 0) AS seq, e.state FROM experiments e WHERE e.id = $1`, experiment)
	return x.Seq, x.State, err
}

// EventsOf reads events of a search: those after a number, up to another one, at most `most` of them. more is
// true if it has not read all of them.
func EventsOf(ctx context.Context, db *database.DB, experiment int, after, until int64, most int) (list []experiments.SearchEvent, more bool, err error) {
	list, cut, err := experiments.SomeEvents(ctx, db, `
		SELECT experiment_id, seq, kind, trial, CASE WHEN kind IN ('validated', 'exited') THEN body ELSE '{}' END FROM search_events
		WHERE experiment_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`, experiment, after, until, most)
	return list, len(list) > 0 && (cut || len(list) == most) && list[len(list)-1].Seq < until, err
}

// MemoryOf returns the maximum memory of an experiment's search, in bytes.
func MemoryOf(ctx context.Context, db *database.DB, experiment int) (int64, error) {
	return database.Scalar[int64](ctx, db, `SELECT memory FROM experiments WHERE id = $1`, experiment)
}

// AppendOperations adds the operations of a custom searcher's program, or proposals, to the search, if the
// search has no events after the number `after`, up to which the operations were checked.
// more is the memory that they add to the search, in bytes.
func AppendOperations(ctx context.Context, db *database.DB, room *experiments.Memory, experiment int, after int64, kind string, body json.RawMessage, more int64) (told bool, err error) {
	if err := jsontext.Storable(body); err != nil {
		return false, err
	}
	if err := jsontext.CheckDigits(body); err != nil { // of the whole event, which each master reads at once
		return false, fault.New(fault.Invalid, "%w", err)
	}
	errLate := errors.New("another event has come")
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := room.Grow(ctx, tx, experiment, more); err != nil { // locks the experiment's row before its counter, like the loop
			return err
		}
		n, err := tx.Affect(ctx, "UPDATE search_counters SET next = next WHERE experiment_id = $1 AND next = $2 + 1", experiment, after)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLate
		}
		return experiments.AppendEvents(ctx, tx, []experiments.NewEvent{{ExperimentID: experiment, Kind: kind, Body: body}})
	})
	if errors.Is(err, errLate) {
		return false, nil
	}
	return err == nil, err
}

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
