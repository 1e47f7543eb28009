package api

import (
	"context"

	"github.com/detent-ml/detent/master/launch"
)

// launchers create experiments and tasks from requests.
func (a *API) launchers() (*launch.Experiments, *launch.Tasks) {
	code := &launch.Packer{DB: a.db, Users: a.users, Room: a.limits.packed, Turns: func(ctx context.Context, share string) (func(), error) {
		turn, err := a.limits.packs.Take(ctx, share, 1)
		if err != nil {
			return nil, err
		}
		return turn.Release, nil
	}}
	c := launch.Cluster{Site: a.cfg.Site, Pools: a.cfg.Pools, Storage: a.cfg.CheckpointStorage, Idle: a.cfg.Idle,
		CheckStorage: a.cfg.CheckStorage, LaunchError: a.cfg.LaunchError,
		Slots: func(ctx context.Context, pool string) (launch.PoolSlots, error) {
			n, err := a.nodes.PoolSlots(ctx, pool)
			return launch.PoolSlots{PerNode: n.PerNode, Total: n.Slots}, err
		}}
	return &launch.Experiments{Cluster: c, DB: a.db, Memory: a.memory, Users: a.users, Code: code}, &launch.Tasks{Cluster: c, DB: a.db, Code: code}
}
