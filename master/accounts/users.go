package accounts

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxUsername    = 128
	maxDisplayName = 200
	maxBulk        = 10_000 // users of one call
)

func ofUser(u User) auth.Object { return auth.Object{Kind: v1.KindUser, OwnerID: u.ID} }

func (d Deps) userByID(ctx context.Context, id int) (User, error) { return UserByID(ctx, d.DB, id) }

func (d Deps) onUser(refusal string) rest.Object[User] {
	o := rest.On("id", d.userByID, ofUser)
	o.Refusal = func(*rest.Call, auth.Verb, User) error { return fault.New(fault.Forbidden, "%s", refusal) }
	return o
}

func (d Deps) onUserByName() rest.Object[User] {
	return rest.Object[User]{Of: ofUser, Load: func(ctx context.Context, c *rest.Call) (User, error) {
		return UserByName(ctx, d.DB, strings.ToLower(c.Param("name")))
	}}
}

// WireUser returns a user as clients see it.
func WireUser(u User) v1.User {
	return v1.User{ID: u.ID, Username: u.Username, DisplayName: u.DisplayName, Admin: u.Admin, Active: u.Active,
		Remote: u.Remote, ServiceAccount: u.Service, ModifiedAt: &u.ModifiedAt, LastAuthAt: u.LastAuthAt, AgentUserGroup: WireAgentUser(u.AgentUser)}
}

// agentUser is the account on nodes that a user's tasks run as, as it is stored.
type agentUser struct {
	User  *string `json:"user,omitempty"`
	UID   *int    `json:"uid,omitempty"`
	Group *string `json:"group,omitempty"`
	GID   *int    `json:"gid,omitempty"`
}

// storedAgentUser checks and encodes a user's account on nodes; nil stays nil.
func storedAgentUser(g *v1.AgentUserGroup) ([]byte, error) {
	if g == nil {
		return nil, nil
	}
	if g.AgentUid == nil || g.AgentGid == nil || g.AgentUser == nil || g.AgentGroup == nil {
		return nil, fault.New(fault.Invalid, "agentUserGroup: give all of agentUid, agentGid, agentUser and agentGroup")
	}
	return PartOfAgentUser(g)
}

// PartOfAgentUser is storedAgentUser for a workspace, which may set some of the fields: they
// take the place of those of the owners of its tasks.
func PartOfAgentUser(g *v1.AgentUserGroup) ([]byte, error) {
	for _, id := range []*int{g.AgentUid, g.AgentGid} {
		if id != nil && *id < 0 {
			return nil, fault.New(fault.Invalid, "agentUserGroup: expected ids of 0 or more, found %d", *id)
		}
	}
	for _, name := range []*string{g.AgentUser, g.AgentGroup} {
		if name != nil && *name == "" {
			return nil, fault.New(fault.Invalid, "agentUserGroup: names must not be empty")
		}
	}
	return json.Marshal(agentUser{User: g.AgentUser, UID: g.AgentUid, Group: g.AgentGroup, GID: g.AgentGid})
}

// WireAgentUser decodes a stored account on nodes; nil for none.
func WireAgentUser(stored []byte) *v1.AgentUserGroup {
	var g agentUser
	if len(stored) == 0 || json.Unmarshal(stored, &g) != nil {
		return nil
	}
	return &v1.AgentUserGroup{AgentUid: g.UID, AgentGid: g.GID, AgentUser: g.User, AgentGroup: g.Group}
}

// CheckUsername checks and lower-cases a user's name.
func CheckUsername(s string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	if err := names.Check("username", name, maxUsername); err != nil {
		return "", err
	}
	if strings.ContainsAny(name, "/?#% ") {
		return "", fault.New(fault.Invalid, "username: %q contains / ? # %% or a space, which a username must not contain", name)
	}
	return name, nil
}

// passwordHash returns the hash of a password, which is stored.
func (d Deps) passwordHash(ctx context.Context, c *rest.Call, password string, hashed *bool) (hash string, err error) {
	if len(password) > MaxPassword {
		return "", fault.New(fault.Invalid, "password: %d bytes are over the limit of %d", len(password), MaxPassword)
	}
	if password == "" && !d.blankAllowed(c) {
		return "", fault.New(fault.Invalid, "password: a blank password is accepted only on the master's own machine, at a loopback address")
	}
	err = d.compares.compare(ctx, c.Address(), func() error {
		hash = auth.HashPassword(hashedAsClientsDo(password, hashed != nil && *hashed))
		return nil
	})
	return hash, err
}

