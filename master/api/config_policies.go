package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerConfigPolicies() {
	rest.ServeOn(a.router, v1.GetGlobalConfigPolicies, inNoWorkspace(), a.globalPolicies)
	rest.ServeOn(a.router, v1.PutGlobalConfigPolicies, inNoWorkspace(), a.putGlobalPolicies)
	rest.ServeOn(a.router, v1.DeleteGlobalConfigPolicies, inNoWorkspace(), a.deleteGlobalPolicies)
	rest.ServeOn(a.router, v1.GetWorkspaceConfigPolicies, a.onWorkspace(), a.workspacePolicies)
	rest.ServeOn(a.router, v1.PutWorkspaceConfigPolicies, a.onWorkspace(), a.putWorkspacePolicies)
	rest.ServeOn(a.router, v1.DeleteWorkspaceConfigPolicies, a.onWorkspace(), a.deleteWorkspacePolicies)
}

// inNoWorkspace is the cluster in place of a workspace: the zero workspace.
func inNoWorkspace() rest.Object[store.Workspace] {
	return rest.Object[store.Workspace]{
		Load: func(context.Context, *rest.Call) (store.Workspace, error) { return store.Workspace{}, nil },
		Of:   func(store.Workspace) auth.Object { return auth.Object{Kind: v1.KindCluster} },
	}
}

// workloadInPath is the type of workload in a path.
func workloadInPath(c *rest.Call) (string, error) {
	switch w := c.Param("workload"); w {
	case store.WorkloadExperiment, store.WorkloadTasks:
		return w, nil
	default:
		return "", fault.New(fault.Invalid, "invalid workload type: %s: expected EXPERIMENT or NTSC", fault.Clip(w))
	}
}

// scopeOfPolicy is the workspace of a policy; nil for that of the cluster.
func scopeOfPolicy(ws store.Workspace) *int {
	if ws.ID == 0 {
		return nil
	}
	return &ws.ID
}

// policies reads the policies of a workspace, or those of the cluster for the zero workspace: all
// of them for users who may change them, without secrets for others.
func (a *API) policies(ctx context.Context, c *rest.Call, ws store.Workspace, may bool) (v1.Struct, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	list, err := a.db.ConfigPolicies(ctx, ws.ID, workload)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if (p.WorkspaceID == nil) == (ws.ID == 0) {
			doc, err := shownPolicy(p, launch.PolicyNamed(ws.Name), may)
			if err != nil {
				return nil, err
			}
			b, err := doc.JSON()
			return v1.Struct(b), err
		}
	}
	return v1.Struct(`{}`), nil
}

func shownPolicy(p store.ConfigPolicy, name string, whole bool) (expconf.Document, error) {
	if whole {
		return expconf.ParseDocument(name, []byte(p.Source))
	}
	if p.Workload == store.WorkloadTasks {
		parsed, err := expconf.ParseCommandPolicy(name, []byte(p.Source))
		if err != nil {
			return nil, err
		}
		return parsed.Redacted()
	}
	parsed, err := expconf.ParsePolicy(name, []byte(p.Source))
	if err != nil {
		return nil, err
	}
	return parsed.Redacted()
}

// setPolicies checks and stores policies, and returns them as they were written.
func (a *API) setPolicies(ctx context.Context, c *rest.Call, ws store.Workspace, named, text string) (v1.Struct, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	if named != "" && named != workload {
		return nil, fault.New(fault.Invalid, "workloadType: %q in the body is not %s, which the path names", fault.Clip(named), workload)
	}
	doc, err := a.experiments.CheckPolicy(ctx, ws, workload, text)
	if err != nil {
		return nil, err
	}
	if err := a.db.SetConfigPolicy(ctx, store.ConfigPolicy{WorkspaceID: scopeOfPolicy(ws), Workload: workload, Source: text}, c.Who().UserID); err != nil {
		return nil, err
	}
	b, err := doc.JSON()
	return v1.Struct(b), err
}

func (a *API) deletePolicies(ctx context.Context, c *rest.Call, ws store.Workspace) (*v1.None, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	return &v1.None{}, a.db.DeleteConfigPolicy(ctx, scopeOfPolicy(ws), workload)
}

func (a *API) globalPolicies(ctx context.Context, c *rest.Call, none store.Workspace, _ *v1.None) (*v1.GetGlobalConfigPoliciesResponse, error) {
	set, err := a.policies(ctx, c, none, auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}))
	return &v1.GetGlobalConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (a *API) putGlobalPolicies(ctx context.Context, c *rest.Call, none store.Workspace, req *v1.PutGlobalConfigPoliciesRequest) (*v1.PutGlobalConfigPoliciesResponse, error) {
	set, err := a.setPolicies(ctx, c, none, req.WorkloadType, req.ConfigPolicies)
	return &v1.PutGlobalConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (a *API) deleteGlobalPolicies(ctx context.Context, c *rest.Call, none store.Workspace, _ *v1.None) (*v1.None, error) {
	return a.deletePolicies(ctx, c, none)
}

func (a *API) workspacePolicies(ctx context.Context, c *rest.Call, ws store.Workspace, _ *v1.None) (*v1.GetWorkspaceConfigPoliciesResponse, error) {
	set, err := a.policies(ctx, c, ws, auth.Can(c.Who(), auth.Change, ofWorkspace(ws)))
	return &v1.GetWorkspaceConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (a *API) putWorkspacePolicies(ctx context.Context, c *rest.Call, ws store.Workspace, req *v1.PutWorkspaceConfigPoliciesRequest) (*v1.PutWorkspaceConfigPoliciesResponse, error) {
	if req.WorkspaceID != 0 && req.WorkspaceID != ws.ID {
		return nil, fault.New(fault.Invalid, "workspaceId: %d in the body is not %d, which the path names", req.WorkspaceID, ws.ID)
	}
	set, err := a.setPolicies(ctx, c, ws, req.WorkloadType, req.ConfigPolicies)
	return &v1.PutWorkspaceConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (a *API) deleteWorkspacePolicies(ctx context.Context, c *rest.Call, ws store.Workspace, _ *v1.None) (*v1.None, error) {
	return a.deletePolicies(ctx, c, ws)
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
	ws, err := a.db.Workspace(ctx, workspace)
	if err != nil {
		return launch.Guard{}, err
	}
	return a.experiments.Guard(ctx, ws, workload)
}
