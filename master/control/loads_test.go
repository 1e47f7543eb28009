package control

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/detent-ml/detent/master/control/rows"
)

// compareLoads checks that a load of the term, with its cache, returns the same rows as a load
// with an empty cache.
func (s *simulation) compareLoads() {
	t := s.term
	if s.checked == t {
		return
	}
	s.checked = t
	load := t.load
	t.load = func(ctx context.Context, known rows.Known) (*rows.Live, error) {
		tries := 1
		if t.async { // parallel work may change rows between the two loads
			tries = 5
		}
		for {
			live, err := load(ctx, known)
			if err != nil {
				return nil, err
			}
			fresh, err := rows.LoadLive(ctx, t.db, known)
			if err != nil {
				return nil, err
			}
			difference := differs(live, fresh)
			if difference == "" {
				return live, nil
			}
			if tries--; tries == 0 {
				s.t.Fatalf("the cache of live rows is wrong: %s", difference)
			}
		}
	}
}

// differs returns the first row that differs.
func differs(a, b *rows.Live) string {
	byID := func(x, y rows.LiveAllocation) int { return cmp.Compare(x.ID, y.ID) }
	slices.SortFunc(a.Allocations, byID)
	slices.SortFunc(b.Allocations, byID)
	return cmp.Or(differ("experiments", a.Experiments, b.Experiments), differ("trials", a.Trials, b.Trials), differ("tasks", a.Tasks, b.Tasks),
		differ("attempts", a.Allocations, b.Allocations), differ("nodes", a.Nodes, b.Nodes), differ("events", a.Events, b.Events),
		differ("matches", a.Matches, b.Matches), differ("failures", a.Failures, b.Failures))
}

func differ[T any](what string, a, b []T) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d %s, and %d", len(a), what, len(b))
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			return fmt.Sprintf("%s: %+v, and %+v", what, a[i], b[i])
		}
	}
	return ""
}
