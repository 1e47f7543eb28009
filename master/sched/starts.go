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

// A Forecast estimates when the requests of a queue start.
type Forecast struct {
	Starts map[string]Start // by the id of the request, for the first requests of the queue
	Others string           // why all other requests have no estimate; "" if there are no others
}

// A Start is the estimated start of a request, or the reason why there is no estimate.
type Start struct {
	At      time.Time // zero if there is no estimate
	Unknown string    // the reason, as the end of a sentence
}

// An End is when a running task frees its slots.
type End struct {
	At   time.Time
	Next *Request // the request that its group makes at that time, or nil. Without a QueuedAt it is queued at the end
}

// Bounds of Starts, which calls Plan once for each end that it simulates.
const (
	maxEstimated = 100    // requests that get an estimate
	maxSimulated = 10_000 // requests in the simulated queue
	maxEvents    = 24     // ends of tasks and of pauses after a failed start, and second plans for the same time
	maxAhead     = 7 * 24 * time.Hour
)

// Starts estimates when the waiting requests start. It simulates the pool: the running tasks end at their known ends, and
// Plan decides after each end. ends maps the ids of running tasks to their ends. A task that is not in ends holds its slots
// for ever, and so does a request that starts in the simulation, because nobody knows how long it will run.
//
// The estimate of the first waiting request is an upper bound: the request starts at that time or earlier if the known ends
// are right and nobody submits work that precedes it. For later requests this holds only if the other tasks continue to
// run, because an earlier end can change which request is placed where.
//
// Two conditions prevent an estimate. While a task is being preempted, neither the time of its exit nor its new position in
// the queue is known. And under a policy whose order depends on the slots that users hold, no request gets an estimate.
func Starts(of *pool.Pool, nodes []Node, running []Running, queued []Request, ends map[string]End, now time.Time) Forecast {
	return Reserved(nil).Starts(of, nodes, running, queued, ends, now)
}

// Starts is Starts in a pool with reservations.
func (rs Reserved) Starts(of *pool.Pool, nodes []Node, running []Running, queued []Request, ends map[string]End, now time.Time) Forecast {
	if t := of.Scheduler.Type; t != "" && t != pool.Priority {
		return Forecast{Others: fmt.Sprintf("under %s the order of the queue depends on who holds slots at that time", t)}
	}
	f := &future{of: of, reserved: rs.on(nodes), began: now, nodes: nodes, running: slices.Clone(running), ends: maps.Clone(ends), now: now, until: now.Add(maxAhead), starts: map[string]Start{}}
	order := inOrder(queued)
	out := Forecast{Starts: make(map[string]Start, min(len(order), maxEstimated))}
	if len(order) > maxEstimated {
		out.Others = fmt.Sprintf("starts are estimated for the first %d requests of a queue", maxEstimated)
	}
	for _, r := range order[:min(len(order), maxSimulated)] {
		f.queued = append(f.queued, *r)
	}
	asked := order[:min(len(order), maxEstimated)]
	f.simulate(asked)
	for _, r := range asked {
		start, known := f.starts[r.ID]
		if !known {
			start.Unknown = f.why(*r)
		}
		out.Starts[r.ID] = start
	}
	return out
}

// A future is the simulated state of a pool.
type future struct {
	of       *pool.Pool
	reserved Reserved
	began    time.Time
	nodes    []Node
	running  []Running
	queued   []Request
	ends     map[string]End
	now      time.Time
	until    time.Time
	starts   map[string]Start

	exiting   string   // a task that is being preempted, which ends the simulation; "" for none
	far       bool     // the simulation stopped before further known ends
	unsettled bool     // a second plan for the same time may start more
	planner   *planner // for the pool without tasks, created on first use
}

// simulate plans, and plans again after each end, until all asked requests have started.
func (f *future) simulate(asked []*Request) {
	for range maxEvents + 1 {
		f.plan()
		waits := slices.ContainsFunc(asked, func(r *Request) bool { return f.starts[r.ID].At.IsZero() })
		if !waits || f.exiting != "" || !f.unsettled && !f.advance() {
			return
		}
	}
	f.far = true
}

