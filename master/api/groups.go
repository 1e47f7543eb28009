package api

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxGroupName = 200
	// maxAssigned is the maximum number of users, groups or roles that one request names.
	maxAssigned = 1000
	// maxListed is the maximum length of a page of groups or roles.
	maxListed = 500
)

// pageOf is the window of a list of which the body has limit and offset.
func pageOf(offset, limit int) v1.Window {
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	return v1.Window{Offset: max(offset, 0), Limit: limit}
}

// seesGroups reports whether the caller sees all groups, as users do who may assign roles to groups.
// Other users see only the groups of which they are members.
func seesGroups(c *rest.Call) bool {
	if c.Who().Grants == nil || c.Who().IsAdmin() {
		return true
	}
	in := auth.ScopeOf(c.Who(), auth.Assign, v1.KindRole)
	return in.All || len(in.Workspaces) > 0
}

// onGroup is the group that a path names.
func (a *API) onGroup() rest.Object[accounts.Group] {
	of := func(g accounts.Group) auth.Object {
		return auth.Object{Kind: v1.KindGroup, Name: called(v1.KindGroup, g.ID)}
	}
	o := rest.On("group", func(ctx context.Context, id int) (accounts.Group, error) { return accounts.GroupByID(ctx, a.db.DB, id) }, of)
	find := o.Load
	o.Load = func(ctx context.Context, c *rest.Call) (accounts.Group, error) {
		g, err := find(ctx, c)
		if err != nil || seesGroups(c) {
			return g, err
		}
		member, err := accounts.IsMember(ctx, a.db.DB, g.ID, c.Who().UserID)
		if err == nil && !member {
			err = fault.New(fault.NotFound, "group %d not found", g.ID)
		}
		return g, err
	}
	return o
}

func (a *API) listGroups(ctx context.Context, c *rest.Call, req *v1.GetGroupsRequest) (*v1.GetGroupsResponse, error) {
	f := accounts.GroupFilter{Name: req.Name, UserID: req.UserID}
	if !seesGroups(c) {
		f.Seen = c.Who().UserID
	}
	w := pageOf(req.Offset, req.Limit)
	list, total, err := accounts.Groups(ctx, a.db.DB, f, w.Offset, w.Limit)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetGroupsResponse{Pagination: &v1.Pagination{Offset: w.Offset, Limit: w.Limit, StartIndex: min(w.Offset, total), EndIndex: min(w.Offset, total) + len(list), Total: total}}
	for _, g := range list {
		resp.Groups = append(resp.Groups, v1.GroupSearchResult{Group: v1.Group{GroupID: g.ID, Name: g.Name, Origin: g.Origin}, NumMembers: g.Members})
	}
	return resp, nil
}

// details are groups with their members.
func (a *API) details(ctx context.Context, list []accounts.Group) ([]v1.GroupDetails, error) {
	ids := make([]int, len(list))
	for i, g := range list {
		ids[i] = g.ID
	}
	members, err := accounts.GroupUsers(ctx, a.db.DB, ids)
	out := make([]v1.GroupDetails, len(list))
	for i, g := range list {
		out[i] = v1.GroupDetails{GroupID: g.ID, Name: g.Name, Origin: g.Origin}
		for _, u := range members[g.ID] {
			out[i].Users = append(out[i].Users, wireUser(u))
		}
	}
	return out, err
}

func (a *API) groupDetails(ctx context.Context, id int) (v1.GroupDetails, error) {
	g, err := accounts.GroupByID(ctx, a.db.DB, id)
	if err != nil {
		return v1.GroupDetails{}, err
	}
	list, err := a.details(ctx, []accounts.Group{g})
	if err != nil {
		return v1.GroupDetails{}, err
	}
	return list[0], nil
}

func (a *API) group(ctx context.Context, _ *rest.Call, g accounts.Group, _ *v1.None) (*v1.GetGroupResponse, error) {
	d, err := a.groupDetails(ctx, g.ID)
	return &v1.GetGroupResponse{Group: d}, err
}

// checkNamed limits how many things a request names.
func checkNamed(field string, ids []int) error {
	if len(ids) > maxAssigned {
		return fault.New(fault.Invalid, "%s: %d entries exceed the limit of %d; send several requests", field, len(ids), maxAssigned)
	}
	return nil
}

func (a *API) createGroup(ctx context.Context, c *rest.Call, req *v1.CreateGroupRequest) (*v1.CreateGroupResponse, error) {
	if err := names.Check("name", req.Name, maxGroupName); err != nil {
		return nil, err
	}
	if err := checkNamed("addUsers", req.AddUsers); err != nil {
		return nil, err
	}
	id, err := accounts.CreateGroup(ctx, a.db.DB, req.Name, req.AddUsers)
	if err != nil {
		return nil, err
	}
	d, err := a.groupDetails(ctx, id)
	return &v1.CreateGroupResponse{Group: d}, err
}

func (a *API) updateGroup(ctx context.Context, c *rest.Call, g accounts.Group, req *v1.UpdateGroupRequest) (*v1.UpdateGroupResponse, error) {
	if req.Name != "" {
		if err := names.Check("name", req.Name, maxGroupName); err != nil {
			return nil, err
		}
	}
	if err := checkNamed("addUsers and removeUsers", slices.Concat(req.AddUsers, req.RemoveUsers)); err != nil {
		return nil, err
	}
	if err := accounts.ChangeGroup(ctx, a.db.DB, a.db.Roles, g.ID, req.Name, req.AddUsers, req.RemoveUsers); err != nil {
		return nil, err
	}
	a.rolesChanged()
	d, err := a.groupDetails(ctx, g.ID)
	return &v1.UpdateGroupResponse{Group: d}, err
}

func (a *API) deleteGroup(ctx context.Context, c *rest.Call, g accounts.Group, _ *v1.None) (*v1.Empty, error) {
	noteDone(c, map[string]any{"name": g.Name})
	if err := accounts.DeleteGroup(ctx, a.db.DB, a.db.Roles, g.ID); err != nil {
		return nil, err
	}
	a.rolesChanged()
	return &v1.Empty{}, nil
}

func (a *API) assignGroups(ctx context.Context, c *rest.Call, req *v1.AssignMultipleGroupsRequest) (*v1.Empty, error) {
	for field, ids := range map[string][]int{"userIds": req.UserIDs, "addGroups": req.AddGroups, "removeGroups": req.RemoveGroups} {
		if err := checkNamed(field, ids); err != nil {
			return nil, err
		}
	}
	if err := accounts.ChangeMemberships(ctx, a.db.DB, a.db.Roles, req.UserIDs, req.AddGroups, req.RemoveGroups); err != nil {
		return nil, err
	}
	a.rolesChanged()
	return &v1.Empty{}, nil
}
