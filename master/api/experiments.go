package api

import (
	"context"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/searches"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// experimentDeps gives the room of experiments what it uses of policies, attempts and the registry.
func (a *API) experimentDeps() experiments.Deps {
	return experiments.Deps{DB: a.db, Bus: a.bus, Memory: a.memory, Users: a.users, Configs: experiments.NewShownConfigs(), Heard: experiments.NewHeard(a.db, a.bus),
		Code: a.code, Listing: a.limits.lists, Pools: a.cfg.Pools, LogDays: a.cfg.Logs.Days, Version: a.models().OnVersion(), MayMove: launch.MayMove,
		Allowed: func(ctx context.Context, workspace int, ch experiments.Patch) error {
			return a.launcher.Allowed(ctx, workspace, workspaces.WorkloadExperiment, launch.Change{Priority: ch.Priority, MaxSlots: ch.MaxSlots, Weight: ch.Weight})
		},
		Attempts: func(ctx context.Context, experiment int, req *v1.GetAttemptsRequest) (*v1.ListAttemptsResponse, error) {
			return a.Attempts.OfExperiment(ctx, experiment, req)
		}}
}

// launchDeps gives the creation of experiments what it uses of the room that shows them.
func (a *API) launchDeps() launch.Deps {
	return launch.Deps{DB: a.db, Bus: a.bus, Pools: a.cfg.Pools, Site: a.cfg.Site, Launcher: a.launcher, Room: a.experiments}
}

// searchDeps gives the room of searches its part of the memory for searches.
func (a *API) searchDeps() searches.Deps {
	return searches.Deps{DB: a.db, Bus: a.bus, Memory: a.memory, Driven: searches.NewDriven(a.db, a.cfg.Memory.Bytes/searches.DrivenPart)}
}
