package sched

import (
	"slices"

	"github.com/detent-ml/detent/master/pool"
)

// Holds reports whether nodes could hold a request if nothing ran on them and they
// were in order, with all of their slots.
func Holds(of *pool.Pool, nodes []Node, r Request) bool {
	whole := slices.Clone(nodes)
	for i := range whole {
		n := &whole[i]
		n.Schedulable, n.Slots = true, slices.Clone(n.Slots)
		for j := range n.Slots {
			s := &n.Slots[j]
			s.Healthy, s.Enabled, s.Taken = true, true, ""
		}
	}
	p := newPlanner(of, whole, nil, 0)
	r.keepTo(of)
	if r.Slots <= 0 {
		return p.auxElsewhere(&r)
	}
	return p.fewest(&r).nodes > 0
}
