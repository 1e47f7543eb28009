package sched

import "slices"

// avoid excludes the nodes that a request wants to avoid, if the pool could hold the request without them. Otherwise
// it leaves the request unchanged: a preference must not keep a task from running.
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
		if f.takesAux(r, i) {
			return true
		}
	}
	return false
}