// plan starts the requests that fit now. What starts can bring a waiting request to a bound of its group or to a quota, and
// the slots that Plan kept for that request are free for others from the next plan on.
func (f *future) plan() {
	r := f.reserved.Plan(f.of, f.nodes, f.running, f.queued, f.now)
	placed := make(map[string][]Part, len(r.Place))
	for _, p := range r.Place {
		placed[p.ID] = p.Parts
		f.starts[p.ID] = Start{At: f.now}
		if !p.LentUntil.IsZero() {
			f.ends[p.ID] = End{At: p.LentUntil}
		}
	}
	f.queued = slices.DeleteFunc(f.queued, func(q Request) bool {
		parts, starts := placed[q.ID]
		if starts {
			f.running = append(f.running, q.started(f.now, parts))
		}
		return starts
	})
	lent := 0
	for _, p := range r.Place {
		if !p.LentUntil.IsZero() {
			lent++
		}
	}
	f.unsettled = lent == maxLoans || len(placed) > 0 && slices.ContainsFunc(f.queued, func(q Request) bool { return q.MaxSlots != nil || len(q.Quotas) > 0 })
	asked := each.Set(r.Preempt, func(p Preemption) string { return p.ID })
	for i := range f.running {
		if x := &f.running[i]; x.Leaving && x.slots() > 0 || asked[x.ID] {
			f.exiting = nameOf(x.Group, x.ID)
			return
		}
	}
}

// advance moves to the next known end of a task or of a pause, and reports whether there is one.
func (f *future) advance() bool {
	var next time.Time
	earliest := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for i := range f.running {
		if end, known := f.ends[f.running[i].ID]; known {
			earliest(end.At)
		}
	}
	for i := range f.queued {
		if at := f.queued[i].NotBefore; at.After(f.now) {
			earliest(at)
		}
	}
	for i := range f.reserved {
		for _, at := range []time.Time{f.reserved[i].From, f.reserved[i].Until} {
			if at.After(f.now) {
				earliest(at)
			}
		}
	}
	if f.far = next.After(f.until); next.IsZero() || f.far {
		return false
	}
	if next.After(f.now) {
		f.now = next
	}
	f.running = slices.DeleteFunc(f.running, func(r Running) bool {
		end, known := f.ends[r.ID]
		if !known || end.At.After(f.now) {
			return false
		}
		if end.Next != nil {
			n := *end.Next
			n.ID = "after " + r.ID
			if n.QueuedAt.IsZero() {
				n.QueuedAt = f.now
			}
			f.queued = append(f.queued, n)
		}
		return true
	})
	return true
}

// why returns the reason why a request has no estimate.
func (f *future) why(r Request) string {
	r.keepTo(f.of)
	if f.planner == nil {
		f.planner = newPlanner(f.of, f.nodes, nil, 0)
	}
	least := f.planner.avoid(&r)
	spent := slices.ContainsFunc(r.Quotas, func(q *Quota) bool { return q.Spent != "" })
	above := slices.IndexFunc(r.Quotas, func(q *Quota) bool { return q.Hard != nil && f.planner.needs(least, q.Kind, nil) > *q.Hard })
	switch {
	case above >= 0:
		return fmt.Sprintf("it needs more than the %s of the quota of %s", r.Quotas[above].Kind.words(*r.Quotas[above].Hard), r.Quotas[above].Of)
	case r.Slots > 0 && (f.planner.fewest(least).nodes == 0 || r.MaxSlots != nil && r.Slots > *r.MaxSlots), r.Slots <= 0 && !f.planner.auxElsewhere(least):
		return "it cannot start even after all running tasks have ended"
	case spent:
		return "its quota of slot-hours is used up"
	case f.exiting != "" && f.now.After(f.began):
		return fmt.Sprintf("%s is to be preempted at %s, and the time of its exit is unknown", f.exiting, f.now.UTC().Format(time.RFC3339))
	case f.exiting != "":
		return f.exiting + " is being preempted, and the time of its exit is unknown"
	case f.far:
		return "the start is too far in the future"
	}
	var open *Running // a task with an unknown end; of those that run already, the first by its start
	for i := range f.running {
		x := &f.running[i]
		if _, known := f.ends[x.ID]; known || (x.slots() > 0) != (r.Slots > 0) {
			continue
		}
		if open == nil || cmp.Or(x.StartedAt.Compare(open.StartedAt), cmp.Compare(x.ID, open.ID)) < 0 {
			open = x
		}
	}
	if open == nil {
		return "it waits for more than the end of running tasks"
	}
	return "running tasks have no known end, such as " + nameOf(open.Group, open.ID)
}
