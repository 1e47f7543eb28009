package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// Slots on loan: requests behind the head that will have ended in time may also start on slots that the head could use.
//
// How long a request runs at most is Longest. When a running task ends at the earliest is Earliest; a task about which nothing is
// known may end at any time. From this follows for each node until when its slots can be lent. The head cannot use a block
// before so many of its tasks have ended that a part of the head has room, which is not before a certain time, even if each task ends as early
// as it can. And the head cannot start anywhere before it has room on all of its blocks, if all tasks end as early as they can. The
// later one of the two times is the end of a loan: at each moment at which the head could use the block, the borrower has gone.
// So if no task ends before its Earliest, and borrowers end within their Longest, the head starts no later than without them.
//
// If an expectation was wrong, a borrower is in the head's way. Then it is preempted first, under every policy and also in a pool
// without preemption (recall): it runs on slots that were the head's. A borrower that cannot be preempted has a limit of its time,
// at which it is killed.

// lending is until when slots can be lent. It is made when the first request asks, and holds for the plan: a loan ends before it matters.
type lending struct {
	until []time.Time // of each node
	most  time.Time   // the latest of them
	count int         // loans that the plan has given
}

// maxLoans is how many loans a plan gives: each changes the reasons why others wait. The next plan gives more.
const maxLoans = 250

// ever is a time that no loan reaches.
const ever = 100 * 365 * 24 * time.Hour

// maxFirmLoan bounds the loans of borrowers that cannot be preempted: what runs may end earlier than it was expected to, and then the head waits
// for such a borrower.
const maxFirmLoan = time.Hour

// lend finds slots for a request behind the head that it returns in time.
func (p *planner) lend(r *Request) []hold {
	if p.head == nil || r.Longest <= 0 || !r.Preemptible && r.Longest > maxFirmLoan {
		return nil
	}
	if p.loans == nil {
		p.loans = p.findLoans()
	}
	by := p.now.Add(r.Longest)
	if by.After(p.loans.most) || p.loans.count == maxLoans {
		return nil
	}
	about := p.about(r)
	if len(r.Exclude) == 0 && about.unlent > 0 && about.unlentAt == p.lends.rises && (r.Longest >= about.unlent || by.After(about.unlentBy)) {
		return nil
	}
	asks := *r
	asks.by = by
	picks := p.find(p.lends, &asks)
	if picks != nil {
		p.loans.count++
	} else if len(r.Exclude) == 0 {
		about.unlent, about.unlentAt, about.unlentBy = r.Longest, p.lends.rises, p.longestLoan(r)
	}
	return picks
}

// longestLoan is a time by which no block lends a part of a request any more.
func (p *planner) longestLoan(r *Request) (most time.Time) {
	least := r.Slots
	for _, w := range p.ways(r, p.fewest(r)) {
		if part := r.Slots / w.nodes; !w.uneven {
			least = min(least, part)
		} else {
			least = min(least, p.smallestPart(r, w.nodes))
		}
	}
	for n := least; n <= p.lends.max; n++ {
		p.looks += len(p.lends.rows[n])
		for _, i := range p.lends.rows[n] {
			most = latest(most, p.loans.until[p.blocks[i].node])
		}
	}
	return most
}

// mayLend reports whether slots of a node can be lent to a request.
func (inv *inventory) mayLend(r *Request, node int) bool {
	return r.by.IsZero() || !r.by.After(inv.loans.until[node])
}

// lendable is how many slots of a block can be lent: the free ones that are not promised.
func (b *block) lendable() int { return len(b.free) - max(0, b.promised-b.leaving) }

// A stay is a number of slots that a task holds at least until a time.
type stay struct {
	n     int
	until time.Time
}

