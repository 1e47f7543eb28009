package sched

import (
	"container/heap"
	"slices"
)

// auxHeap has the schedulable nodes that may take another task of 0 slots, the
// one with the fewest first.
type auxHeap []auxNode

type auxNode struct{ node, tasks int }

func (h auxHeap) Len() int { return len(h) }
func (h auxHeap) Less(i, j int) bool {
	return h[i].tasks < h[j].tasks || h[i].tasks == h[j].tasks && h[i].node < h[j].node
}
func (h auxHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *auxHeap) Push(x any) { *h = append(*h, x.(auxNode)) }

// Pop is for package heap.
func (h *auxHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// considerAux places a task of 0 slots on the node that has the fewest of them.
func (p *planner) considerAux(r *Request) {
	if p.auxHeap == nil {
		p.auxHeap = auxHeap{}
		for i := range p.nodes {
			if p.nodes[i].Schedulable && p.aux[i] < p.pool.MaxAux {
				p.auxHeap = append(p.auxHeap, auxNode{i, p.aux[i]})
			}
		}
		heap.Init(&p.auxHeap)
	}
	for _, tier := range p.tiers(r) {
		if p.placeAux(tier) {
			return
		}
	}
	p.wait(r, p.whyAux(r))
}

// placeAux takes the node with the fewest tasks that a request may use.
func (p *planner) placeAux(r *Request) (placed bool) {
	var skipped []auxNode
	for len(p.auxHeap) > 0 && !placed {
		n := heap.Pop(&p.auxHeap).(auxNode)
		if slices.Contains(r.Exclude, p.nodes[n.node].ID) {
			skipped = append(skipped, n)
			continue
		}
		placed = true
		p.result.Place = append(p.result.Place, Placement{ID: r.ID, Parts: []Part{{NodeID: p.nodes[n.node].ID}}})
		n.tasks++
		if n.tasks < p.pool.MaxAux {
			heap.Push(&p.auxHeap, n)
		}
	}
	for _, n := range skipped {
		heap.Push(&p.auxHeap, n)
	}
	return placed
}