func (d Deps) listUsers(ctx context.Context, c *rest.Call, req *v1.GetUsersRequest) (*v1.GetUsersResponse, error) {
	f := UserFilter{Name: req.Name, Active: req.Active, Admin: req.Admin}
	var err error
	f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_DISPLAY_NAME": "display_name", "SORT_BY_USER_NAME": "username",
		"SORT_BY_ADMIN": "admin", "SORT_BY_ACTIVE": "active", "SORT_BY_MODIFIED_TIME": "modified", "SORT_BY_NAME": "name",
		"SORT_BY_LAST_AUTH_TIME": "last_auth", "SORT_BY_REMOTE": "remote"})
	if err != nil {
		return nil, err
	}
	// Accounts are few; the window is cut here, so that an offset can be checked.
	list, _, err := Users(ctx, d.DB, f)
	if err != nil {
		return nil, err
	}
	list, p, err := rest.Cut(list, req.Window)
	if err != nil {
		return nil, err
	}
	return &v1.GetUsersResponse{Pagination: &p, Users: each.Of(list, WireUser)}, nil
}

func (d Deps) user(_ context.Context, _ *rest.Call, u User, _ *v1.None) (*v1.GetUserResponse, error) {
	return &v1.GetUserResponse{User: WireUser(u)}, nil
}

func (d Deps) userByName(_ context.Context, _ *rest.Call, u User, _ *v1.None) (*v1.GetUserByUsernameResponse, error) {
	return &v1.GetUserByUsernameResponse{User: WireUser(u)}, nil
}

// onlyAdmins is the error for other users who try to change an account.
const onlyAdmins = "only an admin may change this; others may change their own password and display name"

func (d Deps) createUser(ctx context.Context, c *rest.Call, req *v1.PostUserRequest) (*v1.PostUserResponse, error) {
	if req.User == nil {
		return nil, fault.New(fault.Invalid, "user: is required")
	}
	name, err := CheckUsername(req.User.Username)
	if err != nil {
		return nil, err
	}
	if len(req.User.DisplayName) > maxDisplayName {
		return nil, fault.New(fault.Invalid, "displayName: %d bytes are over the limit of %d", len(req.User.DisplayName), maxDisplayName)
	}
	agent, err := storedAgentUser(req.User.AgentUserGroup)
	if err != nil {
		return nil, err
	}
	u := User{Username: name, DisplayName: req.User.DisplayName, Admin: req.User.Admin, Active: req.User.Active,
		Remote: req.User.Remote, Service: req.User.ServiceAccount, AgentUser: agent}
	if u.Service {
		if err := checkService(&u, req); err != nil {
			return nil, err
		}
	} else if !u.Remote { // a remote user signs in elsewhere and has no password here
		if u.PasswordHash, err = d.passwordHash(ctx, c, optional.Value(req.Password), req.IsHashed); err != nil {
			return nil, err
		}
	}
	made, err := CreateUser(ctx, d.DB, u)
	return &v1.PostUserResponse{User: new(WireUser(made))}, err
}

// checkService rejects what a service account cannot have.
func checkService(u *User, req *v1.PostUserRequest) error {
	switch {
	case req.Password != nil && *req.Password != "":
		return fault.New(fault.Invalid, "password: a service account has none; it signs in with access tokens (det token create)")
	case u.Remote:
		return fault.New(fault.Invalid, "remote: a service account signs in with access tokens alone, not at an identity provider")
	case u.Admin:
		return fault.New(fault.Invalid, "admin: a service account cannot be an administrator; where roles are in use, it may have roles")
	}
	return nil
}

// notOfService returns an error if a change gives a service account another way to sign in, or the mark
// of an administrator.
func notOfService(of User, password, remote, admin bool) error {
	if !of.Service || !password && !remote && !admin {
		return nil
	}
	return fault.New(fault.Invalid, "%s is a service account: it has no password and no identity at a provider, and cannot be an administrator; it signs in with access tokens (det token create)", of.Username)
}

func (d Deps) patchUser(ctx context.Context, c *rest.Call, of User, req *v1.PatchUser) (*v1.PatchUserResponse, error) {
	admin := auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindUser})
	if !admin && (req.Admin != nil || req.Active != nil || req.Remote != nil || req.Username != nil || req.AgentUserGroup != nil) {
		return nil, fault.New(fault.Forbidden, onlyAdmins)
	}
	if err := notOfService(of, req.Password != nil, req.Remote != nil && *req.Remote, req.Admin != nil && *req.Admin); err != nil {
		return nil, err
	}
	ch := UserChange{DisplayName: req.DisplayName, Admin: req.Admin, Active: req.Active, Remote: req.Remote}
	if req.DisplayName != nil && len(*req.DisplayName) > maxDisplayName {
		return nil, fault.New(fault.Invalid, "displayName: %d bytes are over the limit of %d", len(*req.DisplayName), maxDisplayName)
	}
	if req.Username != nil {
		name, err := CheckUsername(*req.Username)
		if err != nil {
			return nil, err
		}
		ch.Username = &name
	}
	var err error
	if ch.AgentUser, err = storedAgentUser(req.AgentUserGroup); err != nil {
		return nil, err
	}
	if req.Password != nil {
		if err := d.mayReplacePassword(ctx, c, of.ID, req); err != nil {
			return nil, err
		}
		hash, err := d.passwordHash(ctx, c, *req.Password, req.IsHashed)
		if err != nil {
			return nil, err
		}
		ch.PasswordHash = &hash
	}
	u, err := d.changeUser(ctx, c, of.ID, ch)
	return &v1.PatchUserResponse{User: WireUser(u)}, err
}

