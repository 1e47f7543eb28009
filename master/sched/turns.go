package sched

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// roundRobin lets users take turns. In each turn a user's most important request starts; if
// there is no room for it, it becomes the head. First is the user to whom nothing was given
// for the longest time. Nothing is preempted.
type roundRobin struct {
	p      *planner
	owners []*turns        // in their order
	at     int             // whose turn it is
	had    map[string]bool // users to whom this plan has given slots
}

// turns are the requests of a user.
type turns struct {
	user  string
	last  time.Time // when an attempt of the user was last given slots
	queue []*Request
}

func newRoundRobin(p *planner, queued []*Request) *roundRobin {
	q := &roundRobin{p: p, had: map[string]bool{}}
	q.fill(queued)
	return q
}

// fill arranges the turns for requests in the order of their importance.
func (q *roundRobin) fill(queued []*Request) {
	p := q.p
	q.owners, q.at = nil, 0
	byUser := map[string]*turns{}
	for _, r := range queued { // by importance
		o := byUser[r.User]
		if o == nil {
			o = &turns{user: r.User}
			byUser[r.User] = o
			q.owners = append(q.owners, o)
		}
		o.queue = append(o.queue, r)
		o.last = latest(o.last, r.Served.Turn)
	}
	for i := range p.running {
		if o := byUser[p.running[i].User]; o != nil && p.running[i].slots() > 0 {
			o.last = latest(o.last, p.running[i].StartedAt)
		}
	}
	slices.SortFunc(q.owners, func(a, b *turns) int {
		return cmp.Or(q.turn(a)-q.turn(b), a.last.Compare(b.last), byImportance(a.queue[0], b.queue[0]))
	})
}

// turn is 1 for users to whom this plan has given slots, and else 0.
func (q *roundRobin) turn(of *turns) int {
	if q.had[of.user] {
		return 1
	}
	return 0
}

func (q *roundRobin) again(late []*Request) {
	slices.SortFunc(late, byImportance)
	q.fill(late)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (q *roundRobin) next() *Request {
	if len(q.owners) == 0 {
		return nil
	}
	return q.owners[q.at].queue[0]
}

func (q *roundRobin) considered(o outcome) {
	owner := q.owners[q.at]
	owner.queue = owner.queue[1:]
	if o == served {
		q.had[owner.user] = true
	}
	switch {
	case len(owner.queue) == 0:
		q.owners = slices.Delete(q.owners, q.at, q.at+1)
	case o != aside: // a request that does not compete takes no turn
		q.at++
	}
	if q.at >= len(q.owners) {
		q.at = 0
	}
}

func (q *roundRobin) makeWay(*Request) []hold { return nil }

func (q *roundRobin) left(int) {}

func (q *roundRobin) behind(ahead *Request) string {
	return fmt.Sprintf("waits behind %s: it is the turn of user %s", nameOf(ahead.Group, ahead.ID), ahead.User)
}

func (q *roundRobin) why(_ *Request, sentence string) string { return sentence }
