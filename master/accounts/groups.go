package accounts

import (
	"context"
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
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
func (d Deps) onGroup() rest.Object[Group] {
	of := func(g Group) auth.Object {
		return auth.Object{Kind: v1.KindGroup, Name: fmt.Sprintf("%s %d", v1.KindGroup, g.ID)}
	}
	o := rest.On("group", func(ctx context.Context, id int) (Group, error) { return GroupByID(ctx, d.DB, id) }, of)
	find := o.Load
	o.Load = func(ctx context.Context, c *rest.Call) (Group, error) {
		g, err := find(ctx, c)
		if err != nil || seesGroups(c) {
			return g, err
		}
		member, err := IsMember(ctx, d.DB, g.ID, c.Who().UserID)
		if err == nil && !member {
			err = fault.New(fault.NotFound, "group %d not found", g.ID)
		}
		return g, err
	}
	return o
}

func (d Deps) listGroups(ctx context.Context, c *rest.Call, req *v1.GetGroupsRequest) (*v1.GetGroupsResponse, error) {
	f := GroupFilter{Name: req.Name, UserID: req.UserID}
	if !seesGroups(c) {
		f.Seen = c.Who().UserID
	}
	w := pageOf(req.Offset, req.Limit)
	list, total, err := Groups(ctx, d.DB, f, w.Offset, w.Limit)
	if err != nil {
		return nil, err
	}
	return &v1.GetGroupsResponse{Pagination: &v1.Pagination{Offset: w.Offset, Limit: w.Limit, StartIndex: min(w.Offset, total), EndIndex: min(w.Offset, total) + len(list), Total: total},
		Groups: each.Of(list, func(g Group) v1.GroupSearchResult {
			return v1.GroupSearchResult{Group: v1.Group{GroupID: g.ID, Name: g.Name, Origin: g.Origin}, NumMembers: g.Members}
		})}, nil
}

// details are groups with their members.
func (d Deps) details(ctx context.Context, list []Group) ([]v1.GroupDetails, error) {
	ids := each.Of(list, func(g Group) int { return g.ID })
	members, err := GroupUsers(ctx, d.DB, ids)
	return each.Of(list, func(g Group) v1.GroupDetails {
		return v1.GroupDetails{GroupID: g.ID, Name: g.Name, Origin: g.Origin, Users: each.Of(members[g.ID], WireUser)}
	}), err
}

func (d Deps) groupDetails(ctx context.Context, id int) (v1.GroupDetails, error) {
	g, err := GroupByID(ctx, d.DB, id)
	if err != nil {
		return v1.GroupDetails{}, err
	}
	list, err := d.details(ctx, []Group{g})
	return list[0], err
}

func (d Deps) group(ctx context.Context, _ *rest.Call, g Group, _ *v1.None) (*v1.GetGroupResponse, error) {
	shown, err := d.groupDetails(ctx, g.ID)
	return &v1.GetGroupResponse{Group: shown}, err
}

// checkNamed limits how many things a request names.
func checkNamed(field string, ids []int) error {
	if len(ids) > maxAssigned {
		return fault.New(fault.Invalid, "%s: %d entries exceed the limit of %d; send several requests", field, len(ids), maxAssigned)
	}
	return nil
}

func (d Deps) createGroup(ctx context.Context, c *rest.Call, req *v1.CreateGroupRequest) (*v1.CreateGroupResponse, error) {
	if err := names.Check("name", req.Name, maxGroupName); err != nil {
		return nil, err
	}
	if err := checkNamed("addUsers", req.AddUsers); err != nil {
		return nil, err
	}
	id, err := CreateGroup(ctx, d.DB, req.Name, req.AddUsers)
	if err != nil {
		return nil, err
	}
	shown, err := d.groupDetails(ctx, id)
	return &v1.CreateGroupResponse{Group: shown}, err
}

func (d Deps) updateGroup(ctx context.Context, c *rest.Call, g Group, req *v1.UpdateGroupRequest) (*v1.UpdateGroupResponse, error) {
	if req.Name != "" {
		if err := names.Check("name", req.Name, maxGroupName); err != nil {
			return nil, err
		}
	}
	if err := checkNamed("addUsers and removeUsers", slices.Concat(req.AddUsers, req.RemoveUsers)); err != nil {
		return nil, err
	}
	if err := ChangeGroup(ctx, d.DB, d.Roles, g.ID, req.Name, req.AddUsers, req.RemoveUsers); err != nil {
		return nil, err
	}
	d.Callers.RolesChanged()
	shown, err := d.groupDetails(ctx, g.ID)
	return &v1.UpdateGroupResponse{Group: shown}, err
}

func (d Deps) deleteGroup(ctx context.Context, c *rest.Call, g Group, _ *v1.None) (*v1.Empty, error) {
	audit.Note(c, map[string]any{"name": g.Name})
	return rest.Done[v1.Empty](DeleteGroup(ctx, d.DB, d.Roles, g.ID), d.Callers.RolesChanged)
}

func (d Deps) assignGroups(ctx context.Context, c *rest.Call, req *v1.AssignMultipleGroupsRequest) (*v1.Empty, error) {
	for field, ids := range map[string][]int{"userIds": req.UserIDs, "addGroups": req.AddGroups, "removeGroups": req.RemoveGroups} {
		if err := checkNamed(field, ids); err != nil {
			return nil, err
		}
	}
	return rest.Done[v1.Empty](ChangeMemberships(ctx, d.DB, d.Roles, req.UserIDs, req.AddGroups, req.RemoveGroups), d.Callers.RolesChanged)
}
