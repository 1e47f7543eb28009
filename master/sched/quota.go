package sched

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Kind is what a quota bounds.
type Kind int

// The kinds, with the units of bounds.
const (
	Slots      Kind = iota
	Processors      // thousandths of processors
	Memory          // MiB
)

// A Quota bounds the slots, the processors or the memory that requests and running tasks hold together. They share a quota by its
// pointer, and the planner counts what they hold in the pool.
//
// No request starts over a hard bound. A request over a soft bound starts only on slots that all
// requests within their bounds leave idle, and tasks over a soft bound are preempted first for a
// request within its bounds.
type Quota struct {
	Of        string // whom it bounds, as sentences name it: "workspace research"
	Where     string // "pool gpu", "all pools"
	Raise     string // who can raise it, as the end of a sentence
	Kind      Kind
	Soft      *int // in units of the kind; nil: no bound
	Hard      *int
	Elsewhere Held   // in other pools, if the quota is for all pools
	Spent     string // why no request may start, if its slot-hours are used up: a sentence; "" if requests may
}

// Held is what tasks hold, in units of a kind, and how much of that belongs to tasks that were asked to leave.
type Held struct{ All, Leaving int }

// of is what a part of a task holds.
func (k Kind) of(slots int, uses Amount, on *Supply) int {
	switch {
	case k == Slots:
		return slots
	case k == Memory:
		return uses.MemoryMB
	case on == nil || on.MHz == 0:
		return 0
	}
	return int(math.Round(float64(uses.MHz) / float64(on.MHz) * float64(on.Cores) * 1000))
}

// Of is what parts of a task hold on these nodes.
func (k Kind) Of(parts []Part, supply func(node string) *Supply) (n int) {
	for _, part := range parts {
		n += k.of(len(part.SlotIDs), part.Uses, supply(part.NodeID))
	}
	return n
}

// number writes a number of a kind, and words also names the kind.
func (k Kind) number(n int) string {
	unit := map[Kind]float64{Slots: 1, Processors: 1000, Memory: 1024}[k]
	return strconv.FormatFloat(math.Ceil(float64(n)/unit*1000)/1000, 'f', -1, 64)
}

func (k Kind) words(n int) string {
	switch {
	case k == Memory:
		return k.number(n) + " GiB of memory"
	case k == Processors && n == 1000:
		return "1 processor"
	case k == Processors:
		return k.number(n) + " processors"
	}
	return slotsOf(n)
}

// bounds counts what is held under each quota, and in each group.
type bounds struct {
	held      map[*Quota]Held
	inGroup   map[string]int // slots, promises included
	sentences map[boundText]string
	lent      map[lentText]string
	late      []*Request // requests over a soft bound, which are considered last
	owing     []int      // running tasks under a soft bound, in the order in which they are preempted; made when first needed
	made      bool
}

// boundText is all that decides the sentence of a request that a hard bound keeps waiting.
type boundText struct {
	quota      *Quota
	need, held int
}

// lentText is the same for a soft bound, with the sentence that it completes.
type lentText struct {
	quota    *Quota
	held     int
	sentence string
}

// countBounds counts what running tasks hold.
func (inv *inventory) countBounds() bounds {
	b := bounds{held: map[*Quota]Held{}, inGroup: map[string]int{}}
	for i := range inv.running {
		r := &inv.running[i]
		b.inGroup[r.Group] += r.slots()
		for _, q := range r.Quotas {
			n, leaving := q.Kind.Of(r.Parts, inv.supplyOn), 0
			if r.Leaving {
				leaving = n
			}
			b.addHeld(q, n, leaving)
		}
	}
	return b
}

// supplyOn is what a node has; nil if that is not known.
func (inv *inventory) supplyOn(node string) *Supply {
	if i, there := inv.nodeIndex[node]; there {
		return inv.nodes[i].Supply
	}
	return nil
}

