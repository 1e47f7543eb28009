package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// determined is what Determined's policies know of the jobs: when each was submitted. A planner sees
// this of a job that waits; Determined also knows it of a job that runs.
type determined struct{ submitted map[string]time.Time }

func (d *determined) note(queued []sched.Request) {
	if d.submitted == nil {
		d.submitted = map[string]time.Time{}
	}
	for _, q := range queued {
		d.submitted[q.ID] = q.QueuedAt
	}
}

// later orders running jobs: the one that was submitted last is first.
func (d *determined) later(a, b *sched.Running) int {
	return cmp.Or(d.submitted[b.ID].Compare(d.submitted[a.ID]), cmp.Compare(b.ID, a.ID))
}

// DeterminedPriority returns Determined's priority scheduler. Within a priority it starts, in the order of
// submission, all requests that fit. While a request waits, requests of lower priorities start only
// with preemption, because they can be preempted then. With preemption, a request that does not fit has
// jobs preempted of lower priorities, and of its own priority if they were submitted later: the
// lowest priority first, of equal priorities the job that was submitted last, one after the other
// until the request fits; all of them leave, wherever they run. After that nothing else starts in this
// plan. A job of several nodes runs on idle nodes, for it alone.
func DeterminedPriority() Planner {
	d := &determined{}
	return func(of *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, _ time.Time) sched.Result {
		d.note(queued)
		p := &determinedPriority{determined: d, board: newBoard(nodes, running, true), preempts: of.Preemption, released: map[string]bool{}}
		p.candidates = make([]*sched.Running, len(running))
		for i := range running {
			p.candidates[i] = &running[i]
		}
		slices.SortFunc(p.candidates, func(a, b *sched.Running) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), d.later(a, b)) })
		order := byArrival(queued)
		slices.SortStableFunc(order, func(a, b *sched.Request) int { return cmp.Compare(a.Priority, b.Priority) })
		for len(order) > 0 {
			n := 1
			for n < len(order) && order[n].Priority == order[0].Priority {
				n++
			}
			p.bucket(order[:n])
			order = order[n:]
		}
		return p.result
	}
}

type determinedPriority struct {
	*determined
	*board
	preempts   bool
	candidates []*sched.Running // the one that leaves first is first
	released   map[string]bool
	waiting    bool // a request of a better priority waits
	result     sched.Result
}

// bucket considers the requests of one priority.
func (p *determinedPriority) bucket(queue []*sched.Request) {
	failed := map[int]bool{} // sizes that do not fit
	starts := len(p.released) == 0 && (!p.waiting || p.preempts)
	var left []*sched.Request
	for _, q := range queue {
		var on []int
		if !failed[q.Slots] {
			on = p.dedicated(q.Slots)
		}
		switch {
		case on == nil:
			failed[q.Slots] = true
			left = append(left, q)
		case starts:
			p.result.Place = append(p.result.Place, sched.Placement{ID: q.ID, Parts: p.give(q.Slots, on)})
			p.close(on)
		default:
			p.reserve(q.Slots, on)
		}
	}
	p.waiting = p.waiting || len(left) > 0
	if !p.preempts {
		return
	}
	hopeless := map[int]bool{} // sizes for which all that may leave are too few
	for _, q := range left {
		if hopeless[q.Slots] {
			continue
		}
		if p.dedicated(q.Slots) == nil && !p.makeWay(q) {
			hopeless[q.Slots] = true
			continue
		}
		p.reserve(q.Slots, p.dedicated(q.Slots))
	}
}

// reserve counts slots as taken, without choosing which.
func (b *board) reserve(slots int, on []int) {
	for j, i := range on {
		b.free[i] -= (slots + len(on) - 1 - j) / len(on)
	}
	b.close(on)
}

// close reserves the nodes of a job of several nodes for it alone.
func (b *board) close(on []int) {
	if len(on) > 1 {
		for _, i := range on {
			b.free[i] = 0
		}
	}
}

// makeWay preempts jobs until a request fits; if it never does, it changes nothing.
func (p *determinedPriority) makeWay(q *sched.Request) bool {
	k, part := p.nodesFor(q.Slots)
	if k > 1 {
		part = p.most // idle nodes
	}
	enough := 0
	for _, n := range p.free {
		if n >= part {
			enough++
		}
	}
	var leave []*sched.Running
	for _, x := range p.candidates {
		if x.Priority < q.Priority || x.Priority == q.Priority && !p.submitted[x.ID].After(q.QueuedAt) {
			break
		}
		if p.released[x.ID] {
			continue
		}
		leave = append(leave, x)
		if enough += p.release(x, part); enough >= k {
			break
		}
	}
	if enough < k {
		for _, x := range leave {
			p.unrelease(x)
		}
		return false
	}
	for _, x := range leave {
		p.released[x.ID] = true
		if !x.Leaving {
			p.result.Preempt = append(p.result.Preempt, sched.Preemption{ID: x.ID, For: q.ID})
		}
	}
	return true
}

