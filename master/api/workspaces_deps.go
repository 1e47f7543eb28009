package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerWorkspaces gives the room of workspaces what it uses of experiments, of callers, and of the audit trail.
func (a *API) registerWorkspaces() {
	workspaces.Routes(a.router, workspaces.Deps{DB: a.db, Roles: a.cfg.Roles, Pools: a.cfg.Pools, RolesChanged: a.auth.Forget, MountSecrets: a.cfg.Site.Secrets.Name,
		StoreAgentUser: accounts.PartOfAgentUser, AgentUser: accounts.WireAgentUser, Admit: a.users.Admit, AdmitChange: a.admitChange, Delete: of(a.db, experiments.DeleteWorkspace),
		DeleteProject: of(a.db, experiments.DeleteProject), Note: audit.Note, CheckPolicy: a.experiments.CheckPolicy, BindingsChanged: func() { a.bus.Publish(lifecycle.TopicIntent) }})
}

// allowed returns an error if the policies of a workspace do not allow a change to what runs or
// waits there.
func (a *API) allowed(ctx context.Context, workspace int, workload string, change launch.Change) error {
	if change == (launch.Change{}) {
		return nil
	}
	guard, err := a.guardOf(ctx, workspace, workload)
	if err != nil {
		return err
	}
	return guard.Allows(change)
}

func (a *API) guardOf(ctx context.Context, workspace int, workload string) (launch.Guard, error) {
	ws, err := workspaces.Get(ctx, a.db, workspace)
	if err != nil {
		return launch.Guard{}, err
	}
	return a.experiments.Guard(ctx, ws, workload)
}

// inClosedPools adds to reasons why experiments cannot be activated those whose pool is not open to
// their workspace.
func (a *API) inClosedPools(ctx context.Context, ids []int, why map[int]error) (map[int]error, error) {
	list, err := experiments.ClosedExperiments(ctx, a.db, ids, 0, 0)
	for _, e := range list {
		if why == nil {
			why = map[int]error{}
		}
		if why[e.ID] == nil {
			why[e.ID] = fault.New(fault.Invalid, "experiment %d cannot be activated: pool %s is not open to its workspace, because it is bound to others; change its pool with det job update", e.ID, e.Pool)
		}
	}
	return why, err
}
