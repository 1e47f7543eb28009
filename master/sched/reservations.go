package sched

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
)

// Reservations: from its start to its end, a reservation holds slots of the pool for the tasks of its owner, or takes whole nodes out of use: a
// maintenance.
//
// Before its start (coming.go), requests that would run into it start only on slots that it does not need. Those run into it that will
// certainly be there at its start: requests without a bound of their time, or with a later one. A request that can be preempted counts only
// in the last hour before: until then it may use the slots, and is preempted at the start, which costs little.
//
// At its start, what runs on its slots is preempted, the least important first, and of these those that lose least work. What cannot be preempted stays.
//
// Until its end, its slots are like a pool of their own (within.go): requests of its owner are planned there first, with a head of their own.
// Who finds no room there is planned with all others on the other slots. Nothing happens at the end: the slots are ordinary slots again.
//
// Plan stores nothing between calls, so it chooses the slots of a reservation again each time (spots.go): in an order that stays the same,
// unless tasks make other slots better.

// A Reservation holds slots of a pool for its owner, or nodes for nobody, for a time.
type Reservation struct {
	ID        int
	Workspace string // its owner: tasks of this workspace, …
	User      string // … of this user; "": of any
	Slots     int
	Nodes     []string // ids of the nodes of a maintenance, which has no owner; else nil
	From      time.Time
	Until     time.Time
}

// Reserved are the reservations of a pool.
type Reserved []Reservation

// reserveLead is how long before a reservation tasks that can be preempted do not start any more on the slots that it needs.
const reserveLead = time.Hour

// maxReserved is how many reservations a plan looks at: the first to begin.
const maxReserved = 64

// isMaintenance reports whether the reservation takes nodes out of use.
func (v *Reservation) isMaintenance() bool { return len(v.Nodes) > 0 }

// owns reports whether tasks of a user in a workspace may use the slots.
func (v *Reservation) owns(workspace, user string) bool {
	return !v.isMaintenance() && (v.Workspace == "" || v.Workspace == workspace) && (v.User == "" || v.User == user)
}

func (v *Reservation) has(at time.Time) bool { return !at.Before(v.From) && at.Before(v.Until) }

func (v *Reservation) overlaps(w *Reservation) bool {
	return v.From.Before(w.Until) && w.From.Before(v.Until)
}

// Owner names whose reservation it is.
func (v *Reservation) Owner() string {
	switch {
	case v.Workspace != "" && v.User != "":
		return fmt.Sprintf("user %s in workspace %s", v.User, v.Workspace)
	case v.User != "":
		return "user " + v.User
	}
	return "workspace " + v.Workspace
}

// when is the time of a reservation as sentences say it.
func (v *Reservation) when() string {
	return fmt.Sprintf("from %s to %s", v.From.UTC().Format(time.RFC3339), v.Until.UTC().Format(time.RFC3339))
}

// says is what a task of a workspace is told that may not use the slots. Who sees the task need not see the other workspace, so it is not named.
func (v *Reservation) says(workspace string) string {
	are := "are"
	if v.Slots == 1 {
		are = "is"
	}
	owner := v.Owner()
	if v.Workspace != "" && v.Workspace != workspace {
		owner = "another workspace"
	}
	return fmt.Sprintf("%s %s reserved for %s %s", slotsOf(v.Slots), are, owner, v.when())
}

// Plan is Plan in a pool with reservations.
func (rs Reserved) Plan(of *pool.Pool, nodes []Node, running []Running, queued []Request, now time.Time) Result {
	list := rs.on(nodes).live(now)
	if len(list) == 0 {
		return plan(of, nodes, running, queued, nil, now)
	}
	s := &site{of: of, nodes: slices.Clone(nodes), running: slices.Clone(running), now: now, promised: map[string]string{}, waiting: map[string]string{}}
	slices.SortFunc(s.running, func(a, b Running) int { return cmp.Compare(a.ID, b.ID) })
	for _, v := range list {
		if v.isMaintenance() && v.has(now) {
			s.shut(v)
		}
	}
	s.choose(list)
	s.vacate()
	for _, v := range s.spots {
		if v.has(now) {
			queued = s.within(v, queued)
		}
	}
	return s.join(plan(of, s.outside(), s.running, queued, s.spots, now))
}

