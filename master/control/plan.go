package control

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
)

// A Plan is the result of Decide: a bundle for each experiment, task and attempt that
// changes. The loop stores the other bundles even if one of them fails.
type Plan struct {
	Bundles []store.Bundle
	Faults  []Fault
	demand  *demand // what the pools hold and lack; nil if nothing was scheduled
}

// A Fault is an error or a panic while a bundle was decided: a defect of the master.
type Fault struct {
	Key string // of the bundle
	Err error
}

// Changes merges the changes of all bundles.
func (p *Plan) Changes() *store.Changes { return store.MergeChanges(p.Bundles, nil) }

// handling is how Decide treats an experiment or a task. After each failure it takes the
// next, simpler way.
type handling int

const (
	handleNormally  handling = iota
	handleAsBroken           // the experiment ends as if its search were broken
	handleByKilling          // its attempts are killed, and it ends
	handleLater              // Decide leaves it unchanged for a while
)

// bundle collects the changes of decide in the bundle with this key. If decide fails or
// panics, bundle undoes the changes and returns the error.
func (d *decider) bundle(key string, decide func() error) (err error) {
	queued, placed := len(d.queue), len(d.placements)
	d.out, d.fresh, d.key = &store.Changes{}, d.fresh[:0], key
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
func (d *decider) isolate(what string, do func()) {
	err := d.bundle(what, func() error { d.key = ""; do(); return nil })
	if err != nil {
		d.plan.Faults = append(d.plan.Faults, Fault{what, err})
	}
}

// of returns the plan's bundle with this key, and creates it if needed.
func (d *decider) of(key string) *store.Bundle {
	i, ok := d.byKey[key]
	if !ok {
		i = len(d.plan.Bundles)
		d.byKey[key] = i
		d.plan.Bundles = append(d.plan.Bundles, store.Bundle{Key: key})
	}
	return &d.plan.Bundles[i]
}

// finish adds the changes of attempts to the plan, and then the placements. A placement
// needs the bundle of its attempt's experiment or task, and the bundles with the ends of
// attempts that freed slots on its nodes.
func (d *decider) finish() {
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
		b.Placements = []store.Placement{p.Placement}
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
	store.Placement
	owner string
}

// experimentBundle decides about one experiment. If that fails, the experiment ends as
// broken; if that fails as well, its attempts are killed.
func (d *decider) experimentBundle(e *Experiment) {
	how := d.p.Handling[e.group()]
	for ; how < handleLater; how++ {
		err := d.bundle(e.group(), func() error { return d.handle(e, how) })
		if err == nil {
			return
		}
		d.plan.Faults = append(d.plan.Faults, Fault{e.group(), err})
		d.counts.forget(d.p, e.ID)
		if how == handleNormally && e.Broken == "" {
			broken := *e
			broken.Broken, broken.Search = unhandled(err), nil
			e = &broken
		}
	}
}

// unhandled is the reason that users see.
func unhandled(err error) string {
	return fmt.Sprintf("the master could not handle it: %.500s", strings.SplitN(err.Error(), "\n", 2)[0])
}

func (d *decider) handle(e *Experiment, how handling) error {
	if how == handleByKilling && !lifecycle.State(e.State).Terminal() && e.State != string(lifecycle.Deleting) && e.State != string(lifecycle.DeleteFailed) {
		return d.endByKilling(e)
	}
	return d.experiment(e)
}

// endByKilling kills the attempts of an experiment and ends it, without its search.
func (d *decider) endByKilling(e *Experiment) error {
	why := cmp.Or(e.Broken, cmp.Or(e.Error, "the master could not handle this experiment; the master's log has the reason"))
	live := 0
	for _, t := range e.Trials {
		if t == nil || t.Ended {
			continue
		}
		if a := d.p.Allocations[t.TaskID]; a != nil && d.advance(a, 0, lifecycle.ActionKill, why) == nil {
			live++
			continue
		}
		d.out.Trials = append(d.out.Trials, store.TrialChange{ID: t.ID, Saw: t.State, State: string(lifecycle.Errored), Restarts: t.Restarts, RunID: t.RunID,
			StopWanted: t.StopWanted, Error: why, Ended: true})
		d.exit(e, t.Number, lifecycle.ExitErrored)
		d.endTask(t.TaskID, lifecycle.TrialStep{State: lifecycle.Errored, Error: why})
	}
	c := store.ExperimentChange{ID: e.ID, Saw: e.State, State: string(lifecycle.StoppingError), Error: why}
	if live == 0 {
		c.State, c.Ended = string(lifecycle.Errored), true
	}
	if c.State != e.State || c.Error != e.Error {
		d.out.Experiments = append(d.out.Experiments, c)
	}
	return nil
}

// taskBundle decides about one task that is not a trial.
func (d *decider) taskBundle(t store.LiveTask) {
	how := d.p.Handling[t.ID]
	if how == handleLater {
		return
	}
	if how == handleNormally {
		err := d.bundle(t.ID, func() error { d.task(t); return nil })
		if err == nil {
			return
		}
		d.plan.Faults = append(d.plan.Faults, Fault{t.ID, err})
	}
	err := d.bundle(t.ID, func() error { d.endTaskByKilling(t); return nil })
	if err != nil {
		d.plan.Faults = append(d.plan.Faults, Fault{t.ID, err})
	}
}

func (d *decider) endTaskByKilling(t store.LiveTask) {
	why := "the master could not handle this experiment; the master's log has the reason"
	if a := d.p.Allocations[t.ID]; a != nil && d.advance(a, 0, lifecycle.ActionKill, why) == nil {
		return
	}
	d.out.Tasks = append(d.out.Tasks, store.TaskChange{ID: t.ID, Unstarted: t.Unstarted, Ended: true, ExitStatus: why})
}