func (p *planner) findLoans() *lending {
	p.lends = newShelf(p.blocks, (*block).lendable)
	stays := p.heldUntil()
	l := &lending{until: make([]time.Time, len(p.nodes)), most: p.now}
	head := p.headEarliest(stays)
	for node := range p.nodes {
		usable, least := false, p.now.Add(ever)
		for i := p.blocksOf[node].from; i < p.blocksOf[node].to; i++ {
			if part := p.leastOfHead(i); part > 0 {
				usable = true
				least = earlier(least, p.blockEarliest(i, part, stays[i]))
			}
		}
		l.until[node] = least
		if usable {
			l.until[node] = latest(least, head)
		}
		l.most = latest(l.most, l.until[node])
	}
	return l
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// heldUntil lists for each block the tasks that hold slots of it certainly for some time, the first to end first.
func (p *planner) heldUntil() [][]stay {
	list := make([][]stay, len(p.blocks))
	for i := range p.running {
		if at := p.running[i].Earliest; !p.leaving[i] && at.After(p.now) {
			for _, h := range p.holds[i] {
				list[h.block] = append(list[h.block], stay{h.n, at})
			}
		}
	}
	for _, of := range list {
		slices.SortFunc(of, func(a, b stay) int { return a.until.Compare(b.until) })
	}
	return list
}

// leastOfHead is the smallest part of the head that a block could hold; 0: none.
func (p *planner) leastOfHead(i int) (least int) {
	size := len(p.blocks[i].slots)
	if p.excluded(p.head, i) {
		return 0
	}
	for _, c := range p.headCuts {
		if c.part <= size && (!c.filled || c.part == size) && (least == 0 || c.part < least) {
			least = c.part
		}
	}
	return least
}

// blockEarliest is the time before which a block has no room for a part.
func (p *planner) blockEarliest(i, part int, stays []stay) time.Time {
	held, at := 0, p.now
	for _, s := range stays {
		held += s.n
	}
	for _, s := range stays {
		if len(p.blocks[i].slots)-held >= part {
			break
		}
		held, at = held-s.n, s.until
	}
	return at
}

// headEarliest is the time before which the head has no room, although all tasks end as early as they can.
func (p *planner) headEarliest(stays [][]stay) time.Time {
	times := []time.Time{p.now}
	for _, of := range stays {
		for _, s := range of {
			times = append(times, s.until)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	room := func(at time.Time) bool {
		i := -1
		p.early = newShelf(p.blocks, func(b *block) int {
			i++
			n := len(b.slots)
			for _, s := range stays[i] {
				if s.until.After(at) {
					n -= s.n
				}
			}
			return n
		})
		return p.fits(p.early, p.head)
	}
	first, _ := slices.BinarySearchFunc(times, true, func(at time.Time, _ bool) int {
		if room(at) {
			return 1
		}
		return -1
	})
	return times[min(first, len(times)-1)]
}

// recall asks borrowers to leave for a request whose way they are in, and returns the slots that it has when they have left: those whose
// loan has ended, and those that started while the request waited already. Those that lose least work leave first.
func (p *planner) recall(r *Request) []hold {
	if p.borrowers == nil {
		p.borrowers = []int{}
		for i := range p.running {
			if !p.running[i].LentUntil.IsZero() && p.mayLeave(i) {
				p.borrowers = append(p.borrowers, i)
			}
		}
		slices.SortFunc(p.borrowers, p.leastLostFirst)
	}
	byPriority := p.pool.Scheduler.Type != pool.FairShare && p.pool.Scheduler.Type != pool.RoundRobin // the other policies know no priorities
	inTheWay := func(i int) bool {
		x := &p.running[i]
		return (!byPriority || x.Priority >= r.Priority) && (!p.now.Before(x.LentUntil) || r.QueuedAt.Before(x.StartedAt))
	}
	return p.dismiss(r, p.borrowers, inTheWay,
		fmt.Sprintf("preempted for %s: it started early on slots that %s waits for", nameOf(r.Group, r.ID), nameOf(r.Group, r.ID)))
}

// dismiss asks tasks to leave for a request in this order, as long as each may still be asked, and tells the policy.
func (p *planner) dismiss(r *Request, tasks []int, still func(i int) bool, reason string) []hold {
	if len(tasks) == 0 {
		return nil
	}
	var asked []int
	at := 0
	picks := p.makeWay(r, victims{
		next: func() int {
			for ; at < len(tasks); at++ {
				if i := tasks[at]; p.mayLeave(i) && still(i) {
					at++
					asked = append(asked, i)
					return i
				}
			}
			return -1
		},
		spare:  func(int) {},
		gains:  func(picks []hold) bool { return !p.withheld(r, picks) },
		reason: reason,
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