// on lists the reservations of slots, and the maintenances of some of these nodes: those of other nodes must not count as some of the first maxReserved.
func (rs Reserved) on(nodes []Node) Reserved {
	if !slices.ContainsFunc(rs, func(v Reservation) bool { return v.isMaintenance() }) {
		return rs
	}
	ids := each.Set(nodes, func(n Node) string { return n.ID })
	elsewhere := func(v Reservation) bool {
		return v.isMaintenance() && !slices.ContainsFunc(v.Nodes, func(id string) bool { return ids[id] })
	}
	return slices.DeleteFunc(slices.Clone(rs), elsewhere)
}

// live lists the reservations that have not ended, the first to begin first.
func (rs Reserved) live(now time.Time) []*Reservation {
	var list []*Reservation
	for i := range rs {
		if v := &rs[i]; now.Before(v.Until) && v.From.Before(v.Until) {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b *Reservation) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), maxReserved)]
}

// Active reports whether a reservation begins or has begun: then also a plan without requests preempts.
func (rs Reserved) Active(now time.Time) bool {
	return slices.ContainsFunc(rs, func(v Reservation) bool { return v.has(now) })
}

// A site is a pool with reservations in one plan.
type site struct {
	of       *pool.Pool
	nodes    []Node
	running  []Running // by id
	now      time.Time
	spots    []*spot
	place    []Placement
	preempts []Preemption
	promised map[string]string // requests that wait for tasks to leave the slots of their reservation: why they wait
	waiting  map[string]string // requests that wait for room there, and are planned on the other slots, too
}

// join adds what was decided about reservations to the plan of the other slots.
func (s *site) join(rest Result) Result {
	for id, why := range s.waiting {
		if _, waits := rest.Waiting[id]; waits && !rest.Full[id] { // nothing but its reservation has room for it
			rest.Waiting[id], rest.Full[id] = why, true
		}
	}
	maps.Copy(rest.Waiting, s.promised)
	rest.Place = append(s.place, rest.Place...)
	rest.Preempt = append(s.preempts, rest.Preempt...)
	return rest
}

// shut takes the nodes of a maintenance out of use, and preempts what runs there.
func (s *site) shut(v *Reservation) {
	names := map[string]string{}
	for i := range s.nodes {
		if n := &s.nodes[i]; slices.Contains(v.Nodes, n.ID) {
			names[n.ID] = n.label()
			if n.Schedulable {
				n.Schedulable, n.Why = false, "is in maintenance until "+v.Until.UTC().Format(time.RFC3339)
			}
		}
	}
	for i := range s.running {
		for _, part := range s.running[i].Parts {
			if name, in := names[part.NodeID]; in {
				s.preempt(i, fmt.Sprintf("node %s is in maintenance %s", name, v.when()))
			}
		}
	}
}

// preempt asks a running task to leave, if it can be asked and was not.
func (s *site) preempt(i int, why string) {
	if r := &s.running[i]; r.Preemptible && !r.Leaving {
		r.Leaving = true
		s.preempts = append(s.preempts, Preemption{ID: r.ID, Reason: why})
	}
}

// vacate preempts what runs on the slots of reservations that have begun, and is not of their owners.
func (s *site) vacate() {
	for _, v := range s.spots {
		if !v.has(s.now) {
			continue
		}
		for i := range s.running {
			if r := &s.running[i]; !v.owns(r.Workspace, r.User) && v.meets(r.Parts) {
				s.preempt(i, "preempted for a reservation: "+v.says(r.Workspace))
			}
		}
	}
}
