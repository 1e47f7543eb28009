package sched

// tooShortLived reports whether a node may go away at any time, and a task of 0 slots must not be there: such
// tasks are mostly notebooks and servers, which store no checkpoints.
func (inv *inventory) tooShortLived(r *Request, node int) bool {
	return inv.nodes[node].Spot && !inv.pool.AuxOnSpot && !r.OnSpot
}

// considerAux places a task of 0 slots on the node that has the fewest of them, of those
// that are best for it.
func (p *planner) considerAux(r *Request) {
	best, score := -1, 0.0
	for i := range p.nodes {
		if !p.nodes[i].Schedulable || p.aux[i] >= p.pool.MaxAux || p.bars(r, i) || p.tooShortLived(r, i) {
			continue
		}
		of := 0.0
		p.looks++
		if r.draws() {
			p.looks += len(r.Choice.Spread)
			of = p.score(r, i)
		}
		if best < 0 || of > score || of == score && p.aux[i] < p.aux[best] {
			best, score = i, of
		}
	}
	if best < 0 {
		p.wait(r, p.whyAux(r))
		return
	}
	p.aux[best]++
	p.start(r, Placement{ID: r.ID, Parts: []Part{{NodeID: p.nodes[best].ID}}})
}
