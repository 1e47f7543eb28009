package api

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/queue"
)

// registerQueue gives the room of the queue what it uses of experiments, of tasks, and of config policies.
func (a *API) registerQueue() {
	queue.Routes(a.router, queue.Deps{DB: a.db, Pools: a.cfg.Pools, Places: a.limits.places, Changed: func() { a.bus.Publish(lifecycle.TopicIntent) },
		Policies: func(ctx context.Context, workspace int, workload string) (func(queue.Change) error, error) {
			guard, err := a.launcher.Guard(ctx, workspace, workload)
			return func(ch queue.Change) error {
				return guard.Allows(launch.Change{Priority: ch.Priority, Weight: ch.Weight, Pool: ch.Pool})
			}, err
		},
		ChangeExperiment: a.launch.ChangeJob, TaskFits: a.launch.TaskFits,
		PrioritizeExperiment: func(ctx context.Context, tx *database.DB, id, priority int) error {
			return experiments.ChangeWithin(ctx, tx, id, experiments.Patch{Priority: &priority})
		}})
}
