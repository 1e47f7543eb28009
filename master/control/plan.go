package control

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A Plan is the result of Decide: a bundle for each experiment, task and attempt that
// changes. The loop stores the other bundles even if one of them fails.
type Plan struct {
	Bundles []rows.Bundle
	Faults  []Fault
	demand  *demand // what the pools hold and lack; nil if nothing was scheduled
}

// A Fault is an error or a panic while a bundle was decided: a defect of the master.
type Fault struct {
	Key string // of the bundle
	Err error
}

// Changes merges the changes of all bundles.
func (p *Plan) Changes() *rows.Changes { return rows.MergeChanges(p.Bundles, nil) }

// handling is how Decide treats an experiment or a task. After each failure it takes the
// next, simpler way.
type handling int

const (
	handleNormally  handling = iota
	handleAsBroken           // the experiment ends as if its search were broken
	handleByKilling          // its attempts are killed, and it ends
	handleLater              // Decide leaves it unchanged for a while
)

// A draft is a plan that the passes of Decide write. The changes of one experiment or task are collected in out until they are whole.
type draft struct {
	p          *Snapshot
	plan       *Plan
	byKey      map[string]int // bundle key → index in plan.Bundles
	placements []placement
	key        string           // of the current bundle
	out        *rows.Changes    // changes of the current bundle
	fresh      []string         // attempts whose moves the current bundle created
	moves      map[string]*move // changes of attempts, by attempt
	queue      []queued         // attempts that this cycle creates, for the scheduler
}

// bundle collects the changes of decide in the bundle with this key. If decide fails or
// panics, bundle undoes the changes and returns the error.
func (d *draft) bundle(key string, decide func() error) (err error) {
	queued, placed := len(d.queue), len(d.placements)
	d.out, d.fresh, d.key = &rows.Changes{}, d.fresh[:0], key
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			for _, id := range d.fresh {
				delete(d.moves, id)
			}
			d.queue, d.placements = d.queue[:queued], d.placements[:placed]
			return
		}
		if !d.out.Empty() {
			d.of(key).Changes = *d.out
		}
	}()
	return decide()
}

// isolate runs a part of the scheduling. Its changes go into bundles of their own, and an
// error becomes a Fault.
func (d *draft) isolate(what string, do func()) {
	err := d.bundle(what, func() error { d.key = ""; do(); return nil })
	if err != nil {
		d.plan.Faults = append(d.plan.Faults, Fault{what, err})
	}
}

// of returns the plan's bundle with this key, and creates it if needed.
func (d *draft) of(key string) *rows.Bundle {
	i, ok := d.byKey[key]
	if !ok {
		i = len(d.plan.Bundles)
		d.byKey[key] = i
		d.plan.Bundles = append(d.plan.Bundles, rows.Bundle{Key: key})
	}
	return &d.plan.Bundles[i]
}

// finish adds the changes of attempts to the plan, and then the placements. A placement
// needs the bundle of its attempt's experiment or task, and the bundles with the ends of
// attempts that freed slots on its nodes.
func (d *draft) finish() {
	freed := map[string][]string{} // node → keys of the bundles that free its slots
	for _, id := range slices.Sorted(maps.Keys(d.moves)) {
		m := d.moves[id]
		if !m.changed() {
			continue
		}
		key := cmp.Or(m.key, attemptKey(id))
		b := d.of(key)
		b.Allocations = append(b.Allocations, m.AllocationChange)
		if m.Ended {
			for _, x := range m.row.Members {
				freed[x.NodeID] = append(freed[x.NodeID], key)
			}
		}
	}
	for _, p := range d.placements {
		b := d.of(placementKey(p.AllocationID))
		b.Placements = []rows.Placement{p.Placement}
		b.Needs = []string{p.owner}
		for _, m := range p.Members {
			b.Needs = append(b.Needs, freed[m.NodeID]...)
		}
	}
}

func attemptKey(id string) string { return "attempt " + id }

func placementKey(id string) string { return "placement of " + id }

// placement is a placement with the key of its experiment's or task's bundle.
type placement struct {
	rows.Placement
	owner string
}

// A move is what this cycle changes about an attempt, with the attempt's row.
type move struct {
	rows.AllocationChange
	row *rows.LiveAllocation
	key string // of the bundle that has the change; "" if the attempt gets its own bundle
}

func (m *move) changed() bool {
	return m.State != m.Saw || m.Preempt != nil || m.Kill != nil || m.Waiting != nil || m.Pool != nil || m.Started || m.Warn != ""
}

func (d *draft) move(a *rows.LiveAllocation) *move {
	m := d.moves[a.ID]
	if m == nil {
		m = &move{AllocationChange: rows.AllocationChange{ID: a.ID, Saw: a.State, State: a.State}, row: a, key: d.key}
		d.moves[a.ID] = m
		d.fresh = append(d.fresh, a.ID)
	}
	return m
}

// stateOf is the state of an attempt after the decisions of this cycle.
func (d *draft) stateOf(a *rows.LiveAllocation) lifecycle.AllocationState {
	if m := d.moves[a.ID]; m != nil {
		return lifecycle.AllocationState(m.State)
	}
	return lifecycle.AllocationState(a.State)
}

// poolOf is the pool of an attempt after the decisions of this cycle.
func (d *draft) poolOf(a *rows.LiveAllocation) string {
	if m := d.moves[a.ID]; m != nil && m.Pool != nil {
		return *m.Pool
	}
	return a.Pool
}

// isPlaced reports whether an attempt holds slots.
func (d *draft) isPlaced(a *rows.LiveAllocation) bool {
	state := d.stateOf(a)
	return state != lifecycle.Terminated && state != lifecycle.Pending
}

// wait records why an attempt waits in the queue.
func (d *draft) wait(a *rows.LiveAllocation, why string) {
	if a.State == string(lifecycle.Pending) && a.WaitingReason != why {
		d.move(a).Waiting = &why
	}
}
