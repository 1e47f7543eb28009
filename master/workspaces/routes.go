package workspaces

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB    *database.DB
	Roles accounts.Roles
	Pools pool.Set
	// RolesChanged applies the new roles of a user at once.
	RolesChanged func(user int)
	// MountSecrets reports whether operators offer secrets to the tasks of the workspace with this name.
	MountSecrets func(name string) bool
	// StoreAgentUser checks and encodes an account on nodes, and AgentUser decodes it.
	StoreAgentUser func(*v1.AgentUserGroup) ([]byte, error)
	AgentUser      func(stored []byte) *v1.AgentUserGroup
	// Admit fails if a user stores as much as one user may, and AdmitChange if a change gives an object of a user a longer text.
	Admit       func(ctx context.Context, owner int, more int64) error
	AdmitChange func(ctx context.Context, c *rest.Call, owner, bytes int) error
	// Delete and DeleteProject begin the deletion of a workspace, and of a project, with the experiments in it. done: nothing is left.
	Delete        func(ctx context.Context, id int) (done bool, err error)
	DeleteProject func(ctx context.Context, id int) (done bool, err error)
	// Note adds what a call did to its entry in the audit trail.
	Note func(c *rest.Call, what map[string]any)
	// CheckPolicy checks the text of a policy against the other policies and the pools, and returns its document.
	CheckPolicy func(ctx context.Context, in Workspace, workload, text string) (expconf.Document, error)
	// BindingsChanged wakes the control loop.
	BindingsChanged func()
}

// Routes adds the endpoints of workspaces, projects, templates, policies, and the bindings of pools.
func Routes(r *rest.Router, d Deps) {
	workspace, project, template, pool, none := On(d.DB), OnProject(d.DB), onTemplate(d.DB), d.onPool(), inNoWorkspace()
	rest.Serve(r, v1.ListWorkspaces, d.listWorkspaces)
	rest.Serve(r, v1.CreateWorkspace, d.createWorkspace)
	rest.ServeOn(r, v1.GetWorkspace, workspace, d.workspace)
	rest.ServeOn(r, v1.ChangeWorkspace, changed(workspace, Workspace.fixed), d.patchWorkspace)
	rest.ServeOn(r, v1.DeleteWorkspace, workspace, d.deleteWorkspace)
	rest.ServeOn(r, v1.ArchiveWorkspace, workspace, d.archiveWorkspace(true))
	rest.ServeOn(r, v1.UnarchiveWorkspace, workspace, d.archiveWorkspace(false))
	rest.ServeOn(r, v1.PinWorkspace, workspace, d.pin(Pin))
	rest.ServeOn(r, v1.UnpinWorkspace, workspace, d.pin(Unpin))
	rest.ServeOn(r, v1.ListProjects, rest.OrAll(workspace, func(w Workspace) int { return w.ID }), d.listProjects)
	rest.ServeOn(r, v1.CreateProject, workspace, d.createProject)
	rest.ServeOn(r, v1.GetProjectByKey, onProjectByKey(d.DB), d.project)
	rest.ServeOn(r, v1.GetProject, project, d.project)
	rest.ServeOn(r, v1.ChangeProject, changed(project, Project.fixed), d.patchProject)
	rest.ServeOn(r, v1.DeleteProject, project, d.deleteProject)
	rest.ServeOn(r, v1.ArchiveProject, project, d.archiveProject(true))
	rest.ServeOn(r, v1.UnarchiveProject, project, d.archiveProject(false))
	rest.ServeOn(r, v1.SetProjectNotes, project, d.putProjectNotes)
	rest.ServeOn(r, v1.AddProjectNote, project, d.addProjectNote)
	rest.Serve(r, v1.PostUserActivity, d.postUserActivity)
	rest.Serve(r, v1.ListVisitedProjects, d.visitedProjects)
	rest.Serve(r, v1.ListTemplates, d.listTemplates)
	rest.ServeOn(r, v1.GetTemplate, template, d.template)
	rest.Serve(r, v1.CreateTemplate, d.createTemplate)
	rest.ServeOn(r, v1.PutTemplate, onTemplateOrNew(d.DB), d.putTemplate)
	rest.ServeOn(r, v1.ChangeTemplate, template, d.patchTemplate)
	rest.ServeOn(r, v1.DeleteTemplate, template, d.deleteTemplate)
	rest.Serve(r, v1.RenameTemplate, d.renameTemplate)
	rest.ServeOn(r, v1.GetGlobalConfigPolicies, none, d.globalPolicies)
	rest.ServeOn(r, v1.PutGlobalConfigPolicies, none, d.putGlobalPolicies)
	rest.ServeOn(r, v1.DeleteGlobalConfigPolicies, none, d.deletePolicies)
	rest.ServeOn(r, v1.GetWorkspaceConfigPolicies, workspace, d.workspacePolicies)
	rest.ServeOn(r, v1.PutWorkspaceConfigPolicies, workspace, d.putWorkspacePolicies)
	rest.ServeOn(r, v1.DeleteWorkspaceConfigPolicies, workspace, d.deletePolicies)
	rest.ServeOn(r, v1.ListPoolWorkspaces, pool, d.poolWorkspaces)
	rest.ServeOn(r, v1.BindPool, d.onBoundPool(), d.bindPool)
	rest.ServeOn(r, v1.UnbindPool, d.onBoundPool(), d.unbindPool)
	rest.ServeOn(r, v1.ReplacePoolBindings, d.onBoundPool(), d.replaceBindings)
	rest.ServeOn(r, v1.ListWorkspacePools, workspace, d.workspacePools)
}
