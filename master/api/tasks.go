package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerTasks gives the room of tasks what it uses of experiments, callers and config policies, and package launch.
func (a *API) registerTasks() {
	tasks.Routes(a.router, tasks.Deps{DB: a.db, Nodes: a.nodes, Code: a.code, Trail: a.trail, Proxy: a.cfg.Proxy, Pages: a.cfg.Pages, Identify: a.auth.ByToken, Secrets: a.cfg.Site.Secrets,
		Start: func(ctx context.Context, c *rest.Call, of tasks.Kind, req tasks.Request) (*tasks.Launched, error) {
			return a.tasks.Start(ctx, launch.SubmitterOf(c), of, req)
		},
		StartGeneric: func(ctx context.Context, c *rest.Call, req *v1.CreateGenericTaskRequest) (*tasks.Launched, error) {
			return a.tasks.StartGeneric(ctx, launch.SubmitterOf(c), req)
		},
		Experiments: func(ctx context.Context, c *rest.Call, filters *v1.BulkExperimentFilters) (ids []int, err error) {
			list, _, err := a.experiments.Chosen(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), filters.ProjectID, &v1.BulkRequest{Filters: filters})
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			return ids, err
		},
		AllowPriority: func(ctx context.Context, workspace, priority int) error {
			if err := queue.CheckShare(&priority, nil); err != nil {
				return err
			}
			return a.launcher.Allowed(ctx, workspace, workspaces.WorkloadTasks, launch.Change{Priority: &priority})
		},
		Changed: func() { a.bus.Publish(lifecycle.TopicIntent) }})
}

// launchers create experiments and tasks from requests.
func (a *API) launchers() (*launch.Experiments, *launch.Tasks) {
	rows := launch.Rows{DB: a.db, Memory: a.memory, Users: a.users}
	code := launch.NewPacker(rows, func(ctx context.Context, share string) (func(), error) {
		turn, err := a.limits.packs.Take(ctx, share, 1)
		if err != nil {
			return nil, err
		}
		return turn.Release, nil
	}, a.limits.packed)
	c := launch.Cluster{Site: a.cfg.Site, Pools: a.cfg.Pools, Storage: a.cfg.CheckpointStorage, Idle: a.cfg.Idle,
		CheckStorage: a.cfg.CheckStorage, LaunchError: a.cfg.LaunchError,
		Slots: func(ctx context.Context, pool string) (launch.PoolSlots, error) {
			n, err := a.nodes.PoolSlots(ctx, pool)
			return launch.PoolSlots{Nodes: n.Nodes, PerNode: n.PerNode, Total: n.Slots}, err
		}}
	return launch.NewExperiments(c, rows, code), launch.NewTasks(c, rows, code)
}
