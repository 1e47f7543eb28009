package rows

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
)

// Known tells a load which searches the caller has in memory.
type Known struct {
	// Seen has the experiments whose searches the caller has, each with the number of its
	// last applied event. A load reads their later events, but not their configurations.
	Seen map[int]int64
	// Choose returns the other live experiments whose configuration and events the load
	// reads now. A load calls it once. nil means all.
	Choose func(live []LiveExperiment) []Reading
}

// A Reading is an experiment of which a load reads the events after a number. With a
// number of 0 it also reads the configuration.
type Reading struct {
	ID    int
	After int64
}

var noConfig = json.RawMessage("{}")

// loadSearches reads the configurations and events that the caller does not have.
func (c *LiveCache) loadSearches(ctx context.Context, tx *database.DB, live *Live, known Known) error {
	var chosen []Reading
	if known.Choose != nil {
		chosen = known.Choose(live.Experiments)
	} else {
		for _, e := range live.Experiments {
			if _, ok := known.Seen[e.ID]; !ok {
				chosen = append(chosen, Reading{ID: e.ID})
			}
		}
	}
	after := each.Map(chosen, func(r Reading) (int, int64) { return r.ID, r.After })
	var configs, ids []int
	var seqs []int64
	for i := range live.Experiments {
		e := &live.Experiments[i]
		seen, held := known.Seen[e.ID]
		from, read := after[e.ID]
		e.Unread = !held && !read
		if read && from == 0 || (read || held) && e.Continues > e.Continued { // its configuration may have changed since it ended
			configs = append(configs, e.ID)
		} else if !e.Unread {
			e.Config = noConfig
		}
		if held {
			ids, seqs = append(ids, e.ID), append(seqs, seen)
		}
	}
	if err := c.readConfigs(ctx, tx, live, configs, known.Seen, known.Choose == nil); err != nil {
		return err
	}
	chosen = slices.DeleteFunc(chosen, func(r Reading) bool { return live.Later[r.ID] })
	var err error
	if live.Events, err = eventsAfter(ctx, tx, ids, seqs); err != nil || len(chosen) == 0 {
		return err
	}
	return readOn(ctx, tx, live, chosen)
}

// Limits of what one load reads of configurations, so that a new leader does not read those of all experiments into memory at once. They are in
// bytes as PostgreSQL writes them, which can be many more than the bytes that it stores.
const (
	maxConfigBytes  = 32 << 20
	configsTogether = 32 // in one query
)

// readConfigs reads whole configurations: all those that the caller has and that may have changed, and of the others as many as one load reads. The
// rest is Unread and in live.Later.
func (c *LiveCache) readConfigs(ctx context.Context, tx *database.DB, live *Live, ids []int, held map[int]int64, all bool) error {
	if len(ids) == 0 {
		return nil
	}
	type configured struct {
		ID           int             `db:"id"`
		Config       json.RawMessage `db:"config"`
		SearchConfig json.RawMessage `db:"search_config"`
	}
	at := make(map[int]*LiveExperiment, len(live.Experiments))
	for i := range live.Experiments {
		at[live.Experiments[i].ID] = &live.Experiments[i]
	}
	var must, may []int
	for _, id := range ids {
		if _, has := held[id]; has {
			must = append(must, id)
		} else {
			may = append(may, id)
		}
	}
	left := c.configBytes
	if all {
		left = math.MaxInt
	}
	for ids := append(must, may...); len(ids) > 0; {
		room := max(left, 1)
		if len(must) > 0 {
			room = math.MaxInt
		} else if left <= 0 {
			live.Later = make(map[int]bool, len(ids))
			for _, id := range ids {
				live.Later[id], at[id].Unread = true, true
			}
			return nil
		}
		page := ids[:min(configsTogether, len(ids))]
		read, _, err := database.RowsUpTo[configured](ctx, tx, room, `SELECT e.id, e.config, e.search_config
			FROM unnest($1::int[]) WITH ORDINALITY AS u(id, place) JOIN experiments e ON e.id = u.id ORDER BY u.place`, page)
		if err != nil {
			return err
		}
		if len(read) == 0 {
			return checkComplete("configurations", len(page), 0)
		}
		for i, r := range read {
			if r.ID != page[i] {
				return checkComplete("configurations", len(page), i)
			}
			at[r.ID].Config, at[r.ID].SearchConfig = r.Config, r.SearchConfig
			left -= len(r.Config) + len(r.SearchConfig)
		}
		ids, must = ids[len(read):], must[min(len(must), len(read)):]
	}
	return nil
}

// eventsAfter reads all events after those that the caller has seen, usually few.
func eventsAfter(ctx context.Context, tx *database.DB, ids []int, seqs []int64) ([]experiments.SearchEvent, error) {
	return database.Rows[experiments.SearchEvent](ctx, tx, `
		SELECT s.experiment_id, s.seq, s.kind, s.trial, s.body
		FROM unnest($1::int[], $2::bigint[]) AS l(id, seq) JOIN search_events s ON s.experiment_id = l.id AND s.seq > l.seq
		ORDER BY s.experiment_id, s.seq`, ids, seqs)
}

// readOn reads events of chosen experiments, up to maxEventBytes, and the number of the
// last event of each.
func readOn(ctx context.Context, tx *database.DB, live *Live, chosen []Reading) error {
	ids, seqs := make([]int, len(chosen)), make([]int64, len(chosen))
	for i, r := range chosen {
		ids[i], seqs[i] = r.ID, r.After
	}
	var err error
	if live.Last, err = database.Map[int, int64](ctx, tx, `SELECT experiment_id, next - 1 FROM search_counters WHERE experiment_id = ANY($1)`, ids); err != nil {
		return err
	}
	events, _, err := experiments.SomeEvents(ctx, tx, `
		SELECT s.experiment_id, s.seq, s.kind, s.trial, s.body
		FROM unnest($1::int[], $2::bigint[]) AS l(id, seq) CROSS JOIN LATERAL (
			SELECT * FROM search_events e WHERE e.experiment_id = l.id AND e.seq > l.seq ORDER BY e.seq LIMIT $3) s LIMIT $3`, ids, seqs, experiments.MaxEvents)
	live.Events = append(live.Events, events...)
	return err
}