// needs is what a request holds under a quota: with these parts, or at least if they are not known yet.
func (p *planner) needs(r *Request, k Kind, parts []Part) int {
	switch {
	case k == Slots:
		return r.Slots
	case parts != nil:
		return k.Of(parts, p.supplyOn)
	case p.smallest == nil:
		return 0
	}
	nodes := 1
	if r.Slots > 0 {
		nodes = max(1, p.fewest(r).nodes)
	}
	return nodes * k.of(0, p.smallest.Of(r.Ask, r.Slots/nodes), p.smallest)
}

// overMax reports whether a request would bring its group over the slots that the group may hold.
func (b *bounds) overMax(r *Request) bool {
	return r.MaxSlots != nil && b.inGroup[r.Group]+r.Slots > *r.MaxSlots
}

func (b *bounds) addHeld(q *Quota, n, leaving int) {
	h := b.heldUnder(q)
	b.held[q] = Held{h.All + n, h.Leaving + leaving}
}

// hold counts what a request holds from now on.
func (p *planner) hold(r *Request, parts []Part) {
	for _, q := range r.Quotas {
		p.addHeld(q, p.needs(r, q.Kind, parts), 0)
	}
}

func (b *bounds) heldUnder(q *Quota) Held {
	if h, counted := b.held[q]; counted {
		return h
	}
	return q.Elsewhere
}

// stays is what is held under a quota by tasks that were not asked to leave.
func (b *bounds) stays(q *Quota) int {
	h := b.heldUnder(q)
	return h.All - h.Leaving
}

// overHard returns why a request may not start under its quotas; "" if it may. What tasks that are
// leaving hold still counts: the bound holds at every moment. Slots and slot-hours do not bound requests of 0 slots.
func (p *planner) overHard(r *Request, parts []Part) string {
	for _, q := range r.Quotas {
		if r.Slots <= 0 && q.Kind == Slots {
			continue
		}
		if q.Spent != "" {
			return q.Spent
		}
		if held, need := p.heldUnder(q).All, p.needs(r, q.Kind, parts); q.Hard != nil && held+need > *q.Hard {
			return p.whyHard(q, need, held)
		}
	}
	return ""
}

func (b *bounds) whyHard(q *Quota, need, held int) string {
	key := boundText{q, need, held}
	text := b.sentences[key]
	if text != "" {
		return text
	}
	text = fmt.Sprintf("needs %s; %s holds %s of the %s of its quota in %s, and %s", q.Kind.words(need), q.Of, q.Kind.number(held), q.Kind.words(*q.Hard), q.Where, q.Raise)
	if need > *q.Hard {
		text = fmt.Sprintf("needs %s, more than the %s of the quota of %s in %s; %s", q.Kind.words(need), q.Kind.words(*q.Hard), q.Of, q.Where, q.Raise)
	}
	if b.sentences == nil {
		b.sentences = map[boundText]string{}
	}
	b.sentences[key] = text
	return text
}

// overSoft finds a quota whose soft bound a request would exceed; nil if there is none.
func (p *planner) overSoft(r *Request, parts []Part) *Quota {
	for _, q := range r.Quotas {
		if q.Soft != nil && (r.Slots > 0 || q.Kind != Slots) && p.stays(q)+p.needs(r, q.Kind, parts) > *q.Soft {
			return q
		}
	}
	return nil
}

// bounded sets a request aside that a quota keeps from starting now, with these parts or with any. A late one is over a soft bound.
func (p *planner) bounded(r *Request, parts []Part, late bool) bool {
	if r.Slots > 0 && p.overMax(r) {
		p.wait(r, p.whyQuota(r))
		return true
	}
	if why := p.overHard(r, parts); why != "" {
		p.wait(r, why)
		return true
	}
	if late || p.overSoft(r, parts) == nil {
		return false
	}
	p.late = append(p.late, r)
	return true
}

