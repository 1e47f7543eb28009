package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Quota bounds the slots that requests and running tasks hold together. They share a quota by its
// pointer, and the planner counts what they hold in the pool.
//
// No request starts over a hard bound. A request over a soft bound starts only on slots that all
// requests within their bounds leave idle, and tasks over a soft bound are preempted first for a
// request within its bounds.
type Quota struct {
	Of        string // whom it bounds, as sentences name it: "workspace research"
	Where     string // "pool gpu", "all pools"
	Raise     string // who can raise it, as the end of a sentence
	Soft      *int   // slots; nil: no bound
	Hard      *int
	Elsewhere Held   // in other pools, if the quota is for all pools
	Spent     string // why no request may start, if its slot-hours are used up: a sentence; "" if requests may
}

// Held is what tasks hold: all slots, and how many of these belong to tasks that were asked to leave.
type Held struct{ Slots, Leaving int }

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
	quota       *Quota
	slots, held int
}

// lentText is the same for a soft bound, with the sentence that it completes.
type lentText struct {
	quota    *Quota
	held     int
	sentence string
}

// countBounds counts what running tasks hold.
func countBounds(running []Running) bounds {
	b := bounds{held: map[*Quota]Held{}, inGroup: map[string]int{}}
	for i := range running {
		r := &running[i]
		b.inGroup[r.Group] += r.slots()
		leaving := 0
		if r.Leaving {
			leaving = r.slots()
		}
		b.addHeld(r.Quotas, r.slots(), leaving)
	}
	return b
}

// overMax reports whether a request would bring its group over the slots that the group may hold.
func (b *bounds) overMax(r *Request) bool {
	return r.MaxSlots != nil && b.inGroup[r.Group]+r.Slots > *r.MaxSlots
}

func (b *bounds) addHeld(under []*Quota, slots, leaving int) {
	for _, q := range under {
		h := b.heldUnder(q)
		b.held[q] = Held{h.Slots + slots, h.Leaving + leaving}
	}
}

func (b *bounds) heldUnder(q *Quota) Held {
	h, counted := b.held[q]
	if !counted {
		return q.Elsewhere
	}
	return h
}

// stays is how many slots are held under a quota by tasks that were not asked to leave.
func (b *bounds) stays(q *Quota) int {
	h := b.heldUnder(q)
	return h.Slots - h.Leaving
}

// overHard returns why a request may not start under its quotas; "" if it may. Slots of tasks that are
// leaving still count: the bound holds at every moment.
func (b *bounds) overHard(r *Request) string {
	for _, q := range r.Quotas {
		if q.Spent != "" {
			return q.Spent
		}
		if held := b.heldUnder(q).Slots; q.Hard != nil && held+r.Slots > *q.Hard {
			return b.whyHard(q, r.Slots, held)
		}
	}
	return ""
}

func (b *bounds) whyHard(q *Quota, slots, held int) string {
	key := boundText{q, slots, held}
	text := b.sentences[key]
	if text != "" {
		return text
	}
	text = fmt.Sprintf("needs %s; %s holds %d of the %s of its quota in %s, and %s", slotsOf(slots), q.Of, held, slotsOf(*q.Hard), q.Where, q.Raise)
	if slots > *q.Hard {
		text = fmt.Sprintf("needs %s, more than the %s of the quota of %s in %s; %s", slotsOf(slots), slotsOf(*q.Hard), q.Of, q.Where, q.Raise)
	}
	if b.sentences == nil {
		b.sentences = map[boundText]string{}
	}
	b.sentences[key] = text
	return text
}

// overSoft finds a quota whose soft bound a request would exceed; nil if there is none.
func (b *bounds) overSoft(r *Request) *Quota {
	for _, q := range r.Quotas {
		if q.Soft != nil && b.stays(q)+r.Slots > *q.Soft {
			return q
		}
	}
	return nil
}

// whySoft explains a request over a soft bound for which others leave no slots.
func (b *bounds) whySoft(r *Request, sentence string) string {
	q := b.overSoft(r)
	if q == nil { // a task under it was asked to leave meanwhile
		return sentence
	}
	key := lentText{q, b.stays(q), sentence}
	text := b.lent[key]
	if text == "" {
		text = fmt.Sprintf("%s; %s holds %s in %s, and over its soft quota of %d it gets only slots that others leave idle", sentence, q.Of, slotsOf(key.held), q.Where, *q.Soft)
		if b.lent == nil {
			b.lent = map[lentText]string{}
		}
		b.lent[key] = text
	}
	return text
}

// demand is how many slots of a request its quotas have room for, after what runs and what earlier
// requests have claimed: slots that a quota withholds, or only lends, are not demanded.
func (b *bounds) demand(r *Request, claimed map[*Quota]int) int {
	n := r.Slots
	for _, q := range r.Quotas {
		if q.Spent != "" || q.Hard != nil && r.Slots > *q.Hard {
			return 0
		}
		if most := q.most(); most != nil {
			n = min(n, max(0, *most-b.heldUnder(q).Slots-claimed[q]))
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
	if p.overMax(r) {
		p.wait(r, p.whyQuota(r))
		return aside
	}
	if why := p.overHard(r); why != "" {
		p.wait(r, why)
		return aside
	}
	if picks := p.room(r); picks != nil {
		p.place(r, picks)
		return served
	}
	p.result.Full[r.ID] = true
	p.wait(r, p.whySoft(r, p.policy.why(r, p.whyNow(r))))
	return waits
}

// reclaim asks tasks over a soft bound to leave for a request within its bounds: the youngest first,
// and only while they are over it. It returns the slots that the request has when they have left.
func (p *planner) reclaim(r *Request, now time.Time) []hold {
	owing := p.owers(now)
	if len(owing) == 0 {
		return nil
	}
	var asked []int
	at := 0
	picks := p.makeWay(r, victims{
		next: func() int {
			for ; at < len(owing); at++ {
				if i := owing[at]; p.mayLeave(i) && p.owes(i) {
					at++
					asked = append(asked, i)
					return i
				}
			}
			return -1
		},
		spare:  func(int) {},
		gains:  func() bool { return true },
		reason: fmt.Sprintf("preempted for %s: it was over a soft quota, and others need the slots", nameOf(r.Group, r.ID)),
	})
	if picks == nil {
		return nil
	}
	for _, i := range asked {
		if p.leaving[i] {
			p.policy.left(i)
		}
	}
	return picks
}

// owers lists the running tasks under soft bounds that may be preempted, the youngest first.
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
	slices.SortFunc(p.owing, p.youngerFirst)
	return p.owing
}

// owes reports whether a running task is under a quota over its soft bound.
func (p *planner) owes(i int) bool {
	return slices.ContainsFunc(p.running[i].Quotas, func(q *Quota) bool { return q.Soft != nil && p.stays(q) > *q.Soft })
}
