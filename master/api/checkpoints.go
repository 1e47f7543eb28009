package api

import (
	"context"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
)

// checkpointDeps gives the room of checkpoints what it uses of experiments and trials.
func (a *API) checkpointDeps() checkpoints.Deps {
	return checkpoints.Deps{DB: a.db, Log: a.log, Config: a.experiments.Configs.Config, Outside: a.experiments.UnmanagedCheckpoint, Downloads: checkpoints.NewDownloads(),
		Experiment: func(ctx context.Context, id int) (checkpoints.Experiment, error) {
			e, err := experiments.Get(ctx, a.db, id)
			return checkpoints.Experiment{ID: e.ID, Is: e.Object(), Config: e.Config, Metric: optional.Value(e.Metric), SmallerIsBetter: e.SmallerIsBetter}, err
		},
		Head: func(ctx context.Context, id int) (checkpoints.Experiment, error) {
			e, err := experiments.GetHead(ctx, a.db, id)
			return checkpoints.Experiment{ID: e.ID, Is: e.Object()}, err
		},
		Trial: func(ctx context.Context, id int) (checkpoints.Trial, error) {
			t, err := experiments.GetTrial(ctx, a.db, id)
			return checkpoints.Trial{ID: t.ID, ExperimentID: t.ExperimentID, Is: t.Object()}, err
		},
		OwnTask: tasks.OnOwn("task", func(c *rest.Call, id string) error {
			return fault.New(fault.Forbidden, "attempt %s does not belong to task %s", c.Who().AllocationID, fault.Clip(id))
		}),
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) },
		States:  func() (<-chan struct{}, func()) { return a.bus.Subscribe(lifecycle.TopicState) },
		Pools:   a.cfg.Pools, Storages: a.cfg.Site.Capabilities.Storage, Roots: a.cfg.CheckpointRoots, Bucket: a.cfg.Bucket}
}
