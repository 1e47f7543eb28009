package api

import (
	"cmp"
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerOldUsers adds what Determined had for users before /api/v1, and still has. Most of them
// translate the body and call the function of the newer endpoint.
func (a *API) registerOldUsers() {
	rest.Serve(a.router, v1.OldLogin, a.oldLogin)
	rest.Serve(a.router, v1.OldLogout, a.logout)
	rest.Serve(a.router, v1.ListOldUsers, a.listOldUsers)
	rest.Serve(a.router, v1.CreateOldUser, a.createOldUser)
	rest.ServeOn(a.router, v1.ChangeOldUser, a.onUserByName(), a.patchOldUser)
	rest.ServeOn(a.router, v1.RenameOldUser, a.onUserByName(), a.renameOldUser)
}

func (a *API) oldLogin(ctx context.Context, c *rest.Call, req *v1.OldLoginRequest) (*v1.OldLoginResponse, error) {
	text, _ := c.Query("cookie")
	cookie, err := strconv.ParseBool(cmp.Or(text, "false"))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cookie: expected true or false, found %q", fault.Clip(text))
	}
	resp, err := a.login(ctx, c, &v1.LoginRequest{Username: req.Username, Password: req.Password})
	if err != nil {
		return nil, err
	}
	if !cookie {
		c.Unset("Set-Cookie")
	}
	return &v1.OldLoginResponse{Token: resp.Token}, nil
}

func oldUser(u accounts.User) v1.OldUser {
	return v1.OldUser{ID: u.ID, Username: u.Username, DisplayName: u.DisplayName, Admin: u.Admin, Active: u.Active, Remote: u.Remote}
}

func (a *API) listOldUsers(ctx context.Context, _ *rest.Call, _ *v1.None) (*[]v1.OldUser, error) {
	list, _, err := accounts.Users(ctx, a.db.DB, accounts.UserFilter{})
	out := make([]v1.OldUser, 0, len(list))
	for _, u := range list {
		out = append(out, oldUser(u))
	}
	return &out, err
}

// agentUserOf translates an old request's account on nodes.
func agentUserOf(g *v1.OldAgentUser) *v1.AgentUserGroup {
	if g == nil {
		return nil
	}
	return &v1.AgentUserGroup{AgentUid: g.UID, AgentGid: g.GID, AgentUser: g.User, AgentGroup: g.Group}
}

// createOldUser makes an inactive user if the request does not say active, as Determined does.
func (a *API) createOldUser(ctx context.Context, c *rest.Call, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username == nil {
		return nil, fault.New(fault.Invalid, "username: is required")
	}
	_, err := a.createUser(ctx, c, &v1.PostUserRequest{Password: req.Password, User: &v1.User{Username: *req.Username,
		Admin: req.Admin != nil && *req.Admin, Active: req.Active != nil && *req.Active, AgentUserGroup: agentUserOf(req.AgentUserGroup)}})
	return &v1.Empty{}, err
}

func (a *API) patchOldUser(ctx context.Context, c *rest.Call, u accounts.User, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username != nil {
		return nil, fault.New(fault.Invalid, "username: PATCH /users/%s/username renames a user", u.Username)
	}
	_, err := a.patchUser(ctx, c, u, &v1.PatchUser{Password: req.Password, Active: req.Active, Admin: req.Admin, AgentUserGroup: agentUserOf(req.AgentUserGroup)})
	return &v1.Empty{}, err
}

func (a *API) renameOldUser(ctx context.Context, c *rest.Call, u accounts.User, req *v1.OldUserRequest) (*v1.Empty, error) {
	if req.Username == nil {
		return nil, fault.New(fault.Invalid, "username: is required")
	}
	_, err := a.patchUser(ctx, c, u, &v1.PatchUser{Username: req.Username})
	return &v1.Empty{}, err
}
