package sched

import (
	"cmp"
	"slices"
)

// maxTiers bounds how often a place is looked for, with ever less preferred nodes.
const maxTiers = 8

// tiers turns what a request prefers into requests that avoid what it likes less, the
// choosiest first; the last one is the request itself. A preference decides between places
// that there are: it neither waits for a better one nor cuts a task into other parts.
func (p *planner) tiers(r *Request) []*Request {
	if len(r.Prefer) == 0 {
		return []*Request{r}
	}
	var levels []float64
	for i := range p.nodes {
		if p.nodes[i].Schedulable {
			levels = append(levels, r.Prefer[p.nodes[i].ID])
		}
	}
	slices.SortFunc(levels, func(a, b float64) int { return cmp.Compare(b, a) })
	levels = slices.Compact(levels)
	var list []*Request
	for _, least := range levels[:min(max(len(levels)-1, 0), maxTiers-1)] {
		choosy := *r
		choosy.Exclude = slices.Clone(r.Exclude)
		for i := range p.nodes {
			if r.Prefer[p.nodes[i].ID] < least {
				choosy.Exclude = append(choosy.Exclude, p.nodes[i].ID)
			}
		}
		list = append(list, &choosy)
	}
	return append(list, r)
}
