package api

import (
	"context"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// experimentDeps gives the room of experiments what it uses of policies, attempts and the registry.
func (a *API) experimentDeps() experiments.Deps {
	return experiments.Deps{DB: a.db, Bus: a.bus, Memory: a.memory, Users: a.users, Configs: a.configs, Heard: a.heard,
		Code: a.code, Listing: a.limits.lists, Pools: a.cfg.Pools, LogDays: a.cfg.Logs.Days, Version: a.models().OnVersion(), MayMove: launch.MayMove,
		Allowed: func(ctx context.Context, workspace int, ch experiments.Patch) error {
			return a.launcher.Allowed(ctx, workspace, workspaces.WorkloadExperiment, launch.Change{Priority: ch.Priority, MaxSlots: ch.MaxSlots, Weight: ch.Weight})
		},
		Attempts: func(ctx context.Context, experiment int, req *v1.GetAttemptsRequest) (*v1.ListAttemptsResponse, error) {
			return a.Attempts.OfExperiment(ctx, experiment, req)
		}}
}
