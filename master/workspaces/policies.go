package workspaces

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// inNoWorkspace is the cluster in place of a workspace: the zero workspace.
func inNoWorkspace() rest.Object[Workspace] {
	return rest.Object[Workspace]{
		Load: func(context.Context, *rest.Call) (Workspace, error) { return Workspace{}, nil },
		Of:   func(Workspace) auth.Object { return auth.Object{Kind: v1.KindCluster} },
	}
}

// workloadInPath is the type of workload in a path.
func workloadInPath(c *rest.Call) (string, error) {
	switch w := c.Param("workload"); w {
	case WorkloadExperiment, WorkloadTasks:
		return w, nil
	default:
		return "", fault.New(fault.Invalid, "invalid workload type: %s: expected EXPERIMENT or NTSC", fault.Clip(w))
	}
}

// scopeOfPolicy is the workspace of a policy; nil for that of the cluster.
func scopeOfPolicy(ws Workspace) *int {
	if ws.ID == 0 {
		return nil
	}
	return &ws.ID
}

// policies reads the policies of a workspace, or those of the cluster for the zero workspace: all
// of them for users who may change them, without secrets for others.
func (d Deps) policies(ctx context.Context, c *rest.Call, ws Workspace, may bool) (v1.Struct, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	list, err := Policies(ctx, d.DB, ws.ID, workload)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if (p.WorkspaceID == nil) == (ws.ID == 0) {
			doc, err := shownPolicy(p, PolicyNamed(ws.Name), may)
			if err != nil {
				return nil, err
			}
			b, err := doc.JSON()
			return v1.Struct(b), err
		}
	}
	return v1.Struct(`{}`), nil
}

func shownPolicy(p Policy, name string, whole bool) (expconf.Document, error) {
	if whole {
		return expconf.ParseDocument(name, []byte(p.Source))
	}
	if p.Workload == WorkloadTasks {
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
func (d Deps) setPolicies(ctx context.Context, c *rest.Call, ws Workspace, named, text string) (v1.Struct, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	if named != "" && named != workload {
		return nil, fault.New(fault.Invalid, "workloadType: %q in the body is not %s, which the path names", fault.Clip(named), workload)
	}
	doc, err := d.CheckPolicy(ctx, ws, workload, text)
	if err != nil {
		return nil, err
	}
	if err := SetPolicy(ctx, d.DB, Policy{WorkspaceID: scopeOfPolicy(ws), Workload: workload, Source: text}, c.Who().UserID); err != nil {
		return nil, err
	}
	b, err := doc.JSON()
	return v1.Struct(b), err
}

func (d Deps) deletePolicies(ctx context.Context, c *rest.Call, ws Workspace, _ *v1.None) (*v1.None, error) {
	workload, err := workloadInPath(c)
	if err != nil {
		return nil, err
	}
	return &v1.None{}, DeletePolicy(ctx, d.DB, scopeOfPolicy(ws), workload)
}

func (d Deps) globalPolicies(ctx context.Context, c *rest.Call, none Workspace, _ *v1.None) (*v1.GetGlobalConfigPoliciesResponse, error) {
	set, err := d.policies(ctx, c, none, auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}))
	return &v1.GetGlobalConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (d Deps) putGlobalPolicies(ctx context.Context, c *rest.Call, none Workspace, req *v1.PutGlobalConfigPoliciesRequest) (*v1.PutGlobalConfigPoliciesResponse, error) {
	set, err := d.setPolicies(ctx, c, none, req.WorkloadType, req.ConfigPolicies)
	return &v1.PutGlobalConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (d Deps) workspacePolicies(ctx context.Context, c *rest.Call, ws Workspace, _ *v1.None) (*v1.GetWorkspaceConfigPoliciesResponse, error) {
	set, err := d.policies(ctx, c, ws, auth.Can(c.Who(), auth.Change, ws.Object()))
	return &v1.GetWorkspaceConfigPoliciesResponse{ConfigPolicies: set}, err
}

func (d Deps) putWorkspacePolicies(ctx context.Context, c *rest.Call, ws Workspace, req *v1.PutWorkspaceConfigPoliciesRequest) (*v1.PutWorkspaceConfigPoliciesResponse, error) {
	if req.WorkspaceID != 0 && req.WorkspaceID != ws.ID {
		return nil, fault.New(fault.Invalid, "workspaceId: %d in the body is not %d, which the path names", req.WorkspaceID, ws.ID)
	}
	set, err := d.setPolicies(ctx, c, ws, req.WorkloadType, req.ConfigPolicies)
	return &v1.PutWorkspaceConfigPoliciesResponse{ConfigPolicies: set}, err
}
