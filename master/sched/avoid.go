package sched

import "slices"

// avoid turns the nodes that a request would rather not use into nodes that it
// does not use, if the pool could hold it without them. Where it could not, they
// are as good as any: a preference must not keep a task from running.
func (f *fit) avoid(r *Request) *Request {
	if len(r.Avoid) == 0 {
		return r
	}
	without := *r
	without.Exclude = append(slices.Clone(r.Exclude), r.Avoid...)
	if r.Slots > 0 && f.fewest(&without).nodes == 0 || r.Slots <= 0 && !f.auxElsewhere(&without) {
		return r
	}
	return &without
}

// auxElsewhere: some schedulable node that takes tasks of 0 slots is not excluded.
func (f *fit) auxElsewhere(r *Request) bool {
	for i := range f.nodes {
		if f.nodes[i].Schedulable && !f.bars(r, i) && !f.tooShortLived(r, i) {
			return f.pool.MaxAux > 0
		}
	}
	return false
}
