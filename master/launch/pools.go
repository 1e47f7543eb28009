package launch

import (
	"context"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// ChangeJob changes the experiment of a job.
func (d Deps) ChangeJob(ctx context.Context, id int, ch queue.Change) error {
	e, err := experiments.Get(ctx, d.DB, id)
	if err != nil {
		return err
	}
	if e.Terminal() {
		return fault.New(fault.Invalid, "experiment %d has ended; its job cannot be changed", id)
	}
	if ch.Pool != nil {
		if err := d.experimentFitsPool(ctx, e, *ch.Pool); err != nil {
			return err
		}
	}
	return experiments.Change(ctx, d.DB, id, experiments.Patch{Priority: ch.Priority, Weight: ch.Weight, Pool: ch.Pool})
}

// experimentFitsPool returns why an experiment cannot continue in another pool.
func (d Deps) experimentFitsPool(ctx context.Context, e experiments.Experiment, name string) error {
	pool, err := d.Launcher.Cluster.Pools.Find(name)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(d.Launcher.Cluster.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "experiment %d cannot run in pool %s: %w", e.ID, name, err)
	}
	return d.Launcher.CheckPool(ctx, name, e.SlotsPerTrial, false)
}

// TaskFits returns why a task cannot run in another pool. The pool to which the task was submitted allows what its
// configuration asks of a node; another pool may not.
func (d Deps) TaskFits(ctx context.Context, id, name string) error {
	pool, err := d.Launcher.Cluster.Pools.Find(name)
	if err != nil {
		return err
	}
	k, err := tasks.Get(ctx, d.DB, id)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(d.Launcher.Cluster.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	if err := d.Launcher.CheckPool(ctx, name, k.Slots, !several(&cfg) || pool.SingleNode); err != nil {
		return err
	}
	if k.Type != task.Tensorboard {
		return nil
	}
	rows, err := tasks.ShownBy(ctx, d.DB, id)
	if err != nil {
		return err
	}
	shown, _, err := task.Shown(rows)
	if err != nil {
		return err
	}
	if err := expconf.RefusedShown(shown, d.Launcher.Cluster.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	return nil
}
