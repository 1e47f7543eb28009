package accounts

import (
	"cmp"
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// This file has what Determined had for users before /api/v1, and still has. Most of the handlers translate the body and call the
// function of the newer endpoint.

func (d Deps) oldLogin(ctx context.Context, c *rest.Call, req *v1.OldLoginRequest) (*v1.OldLoginResponse, error) {
	text, _ := c.Query("cookie")
	cookie, err := strconv.ParseBool(cmp.Or(text, "false"))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cookie: expected true or false, found %q", fault.Clip(text))
	}
	resp, err := d.login(ctx, c, &v1.LoginRequest{Username: req.Username, Password: req.Password})
	if err != nil {
		return nil, err
	}
	if !cookie {
		c.Unset("Set-Cookie")
	}
	return &v1.OldLoginResponse{Token: resp.Token}, nil
}

func oldUser(u User) v1.OldUser {
	return v1.OldUser{ID: u.ID, Username: u.Username, DisplayName: u.DisplayName, Admin: u.Admin, Active: u.Active, Remote: u.Remote}
}

func (d Deps) listOldUsers(ctx context.Context, _ *rest.Call, _ *v1.None) (*[]v1.OldUser, error) {
	list, _, err := Users(ctx, d.DB, UserFilter{})
	return new(each.Of(list, oldUser)), err
}

// agentUserOf translates an old request's account on nodes.
func agentUserOf(g *v1.OldAgentUser) *v1.AgentUserGroup {
	if g == nil {
		return nil
	}
	return &v1.AgentUserGroup{AgentUid: g.UID, AgentGid: g.GID, AgentUser: g.User, AgentGroup: g.Group}
}

// createOldUser makes an inactive user if the request does not say active, as Determined does.
func (d Deps) createOldUser(ctx context.Context, c *rest.Call, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username == nil {
		return nil, fault.New(fault.Invalid, "username: is required")
	}
	_, err := d.createUser(ctx, c, &v1.PostUserRequest{Password: req.Password, User: &v1.User{Username: *req.Username,
		Admin: req.Admin != nil && *req.Admin, Active: req.Active != nil && *req.Active, AgentUserGroup: agentUserOf(req.AgentUserGroup)}})
	return &v1.Empty{}, err
}

func (d Deps) patchOldUser(ctx context.Context, c *rest.Call, u User, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username != nil {
		return nil, fault.New(fault.Invalid, "username: PATCH /users/%s/username renames a user", u.Username)
	}
	_, err := d.patchUser(ctx, c, u, &v1.PatchUser{Password: req.Password, Active: req.Active, Admin: req.Admin, AgentUserGroup: agentUserOf(req.AgentUserGroup)})
	return &v1.Empty{}, err
}

func (d Deps) renameOldUser(ctx context.Context, c *rest.Call, u User, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username == nil {
		return nil, fault.New(fault.Invalid, "username: is required")
	}
	_, err := d.patchUser(ctx, c, u, &v1.PatchUser{Username: req.Username})
	return &v1.Empty{}, err
}
