package accounts

import (
	"context"
	"net/netip"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB      *database.DB
	Roles   Roles
	Callers *Authenticator
	Tokens  TokenLimits
	SignIns *SignIns
	Jobs    *JobSignIn // nil: no Nomad job may sign in
	// BlankLogin reports whether a client at this address, which calls this host, may sign in with a blank password.
	BlankLogin func(remote, host string) bool
	// Forwarder notes the address of a proxy that is not trusted, through which a sign-in arrives.
	Forwarder func(netip.Addr)
	// ProviderName names the identity provider of an issuer.
	ProviderName func(issuer string) string
	// Workspace returns a workspace, Workspaces the ids of all, and Owned how many experiments users own there.
	Workspace  func(ctx context.Context, id int) (auth.Object, error)
	Workspaces func(ctx context.Context) ([]int, error)
	Owned      func(ctx context.Context) ([]Owned, error)

	compares *compares // Routes makes it
	foreign  *compares // likewise, for hashes that Determined made
}

// Routes adds the endpoints of users, groups, roles, sessions, access tokens, settings and sign-ins with a password.
func Routes(r *rest.Router, d Deps) {
	d.compares, d.foreign = newCompares(), newForeignCompares()
	workspace := rest.On("workspace", d.Workspace, func(w auth.Object) auth.Object { return w })

	rest.Serve(r, v1.Login, d.login)
	rest.Serve(r, v1.LoginJob, d.loginJob)
	rest.Serve(r, v1.Logout, d.logout)
	rest.Serve(r, v1.GetSessionUser, d.me)
	rest.Serve(r, v1.GetMe, d.me)
	rest.Serve(r, v1.GetOldMe, d.oldMe)
	rest.Serve(r, v1.ListSessions, d.listSessions)
	rest.ServeOn(r, v1.EndSession, d.onSession(), d.endSession)

	rest.Serve(r, v1.ChangeUsers, d.patchUsers)
	rest.Serve(r, v1.ListUsers, d.listUsers)
	rest.Serve(r, v1.CreateUser, d.createUser)
	rest.ServeOn(r, v1.GetUserByName, d.onUserByName(), d.userByName)
	rest.ServeOn(r, v1.GetUser, d.onUser(""), d.user)
	rest.ServeOn(r, v1.ChangeUser, d.onUser(onlyAdmins), d.patchUser)
	rest.RawOn(r, v1.SetPassword, d.onUser("only an admin may set somebody else's password"), d.setPassword)
	rest.Serve(r, v1.OldLogin, d.oldLogin)
	rest.Serve(r, v1.OldLogout, d.logout)
	rest.Serve(r, v1.ListOldUsers, d.listOldUsers)
	rest.Serve(r, v1.CreateOldUser, d.createOldUser)
	rest.ServeOn(r, v1.ChangeOldUser, d.onUserByName(), d.patchOldUser)
	rest.ServeOn(r, v1.RenameOldUser, d.onUserByName(), d.renameOldUser)

	rest.Serve(r, v1.AssignMultipleGroups, d.assignGroups)
	rest.Serve(r, v1.ListGroups, d.listGroups)
	rest.Serve(r, v1.CreateGroup, d.createGroup)
	rest.ServeOn(r, v1.GetGroup, d.onGroup(), d.group)
	rest.ServeOn(r, v1.UpdateGroup, d.onGroup(), d.updateGroup)
	rest.ServeOn(r, v1.DeleteGroup, d.onGroup(), d.deleteGroup)

	rest.Serve(r, v1.ListRoles, d.listRoles)
	rest.Serve(r, v1.GetRolesByID, d.rolesByID)
	rest.Serve(r, v1.SearchRolesAssignableToScope, d.assignableRoles)
	rest.ServeOn(r, v1.GetRolesAssignedToUser, rest.On("user", d.userByID, ofUser), d.rolesOfUser)
	rest.ServeOn(r, v1.GetRolesAssignedToGroup, d.onGroup(), d.rolesOfGroup)
	rest.Serve(r, v1.AssignRoles, d.assignRoles)
	rest.Serve(r, v1.RemoveAssignments, d.removeRoles)
	rest.Serve(r, v1.GetPermissionsSummary, d.ownRoles)
	rest.ServeOn(r, v1.ListWorkspaceMembers, workspace, d.workspaceMembers)
	rest.Serve(r, v1.PreviewAccess, d.previewAccess)

	rest.Serve(r, v1.GetUserSettings, d.settings)
	rest.Serve(r, v1.SetUserSettings, d.setSettings)
	rest.Serve(r, v1.ResetUserSettings, d.resetSettings)
	rest.Serve(r, v1.ListTokens, d.listTokens)
	rest.Serve(r, v1.CreateToken, d.createToken)
	rest.ServeOn(r, v1.ChangeToken, d.onToken(), d.changeToken)
}
