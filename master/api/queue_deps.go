package api

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// registerQueue gives the room of the queue what it uses of experiments, of tasks, and of config policies.
func (a *API) registerQueue() {
	queue.Routes(a.router, queue.Deps{DB: a.db, Pools: a.cfg.Pools, Places: a.limits.places, Changed: func() { a.bus.Publish(lifecycle.TopicIntent) },
		Policies: func(ctx context.Context, workspace int, workload string) (func(queue.Change) error, error) {
			guard, err := a.guardOf(ctx, workspace, workload)
			return func(ch queue.Change) error {
				return guard.Allows(launch.Change{Priority: ch.Priority, Weight: ch.Weight, Pool: ch.Pool})
			}, err
		},
		ChangeExperiment: a.changeExperimentJob, TaskFits: a.taskFitsPool,
		PrioritizeExperiment: func(ctx context.Context, tx *database.DB, id, priority int) error {
			return experiments.Change(ctx, tx, id, experiments.Patch{Priority: &priority})
		}})
}

// changeExperimentJob changes the experiment of a job.
func (a *API) changeExperimentJob(ctx context.Context, id int, ch queue.Change) error {
	e, err := experiments.Get(ctx, a.db, id)
	if err != nil {
		return err
	}
	if e.Terminal() {
		return fault.New(fault.Invalid, "experiment %d has ended; its job cannot be changed", id)
	}
	if ch.Pool != nil {
		if err := a.experimentFitsPool(ctx, e, *ch.Pool); err != nil {
			return err
		}
	}
	return experiments.Change(ctx, a.db, id, experiments.Patch{Priority: ch.Priority, Weight: ch.Weight, Pool: ch.Pool})
}

// experimentFitsPool returns why an experiment cannot continue in another pool.
func (a *API) experimentFitsPool(ctx context.Context, e experiments.Experiment, name string) error {
	pool, err := a.cfg.Pools.Find(name)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "experiment %d cannot run in pool %s: %w", e.ID, name, err)
	}
	return a.experiments.CheckPool(ctx, name, e.SlotsPerTrial, false)
}

// taskFitsPool returns why a task cannot run in another pool. The pool to which the task was submitted allows what its
// configuration asks of a node; another pool may not.
func (a *API) taskFitsPool(ctx context.Context, id, name string) error {
	pool, err := a.cfg.Pools.Find(name)
	if err != nil {
		return err
	}
	k, err := tasks.Get(ctx, a.db, id)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	several := cfg.Resources.IsSingleNode != nil && !*cfg.Resources.IsSingleNode
	if err := a.experiments.CheckPool(ctx, name, k.Slots, !several || pool.SingleNode); err != nil {
		return err
	}
	if k.Type != task.Tensorboard {
		return nil
	}
	shown, err := a.shownBy(ctx, id)
	if err != nil {
		return err
	}
	if err := expconf.RefusedShown(shown, a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	return nil
}

// shownBy returns the experiments that a TensorBoard shows.
func (a *API) shownBy(ctx context.Context, id string) ([]expconf.ShownExperiment, error) {
	rows, err := tasks.ShownBy(ctx, a.db, id)
	if err != nil {
		return nil, err
	}
	list, _, err := task.Shown(rows)
	return list, err
}
