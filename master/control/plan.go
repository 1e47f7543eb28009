package control

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
)

// A Plan is what Decide wants to change: a bundle for each experiment, task and
// attempt of which something changes. A bundle that cannot be stored is left out
// alone.
type Plan struct {
	Bundles []store.Bundle
	Faults  []Fault
}

// A Fault is a defect that something brought to light: an error or a panic, by the
// bundle in which it was.
type Fault struct {
	Key string
	Err error
}

// Changes are those of all bundles.
func (p *Plan) Changes() *store.Changes { return store.MergeChanges(p.Bundles, nil) }

// How an experiment or a task that cannot be handled is dealt with.
type handling int

const (
	handleNormally  handling = iota
	handleAsBroken           // it ends as if its search were broken
	handleByKilling          // its attempts are killed, and it ends
	handleLater              // it is left alone for a while
)

// bundle collects what decide changes under a key. What goes wrong in it is undone,
// and returned.
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

// apart runs a part of the scheduling, whose changes are bundles of their own.
func (d *decider) apart(what string, do func()) {
	err := d.bundle(what, func() error { d.key = ""; do(); return nil })
	if err != nil {
		d.plan.Faults = append(d.plan.Faults, Fault{what, err})
	}
}

// of is the plan's bundle of a key.
func (d *decider) of(key string) *store.Bundle {
	i, ok := d.byKey[key]
	if !ok {
		i = len(d.plan.Bundles)
		d.byKey[key] = i
		d.plan.Bundles = append(d.plan.Bundles, store.Bundle{Key: key})
	}
	return &d.plan.Bundles[i]
}

// finish puts into the plan what became of attempts, and then the placements: each
// needs what its attempt's owner does in this pass, and the ends that freed its nodes.
func (d *decider) finish() {
	freed := map[string][]string{} // keys by node
	for _, id := range slices.Sorted(keys(d.moves)) {
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

// placement is one with the key of what wants it.
type placement struct {
	store.Placement
	owner string
}

// experimentBundle decides of one experiment. One that cannot be handled as usual
// ends as broken, one that cannot end like that is killed; the others go on.
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

// endByKilling kills what runs of an experiment and ends it, with nothing else looked
// at.
func (d *decider) endByKilling(e *Experiment) error {
	why := cmp.Or(e.Broken, cmp.Or(e.Error, "the master could not handle it; the master's log says why"))
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

// taskBundle decides of one task that is no trial.
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
	why := "the master could not handle it; the master's log says why"
	if a := d.p.Allocations[t.ID]; a != nil && d.advance(a, 0, lifecycle.ActionKill, why) == nil {
		return
	}
	d.out.Tasks = append(d.out.Tasks, store.TaskChange{ID: t.ID, Unstarted: t.Unstarted, Ended: true, ExitStatus: why})
}
