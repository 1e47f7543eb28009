package api

import (
	"context"

	"github.com/detent-ml/detent/master/launch"
)

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
