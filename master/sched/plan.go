package sched

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
)

// Plan says which of the queued requests start and where, which running tasks
// are asked to end (preempted), and why the other requests wait. The same input gives
// the same answer, in any order of its lists.
func Plan(of *pool.Pool, nodes []Node, running []Running, queued []Request, now time.Time) Result {
	return plan(of, nodes, running, queued, nil, now)
}

// plan is Plan in a pool whose coming reservations are on these spots.
func plan(of *pool.Pool, nodes []Node, running []Running, queued []Request, spots []*spot, now time.Time) Result {
	p := newPlanner(of, nodes, running, len(queued))
	p.now = now
	if of.SingleNode || of.Scheduler.EqualParts || spots != nil {
		queued = slices.Clone(queued)
		for i := range queued {
			queued[i].keepTo(of)
		}
		p.foresee(queued, spots)
	}
	p.policy = p.policyOf(inOrder(queued), now)
	for r := p.policy.next(); r != nil; r = p.policy.next() {
		p.policy.considered(p.consider(r, now))
	}
	p.considerLate()
	return p.result
}

// keepTo adds what a pool demands of all its requests.
func (r *Request) keepTo(of *pool.Pool) {
	r.SingleNode = r.SingleNode || of.SingleNode
	r.EqualParts = r.EqualParts || of.Scheduler.EqualParts
}

// A planner is one run of Plan: it considers one request after the other, and changes the inventory with each decision.
// What it knows lies in layers, each of which uses those below it: inventory (what there is), preferences (which nodes a
// request may use and prefers), fit (where it has room) and explainer (why it waits); bounds counts beside them.
type planner struct {
	*explainer
	bounds
	result      Result
	head        *Request       // the first request that not even preemption finds room for
	headCuts    []cut          // how the head could be placed
	auxHead     *Request       // the first request of 0 slots that finds no processors or memory
	letOffLooks int            // what of the plan's work went into letting off victims one by one
	looked      map[string]int // the plan's work by user
	borrowers   []int          // running tasks with slots on loan, in the order in which they are preempted; made when first needed
}

// maxLooks is how often the requests of one user may look at blocks in a plan. Thousands of requests that are alike need a small
// part of it; requests that all differ wait until others of them have gone, so that they cannot slow down everybody's. Requests over
// a soft quota, which are considered last, have as much again.
const maxLooks = 2_000_000

// worked counts what was looked at since began for a user.
func (p *planner) worked(user string, began int) { p.looked[user] += p.looks - began }

func newPlanner(of *pool.Pool, nodes []Node, running []Running, queued int) *planner {
	there := newInventory(of, nodes, running)
	p := &planner{
		explainer: &explainer{fit: newFit(newPreferences(there))},
		bounds:    there.countBounds(),
		result:    Result{Waiting: make(map[string]string, queued), Full: map[string]bool{}, promised: map[string]bool{}},
		looked:    map[string]int{},
	}
	p.shrink()
	return p
}

// consider places one request or says why it waits.
func (p *planner) consider(r *Request, now time.Time) outcome {
	if now.Before(r.NotBefore) {
		p.wait(r, p.whyPaused(r))
		return aside
	}
	if p.looked[r.User] > maxLooks {
		p.wait(r, whyUnlooked)
		return aside
	}
	defer p.worked(r.User, p.looks)
	if r = p.avoid(r); r.Slots <= 0 {
		p.considerAux(r, false)
		return aside
	}
	if p.fewest(r).nodes == 0 {
		p.wait(r, p.whyNever(r))
		return aside
	}
	if p.bounded(r, nil, false) {
		return aside
	}
	if o := p.placeNow(r, false); o != waits {
		return o
	}
	if p.head != nil {
		p.waitForSlots(r)
		return waits
	}
	picks := p.find(p.laters, r)
	if picks == nil {
		picks = p.recall(r)
	}
	if picks == nil {
		picks = p.reclaim(r, now)
	}
	if picks == nil {
		picks = p.policy.makeWay(r)
	}
	result := served
	if picks != nil {
		p.promise(r, picks)
	} else {
		p.waitForSlots(r)
		p.protect(r)
		result = waits
	}
	if p.ahead == nil {
		p.ahead = r
	}
	return result
}

func (p *planner) wait(r *Request, why string) { p.result.Waiting[r.ID] = why }

// waitForSlots lets a request wait for slots that others hold.
func (p *planner) waitForSlots(r *Request) {
	p.result.Full[r.ID] = true
	p.wait(r, p.policy.why(r, p.whyNow(r)))
}

// placeNow places a request for which there is room now, within its quotas.
func (p *planner) placeNow(r *Request, late bool) outcome {
	picks, until := p.room(r), time.Time{}
	if picks == nil && !late {
		picks, until = p.lend(r), p.now.Add(r.Longest)
	}
	if picks == nil {
		return waits
	}
	parts := each.Of(picks, func(h hold) Part { return p.partOn(r, p.blocks[h.block].node, h.n) })
	if p.bounded(r, parts, late) {
		return aside
	}
	for i, h := range picks {
		b := &p.blocks[h.block]
		parts[i].SlotIDs = b.take(h.n)
		p.rooms[b.node].give(parts[i].Uses, h.n, false)
		if p.head != nil {
			b.spare, b.tight = p.spareOf(h.block)
		}
		p.given(r, h)
		p.changed(h.block)
	}
	p.inGroup[r.Group] += r.Slots
	p.start(r, Placement{ID: r.ID, Parts: parts, LentUntil: until})
	return served
}

// start notes a placement, also where it decides about the next ones of its group.
func (p *planner) start(r *Request, to Placement) {
	p.note(r, to)
	p.hold(r, to.Parts)
	p.result.Place = append(p.result.Place, to)
}

// promise keeps slots for a request until those who hold them have left.
func (p *planner) promise(r *Request, picks []hold) {
	p.wait(r, p.whyPromised(r, picks))
	p.result.promised[r.ID] = true
	parts := each.Of(picks, func(h hold) Part { return p.partOn(r, p.blocks[h.block].node, h.n) })
	for i, h := range picks {
		b := &p.blocks[h.block]
		b.promised += h.n
		b.tasks = append(b.tasks, h.n)
		p.given(r, h)
		p.rooms[b.node].give(parts[i].Uses, h.n, true)
		p.changed(h.block)
	}
	p.inGroup[r.Group] += r.Slots
	p.hold(r, parts)
}

// nameOf is how a sentence names what a task belongs to.
func nameOf(group, id string) string {
	if group == "" {
		group = id
	} else if uuid.Validate(group) != nil { // experiment 12
		return group
	}
	return "task " + group
}
