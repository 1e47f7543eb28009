package experiments

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/search"
)

// SearchEvent is an event of a search.
type SearchEvent struct {
	ExperimentID int             `db:"experiment_id"`
	Seq          int64           `db:"seq"`
	Kind         string          `db:"kind"`
	Trial        int             `db:"trial"`
	Body         json.RawMessage `db:"body"`
}

// NewEvent is an event for a search.
type NewEvent struct {
	ExperimentID int
	Trial        int
	Kind         string
	Body         json.RawMessage
}

// AppendEvents adds events to their searches, numbered without gaps. It locks the counter
// row of each experiment until the commit, so that numbers become visible in order, and
// locks these rows in the order of ids, so that two writers cannot deadlock.
func AppendEvents(ctx context.Context, db *database.DB, events []NewEvent) error {
	if len(events) == 0 {
		return nil
	}
	perExperiment := map[int]int{}
	for _, e := range events {
		perExperiment[e.ExperimentID]++
	}
	ids := slices.Sorted(maps.Keys(perExperiment))
	counts := make([]int, len(ids))
	for i, id := range ids {
		counts[i] = perExperiment[id]
	}
	next, err := database.Map[int, int64](ctx, db, `
		INSERT INTO search_counters AS c (experiment_id, next)
		SELECT id, 1 + n FROM unnest($1::int[], $2::bigint[]) AS u(id, n) ORDER BY id
		ON CONFLICT (experiment_id) DO UPDATE SET next = c.next + excluded.next - 1
		RETURNING experiment_id, next`, ids, counts)
	if err != nil {
		return err
	}
	for id, n := range perExperiment {
		next[id] -= int64(n)
	}
	n := len(events)
	experiments, seqs, kinds, trials, bodies := make([]int, n), make([]int64, n), make([]string, n), make([]int, n), make([]string, n)
	for i, e := range events {
		experiments[i], seqs[i], kinds[i], trials[i], bodies[i] = e.ExperimentID, next[e.ExperimentID], e.Kind, e.Trial, string(e.Body)
		next[e.ExperimentID]++
	}
	return db.Exec(ctx, `
		INSERT INTO search_events (experiment_id, seq, kind, trial, body)
		SELECT e, s, k, t, b::jsonb FROM unnest($1::int[], $2::bigint[], $3::text[], $4::int[], $5::text[]) AS u(e, s, k, t, b)`,
		experiments, seqs, kinds, trials, bodies)
}

// AppendValidations adds validations of trials to their searches, as AppendEvents.
func AppendValidations(ctx context.Context, db *database.DB, list []metrics.Validated) error {
	events := make([]NewEvent, len(list))
	for i, v := range list {
		body, err := json.Marshal(v.Validation)
		if err != nil {
			return err
		}
		events[i] = NewEvent{ExperimentID: v.ExperimentID, Trial: v.Trial, Kind: search.Validated, Body: body}
	}
	return AppendEvents(ctx, db, events)
}

// MaxEventBytes limits the events of chosen experiments in one load, so that a new leader
// does not read the events of all experiments into memory at once. The next loads read the
// rest.
const (
	MaxEventBytes = 8 << 20
	MaxEvents     = 50_000
	eventBytes    = 128 // memory of an event without its body
)

// SomeEvents reads the events of a query whose limit is MaxEvents, up to MaxEventBytes. more
// is true if events may remain.
func SomeEvents(ctx context.Context, tx *database.DB, sql string, args ...any) (list []SearchEvent, more bool, err error) {
	bytes := 0
	var e SearchEvent
	err = tx.Each(ctx, sql, args, []any{&e.ExperimentID, &e.Seq, &e.Kind, &e.Trial, &e.Body}, func() error {
		list = append(list, e)
		if bytes += len(e.Body) + eventBytes; bytes >= MaxEventBytes {
			more = true
			return database.ErrSkipRest
		}
		return nil
	})
	return list, more || len(list) == MaxEvents, err
}