// release counts the slots of a running job as free, and returns how many nodes have enough free slots
// by that.
func (b *board) release(x *sched.Running, enough int) (more int) {
	for _, part := range x.Parts {
		i := b.index[part.NodeID]
		before := b.free[i]
		if len(x.Parts) > 1 {
			b.free[i] = b.size[i]
		} else {
			b.free[i] += len(part.SlotIDs)
		}
		if before < enough && b.free[i] >= enough {
			more++
		}
	}
	return more
}

func (b *board) unrelease(x *sched.Running) {
	for _, part := range x.Parts {
		i := b.index[part.NodeID]
		if len(x.Parts) > 1 {
			b.free[i] = 0
		} else {
			b.free[i] -= len(part.SlotIDs)
		}
	}
}

// DeterminedFairShare returns Determined's fair_share scheduler. Each job is offered slots by max-min
// fairness: those that ask for least first, in rounds in which each of the others is offered an equal part of
// what is left, at least one slot. A request takes part if it fits the free slots. When all slots are
// offered, the youngest job that waits and was offered too little gets nothing, and its slots are
// offered again. Jobs that hold more than they were offered are preempted; the others start, if they
// fit.
func DeterminedFairShare() Planner {
	d := &determined{}
	return func(_ *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, _ time.Time) (r sched.Result) {
		d.note(queued)
		b := newBoard(nodes, running, true)
		capacity := 0
		for _, n := range b.size {
			capacity += n
		}
		var groups []*offer
		for i := range running {
			x := &running[i]
			slots := 0
			for _, part := range x.Parts {
				slots += len(part.SlotIDs)
			}
			groups = append(groups, &offer{id: x.ID, submitted: d.submitted[x.ID], slots: slots, leaving: x.Leaving, runs: true})
		}
		for _, q := range byArrival(queued) {
			if q.Slots <= capacity && b.dedicated(q.Slots) != nil {
				groups = append(groups, &offer{id: q.ID, submitted: q.QueuedAt, slots: q.Slots})
			}
		}
		makeOffers(groups, capacity)
		for _, g := range groups {
			if g.runs && g.offered < g.slots && !g.leaving {
				r.Preempt = append(r.Preempt, sched.Preemption{ID: g.id})
			}
			if !g.runs && g.offered == g.slots {
				if on := b.dedicated(g.slots); on != nil {
					r.Place = append(r.Place, sched.Placement{ID: g.id, Parts: b.give(g.slots, on)})
					b.close(on)
				}
			}
		}
		return r
	}
}

// An offer is what a job gets by Determined's fair_share.
type offer struct {
	id            string
	submitted     time.Time
	slots         int // that the job asks for
	offered       int
	runs, leaving bool
}

// makeOffers orders the groups by what they ask for, and divides the slots.
func makeOffers(groups []*offer, capacity int) {
	slices.SortFunc(groups, func(a, b *offer) int {
		return cmp.Or(cmp.Compare(a.slots, b.slots), a.submitted.Compare(b.submitted), cmp.Compare(a.id, b.id))
	})
	youngest := slices.SortedFunc(slices.Values(groups), func(a, b *offer) int {
		return cmp.Or(b.submitted.Compare(a.submitted), cmp.Compare(b.id, a.id))
	})
	wanting := slices.Clone(groups) // those that were offered too little, and were not turned away
	for len(wanting) > 0 {
		part := max(1, capacity/len(wanting))
		for _, g := range wanting {
			if capacity == 0 {
				break
			}
			n := min(part, capacity, g.slots-g.offered)
			g.offered += n
			capacity -= n
		}
		wanting = slices.DeleteFunc(wanting, func(g *offer) bool { return g.offered == g.slots })
		if capacity > 0 {
			continue
		}
		i := slices.IndexFunc(youngest, func(g *offer) bool { return !g.runs && g.offered < g.slots })
		if i < 0 {
			return
		}
		away := youngest[i]
		youngest = youngest[i+1:]
		capacity += away.offered
		away.offered = 0
		wanting = slices.DeleteFunc(wanting, func(g *offer) bool { return g == away })
	}
}
