package api

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// previewAccess shows what each user has with roles. Before roles are in use, it counts the admins
// of basic mode as ClusterAdmins, because they become that at the switch.
func (a *API) previewAccess(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.AccessPreviewResponse, error) {
	users, _, err := accounts.Users(ctx, a.db.DB, accounts.UserFilter{})
	if err != nil {
		return nil, err
	}
	users, p, err := rest.Cut(users, req.Window)
	if err != nil {
		return nil, err
	}
	ids := make([]int, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	grants, err := accounts.GrantsOf(ctx, a.db.DB, ids)
	if err != nil {
		return nil, err
	}
	owned, err := a.db.OwnedExperiments(ctx)
	if err != nil {
		return nil, err
	}
	workspaces, err := workspaces.IDs(ctx, a.db.DB)
	if err != nil {
		return nil, err
	}
	byOwner := map[int][]accounts.Owned{}
	for _, o := range owned {
		byOwner[o.OwnerID] = append(byOwner[o.OwnerID], o)
	}
	resp := &v1.AccessPreviewResponse{InUse: bool(a.db.Roles), Workspaces: len(workspaces), Pagination: p}
	for _, u := range users {
		g := grants[u.ID]
		if !resp.InUse && u.Admin && u.Active {
			g = append(auth.NewGrants([][2]int{{int(auth.ClusterAdmin), 0}}), g...)
		}
		resp.Users = append(resp.Users, previewOf(u, g, workspaces, byOwner[u.ID]))
	}
	return resp, nil
}

func previewOf(u accounts.User, g auth.Grants, workspaces []int, owned []accounts.Owned) v1.AccessPreview {
	who := auth.Who{UserID: u.ID, Grants: &g}
	out := v1.AccessPreview{UserID: u.ID, Username: u.Username, Active: u.Active, ClusterAdmin: who.IsAdmin()}
	for _, w := range workspaces {
		in := auth.Object{Kind: v1.KindExperiment, WorkspaceID: w}
		if auth.Can(who, auth.View, in) {
			out.Views++
		}
		if auth.Can(who, auth.Create, in) {
			out.Edits++
		}
	}
	for _, o := range owned {
		is := auth.Object{Kind: v1.KindExperiment, OwnerID: u.ID, WorkspaceID: o.WorkspaceID}
		out.Owns += o.N
		if !auth.Can(who, auth.View, is) {
			out.LosesSight += o.N
		}
		if !auth.Can(who, auth.Change, is) {
			out.LosesControl += o.N
		}
	}
	return out
}
