package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/each"
)

// rankCandidates orders the tasks that may be asked to leave by their priority: the least
// important first, of those the ones that lose least work.
func (p *planner) rankCandidates() []int {
	if !p.pool.Preemption {
		return nil
	}
	var candidates []int
	for i := range p.running {
		if p.mayLeave(i) {
			candidates = append(candidates, i)
		}
	}
	slices.SortFunc(candidates, func(i, j int) int {
		a, b := &p.running[i], &p.running[j]
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), p.leastLostFirst(i, j))
	})
	return candidates
}

// mayLeave reports whether a running task can be asked to leave, and holds slots that somebody
// else could use.
func (inv *inventory) mayLeave(i int) bool {
	return inv.running[i].Preemptible && !inv.leaving[i] && len(inv.holds[i]) > 0
}

// leastLostFirst orders tasks that the policy does not distinguish by the work that each would do again for each of its slots, and then the
// youngest first. If nothing is known of saves, the youngest lose least.
func (inv *inventory) leastLostFirst(i, j int) int {
	a, b := &inv.running[i], &inv.running[j]
	return cmp.Or(b.lostFrom().Compare(a.lostFrom()), b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
}

// lostFrom is since when the work of a task would be lost.
func (r *Running) lostFrom() time.Time {
	if r.Saved.After(r.StartedAt) {
		return r.Saved
	}
	return r.StartedAt
}

// makeWay asks tasks of lower priority to leave.
func (q *byPriority) makeWay(r *Request) []hold {
	at := 0
	picks := q.p.makeWay(r, victims{
		next: func() int {
			if at == len(q.candidates) || q.p.running[q.candidates[at]].Priority <= r.Priority {
				return -1
			}
			at++
			return q.candidates[at-1]
		},
		spare:  func(int) {},
		gains:  func(picks []hold) bool { return !q.p.withheld(r, picks) },
		reason: fmt.Sprintf("preempted for %s (priority %d)", nameOf(r.Group, r.ID), r.Priority),
	})
	if picks != nil {
		q.candidates = slices.DeleteFunc(q.candidates, func(i int) bool { return q.p.leaving[i] })
	}
	return picks
}

func (q *byPriority) left(int) {
	q.candidates = slices.DeleteFunc(q.candidates, func(i int) bool { return q.p.leaving[i] })
}

// victims are running tasks that may be asked to leave for a request, by their index.
type victims struct {
	next   func() int              // the next of them, first the one that should leave first; -1 if there is no more
	spare  func(i int)             // a task that next returned stays
	gains  func(picks []hold) bool // reports whether it is right that those leave that were not spared, for these slots
	reason string
}

// makeWay preempts tasks for r, and returns the slots that r gets when they have left. If all victims together do not
// free enough slots, it preempts none and returns nil.
//
// It first adds victims in their order until the request fits, so that tasks late in the order stay. Then it spares
// each victim without whom the request still fits, the later ones first, so that no task leaves for nothing.
func (p *planner) makeWay(r *Request, from victims) []hold {
	chosen, fits := p.enough(r, from)
	needed := chosen
	var picks []hold
	if fits {
		picks, needed = p.letOff(r, chosen, from.spare)
	}
	if picks == nil || !from.gains(picks) {
		for _, i := range needed {
			p.setLeaving(i, false)
			from.spare(i)
		}
		return nil
	}
	for _, i := range needed {
		p.result.Preempt = append(p.result.Preempt, Preemption{ID: p.running[i].ID, For: r.ID, Reason: from.reason})
	}
	return picks
}

// withheld reports whether a quota keeps a request from slots that are found for it, or lends them only if others leave them idle: what they hold of
// processors and memory depends on their nodes. Whoever left for such a request would get the slots back, and be asked again.
func (p *planner) withheld(r *Request, picks []hold) bool {
	parts := each.Of(picks, func(h hold) Part { return p.partOn(r, p.blocks[h.block].node, h.n) })
	return p.overHard(r, parts) != "" || p.overSoft(r, parts) != nil
}

// enough makes the first victims leave without whom the request does not fit, and no more; all, if it does not fit then either.
// More room never takes a place away, so it looks for room after one, two, four … of them, and then bisects: a pool may have
// thousands of victims, and a look costs as much as the pool has nodes.
func (p *planner) enough(r *Request, from victims) (chosen []int, fits bool) {
	few := 0 // so many are too few
	for ; !fits; fits = p.fits(p.laters, r) {
		few = len(chosen)
		for range max(1, few) {
			i := from.next()
			if i < 0 {
				break
			}
			p.setLeaving(i, true)
			chosen = append(chosen, i)
		}
		if len(chosen) == few {
			return chosen, false
		}
	}
	at, many := len(chosen), len(chosen) // of chosen, at leave, and many are enough
	for many-few > 1 {
		middle := (few + many) / 2
		p.setLeavingAll(chosen[min(at, middle):max(at, middle)], middle > at)
		if at = middle; p.fits(p.laters, r) {
			many = middle
		} else {
			few = middle
		}
	}
	p.setLeavingAll(chosen[at:many], true)
	for _, i := range slices.Backward(chosen[many:]) {
		from.spare(i)
	}
	return chosen[:many], true
}

// maxLetOff is how many blocks a plan looks at to let off exactly those that a request fits without. After that it
// finds the request's slots once, and lets off who holds none of them that are needed.
const maxLetOff = 300_000

// letOff lets those stay that the request fits without, and returns its slots and those who leave. It does not fit without the last one.
func (p *planner) letOff(r *Request, chosen []int, spare func(int)) (picks []hold, needed []int) {
	last := len(chosen) - 1
	w := waiver{p: p, r: r, spare: spare, needed: []int{chosen[last]}}
	undecided := w.exactly(chosen[:last])
	picks = p.find(p.laters, r)
	if len(undecided) > 0 {
		w.besides(picks, undecided)
	}
	return picks, w.needed
}

// A waiver lets victims of a request off.
type waiver struct {
	p      *planner
	r      *Request
	spare  func(int)
	needed []int
}

// exactly decides which victims leave, beginning with the last one, and returns those about which it has not decided.
// If the request fits without all of them, one look decides about all.
func (w *waiver) exactly(some []int) (undecided []int) {
	if len(some) == 0 {
		return nil
	}
	began := w.p.looks
	if w.p.letOffLooks >= maxLetOff {
		return some
	}
	w.p.setLeavingAll(some, false)
	fits := w.p.fits(w.p.laters, w.r)
	w.p.letOffLooks += w.p.looks - began
	if fits {
		for _, i := range slices.Backward(some) {
			w.spare(i)
		}
		return nil
	}
	w.p.setLeavingAll(some, true)
	if len(some) == 1 {
		w.needed = append(w.needed, some[0])
		return nil
	}
	half := len(some) / 2
	if undecided = w.exactly(some[half:]); len(undecided) > 0 {
		return some[:half+len(undecided)]
	}
	return w.exactly(some[:half])
}

// besides lets victims off who hold nothing that the request needs on its blocks.
func (w *waiver) besides(picks []hold, some []int) {
	missing := func(h hold) bool {
		b := &w.p.blocks[h.block]
		return b.later() < h.n || !w.p.has(w.p.laters, w.r, h.block, h.n)
	}
	for _, i := range slices.Backward(some) {
		w.p.setLeaving(i, false)
		if slices.ContainsFunc(picks, missing) {
			w.p.setLeaving(i, true)
			w.needed = append(w.needed, i)
			continue
		}
		w.spare(i)
	}
}

func (p *planner) setLeavingAll(some []int, leaving bool) {
	for _, i := range some {
		p.setLeaving(i, leaving)
	}
}

// setLeaving counts the slots of a running task among those that become free, or takes them back.
func (p *planner) setLeaving(i int, leaving bool) {
	times := 1
	if p.leaving[i] = leaving; !leaving {
		times = -1
	}
	for _, q := range p.running[i].Quotas {
		p.addHeld(q, 0, times*q.Kind.Of(p.running[i].Parts, p.supplyOn))
	}
	p.leaveRoom(i, times)
	p.vacated(i, times)
	for _, h := range p.holds[i] {
		p.blocks[h.block].leaving += times * h.n
		p.changed(h.block)
	}
}
