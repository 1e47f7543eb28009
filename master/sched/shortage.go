package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// A Class is a kind of node that can be added to a pool.
type Class struct {
	Name string
	Node Node // one of them, without tasks; choices rate the added nodes by its ID
	Max  int  // how many can be added; 0: maxAdded
}

// maxAdded bounds how many nodes of a class a shortage asks for.
const maxAdded = 1_000

// A Shortage is what a pool lacks.
type Shortage struct {
	Classes []ClassShortage // of each class, in the order of the classes
	Uses    map[string]bool // the nodes that waiting requests will use as soon as those nodes are added, and before
}

// A ClassShortage is how many nodes of a class must be added so that all requests start that
// this class can help.
type ClassShortage struct {
	Class    string
	Nodes    int
	Requests int // that start then
	Slots    int // of those requests
}

// Short returns how many nodes of which class would clear the queue: the fewest nodes with
// which Plan starts every waiting request that more nodes can help, without preempting
// anything. Requests that the first class cannot help are left to the second one, and so on, so the
// numbers add up. A request that no number of nodes can help adds nothing.
func Short(of *pool.Pool, nodes []Node, running []Running, queued []Request, classes []Class, now time.Time) Shortage {
	return Reserved(nil).Short(of, nodes, running, queued, classes, now)
}

// Short is Short in a pool with reservations.
func (rs Reserved) Short(of *pool.Pool, nodes []Node, running []Running, queued []Request, classes []Class, now time.Time) Shortage {
	s := shortage{of: of, reserved: rs, nodes: slices.Clone(nodes), waiting: queued, now: now,
		short: Shortage{Uses: map[string]bool{}}}
	for i := range running {
		if !running[i].Leaving {
			s.running = append(s.running, running[i])
		}
	}
	s.settleAll()
	for _, c := range classes {
		s.short.Classes = append(s.short.Classes, s.add(c))
	}
	return s.short
}

type shortage struct {
	of       *pool.Pool
	reserved Reserved
	nodes    []Node
	running  []Running
	waiting  []Request
	now      time.Time
	short    Shortage
}

func (s *shortage) plan(nodes []Node) []Placement {
	if len(s.waiting) == 0 {
		return nil
	}
	return s.reserved.Plan(s.of, nodes, s.running, s.waiting, s.now).Place
}

// settleAll starts what starts without more nodes. Whoever starts changes the shares and bounds of others, so that the next
// plan can start more.
func (s *shortage) settleAll() {
	for placed := s.plan(s.nodes); len(placed) > 0; placed = s.plan(s.nodes) {
		s.settle(placed)
	}
}

// settle makes running tasks of the requests that were placed.
func (s *shortage) settle(placed []Placement) {
	to := make(map[string]*Placement, len(placed))
	for i := range placed {
		to[placed[i].ID] = &placed[i]
	}
	rest := make([]Request, 0, len(s.waiting)-len(placed))
	for i := range s.waiting {
		r := &s.waiting[i]
		p := to[r.ID]
		if p == nil {
			rest = append(rest, *r)
			continue
		}
		for _, part := range p.Parts {
			s.short.Uses[part.NodeID] = true
		}
		s.running = append(s.running, r.started(s.now, p.Parts))
	}
	s.waiting = rest
}

// add finds the fewest nodes of a class that start as many requests as any number of them.
func (s *shortage) add(c Class) ClassShortage {
	short := ClassShortage{Class: c.Name}
	most := s.mostOf(c)
	if most == 0 {
		return short
	}
	best := s.plan(s.with(c, most))
	if len(best) == 0 {
		return short
	}
	// The plan with the most nodes may spread requests over more of them than they need.
	low, high := 1, most
	for low < high {
		middle := (low + high) / 2
		if placed := s.plan(s.with(c, middle)); len(placed) >= len(best) {
			best, high = placed, middle
		} else {
			low = middle + 1
		}
	}
	short.Nodes, short.Requests = high, len(best)
	before := len(s.running)
	s.settle(best)
	for _, r := range s.running[before:] {
		for _, part := range r.Parts {
			short.Slots += len(part.SlotIDs)
		}
	}
	s.nodes = s.with(c, high)
	return short
}

// mostOf is a number of nodes of a class beyond which more nodes help no request: one for each
// slot that is asked for.
func (s *shortage) mostOf(c Class) int {
	limit := maxAdded
	if c.Max > 0 {
		limit = min(c.Max, maxAdded)
	}
	most := 0
	for i := range s.waiting {
		if most += max(1, s.waiting[i].Slots); most >= limit {
			return limit
		}
	}
	return most
}

// with returns the nodes and n more of a class. Their names sort behind those of nodes, so that
// of equally good nodes those that exist are used first.
func (s *shortage) with(c Class, n int) []Node {
	all := slices.Clip(s.nodes)
	for i := range n {
		added := c.Node
		added.ID = fmt.Sprintf("+%s/%d", c.Name, i)
		added.Name = fmt.Sprintf("\U0010FFFF%s/%04d", c.Name, i)
		added.like = c.Node.ID
		all = append(all, added)
	}
	return all
}
