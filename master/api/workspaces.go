package api

import (
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerWorkspaces gives the room of workspaces what it uses of experiments, of callers, and of the audit trail.
func (a *API) registerWorkspaces() {
	workspaces.Routes(a.router, workspaces.Deps{DB: a.db, Roles: a.cfg.Roles, Pools: a.cfg.Pools, RolesChanged: a.auth.Forget, MountSecrets: a.cfg.Site.Secrets.Name,
		StoreAgentUser: accounts.PartOfAgentUser, AgentUser: accounts.WireAgentUser, Admit: a.users.Admit, AdmitChange: a.users.AdmitChange, Delete: of(a.db, experiments.DeleteWorkspace),
		DeleteProject: of(a.db, experiments.DeleteProject), Note: audit.Note, CheckPolicy: a.launcher.CheckPolicy, BindingsChanged: func() { a.bus.Publish(lifecycle.TopicIntent) }})
}