// whySoft explains a request over a soft bound for which others leave no slots.
func (p *planner) whySoft(r *Request, sentence string) string {
	q := p.overSoft(r, nil)
	if q == nil { // a task under it was asked to leave meanwhile
		return sentence
	}
	key := lentText{q, p.stays(q), sentence}
	text := p.lent[key]
	if text == "" {
		text = fmt.Sprintf("%s; %s holds %s in %s, and over its soft quota of %s it gets only slots that others leave idle", sentence, q.Of, q.Kind.words(key.held), q.Where, q.Kind.number(*q.Soft))
		if p.lent == nil {
			p.lent = map[lentText]string{}
		}
		p.lent[key] = text
	}
	return text
}

// demand is how many slots of a request its quotas have room for, after what runs and what earlier
// requests have claimed: slots that a quota withholds, or only lends, are not demanded.
func (b *bounds) demand(r *Request, claimed map[*Quota]int) int {
	n := r.Slots
	for _, q := range r.Quotas {
		if q.Spent != "" || q.Kind == Slots && q.Hard != nil && r.Slots > *q.Hard {
			return 0
		}
		if most := q.most(); most != nil && q.Kind == Slots {
			n = min(n, max(0, *most-b.heldUnder(q).All-claimed[q]))
		}
	}
	for _, q := range r.Quotas {
		claimed[q] += n
	}
	return n
}

// most is the lower one of its bounds; nil if it has none.
func (q *Quota) most() *int { return cmp.Or(q.Soft, q.Hard) }

// considerLate considers the requests over a soft bound, for slots that all others leave idle. No
// slots are promised to them, none of them becomes the head, and nobody leaves for them.
func (p *planner) considerLate() {
	if len(p.late) == 0 {
		return
	}
	clear(p.looked) // so that those who were not looked at before do not keep these from it
	p.policy.again(p.late)
	for r := p.policy.next(); r != nil; r = p.policy.next() {
		p.policy.considered(p.borrow(r))
	}
}

// borrow considers one of them. What started since it was set aside counts for the bounds of its group and its quotas.
func (p *planner) borrow(r *Request) outcome {
	if p.looked[r.User] > maxLooks {
		p.wait(r, whyUnlooked)
		return aside
	}
	defer p.worked(r.User, p.looks)
	if r.Slots <= 0 {
		p.considerAux(r, true)
		return aside
	}
	if p.bounded(r, nil, true) {
		return aside
	}
	if o := p.placeNow(r, true); o != waits {
		return o
	}
	p.result.Full[r.ID] = true
	p.wait(r, p.whySoft(r, p.policy.why(r, p.whyNow(r))))
	return waits
}

// reclaim asks tasks over a soft bound to leave for a request within its bounds: those that lose least work first,
// and only while they are over it. It returns the slots that the request has when they have left.
func (p *planner) reclaim(r *Request, now time.Time) []hold {
	owing := p.owers(now)
	return p.dismiss(r, owing, p.owes, fmt.Sprintf("preempted for %s: it was over a soft quota, and others need the slots", nameOf(r.Group, r.ID)))
}

// owers lists the running tasks under soft bounds that may be preempted, those that lose least work first.
func (p *planner) owers(now time.Time) []int {
	if p.made {
		return p.owing
	}
	p.made = true
	for i := range p.running {
		r := &p.running[i]
		soft := slices.ContainsFunc(r.Quotas, func(q *Quota) bool { return q.Soft != nil })
		if soft && p.mayLeave(i) && now.Sub(r.StartedAt) >= p.pool.Scheduler.MinRunTime {
			p.owing = append(p.owing, i)
		}
	}
	slices.SortFunc(p.owing, p.leastLostFirst)
	return p.owing
}

// owes reports whether a running task is under a quota over its soft bound.
func (p *planner) owes(i int) bool {
	return slices.ContainsFunc(p.running[i].Quotas, func(q *Quota) bool { return q.Soft != nil && p.stays(q) > *q.Soft })
}