// changeUser changes an account. Its sessions end when its password changes or it is
// deactivated, and those of its tasks, but for the one that changes it.
func (d Deps) changeUser(ctx context.Context, c *rest.Call, id int, ch UserChange) (User, error) {
	keep := int64(0)
	if id == c.Who().UserID {
		keep = c.Who().SessionID
	}
	u, err := ChangeUser(ctx, d.DB, d.Roles, id, ch, keep)
	if err != nil {
		return u, err
	}
	d.Callers.AccountChanged(id)
	return u, nil
}

// setPassword accepts a password as plain text in a JSON string, or a message like that
// of PATCH.
func (d Deps) setPassword(ctx context.Context, c *rest.Call, of User) error {
	body, err := c.ReadBody(v1.SmallBody)
	if err != nil {
		return err
	}
	var req v1.PatchUser
	var plain string
	if json.Unmarshal(body, &plain) == nil {
		req.Password = &plain
	} else if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	if req.Password == nil {
		return fault.New(fault.Invalid, "password: is required")
	}
	if err := notOfService(of, true, false, false); err != nil {
		return err
	}
	if err := d.mayReplacePassword(ctx, c, of.ID, &req); err != nil {
		return err
	}
	hash, err := d.passwordHash(ctx, c, *req.Password, req.IsHashed)
	if err != nil {
		return err
	}
	u, err := d.changeUser(ctx, c, of.ID, UserChange{PasswordHash: &hash})
	if err != nil {
		return err
	}
	return c.Send(v1.PatchUserResponse{User: WireUser(u)})
}

// mayReplacePassword fails unless a user who changes their own password has entered
// the old one, in this call or in a recent sign-in: a stolen session must not be enough to
// take over an account. An admin sets the password of others without it.
func (d Deps) mayReplacePassword(ctx context.Context, c *rest.Call, id int, req *v1.PatchUser) error {
	if id != c.Who().UserID {
		return nil
	}
	u, err := UserByID(ctx, d.DB, id)
	if err != nil || u.PasswordHash == "" && !c.Who().AccessToken {
		return err
	}
	if req.OldPassword != nil {
		if len(*req.OldPassword) > MaxPassword {
			return fault.New(fault.Invalid, "oldPassword: %d bytes are over the limit of %d", len(*req.OldPassword), MaxPassword)
		}
		// A guess here is a guess at the sign-in: both are counted together.
		err := d.comparePassword(ctx, c, u.Username, u, true, hashedAsClientsDo(*req.OldPassword, req.IsHashed != nil && *req.IsHashed))
		if fault.Is(err, fault.Unauthenticated) {
			return fault.New(fault.Forbidden, "oldPassword: is not the password of %s", u.Username)
		}
		return err
	}
	age, err := SessionAge(ctx, d.DB, c.Who().SessionID)
	if err != nil {
		return err
	}
	if age > FreshSignIn || c.Who().AccessToken {
		return fault.New(fault.Forbidden, "the sign-in of %s is more than %d minutes old: sign in again with det user login, or send oldPassword with the new one", u.Username, int(FreshSignIn.Minutes()))
	}
	return nil
}

// patchUsers activates or deactivates several users. A user whom it cannot change has an error,
// and the others are changed.
func (d Deps) patchUsers(ctx context.Context, c *rest.Call, req *v1.PatchUsersRequest) (*v1.PatchUsersResponse, error) {
	ids := req.UserIDs
	if len(ids) > maxBulk {
		return nil, fault.New(fault.Invalid, "userIds: %d users are over the limit of %d", len(ids), maxBulk)
	}
	if req.Filters != nil {
		list, _, err := Users(ctx, d.DB, UserFilter{Name: req.Filters.Name, Admin: req.Filters.Admin})
		if err != nil {
			return nil, err
		}
		ids = each.Of(list, func(u User) int { return u.ID })
	}
	resp := &v1.PatchUsersResponse{}
	for _, id := range ids {
		_, err := d.changeUser(ctx, c, id, UserChange{Active: &req.Activate})
		if err != nil && fault.CodeOf(err) == fault.Internal {
			return nil, err
		}
		result := v1.UserActionResult{ID: id}
		if err != nil {
			result.Error = err.Error()
		}
		resp.Results = append(resp.Results, result)
	}
	return resp, nil
}
