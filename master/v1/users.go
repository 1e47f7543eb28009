package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

// The endpoints of users.
var (
	Login = Endpoint[LoginRequest, LoginResponse]{Method: "POST", Path: "/auth/login", Access: Public, Audit: AuditAlways,
		Summary: "Sign in with a username and a password"}
	LoginJob = Endpoint[LoginJobRequest, LoginResponse]{Method: "POST", Path: "/detent/auth/job", Access: Public, Audit: AuditAlways,
		Summary: "Sign a job of Nomad in with its workload identity, as the service account that the operators chose for the job"}
	Logout = Endpoint[None, Empty]{Method: "POST", Path: "/auth/logout", Access: ByUsers, Object: KindOwn, Audit: AuditAlways,
		Summary: "Sign out"}
	StartSignIn = Endpoint[None, None]{Method: "GET", Path: "//oidc/sso", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign in with the first identity provider, in a browser"}
	ConfirmSignIn = Endpoint[None, None]{Method: "POST", Path: "//oidc/sso", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign a program on the browser's machine in with the first identity provider"}
	StartSignInWith = Endpoint[None, None]{Method: "GET", Path: "//oidc/sso/:provider", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign in with an identity provider, in a browser"}
	ConfirmSignInWith = Endpoint[None, None]{Method: "POST", Path: "//oidc/sso/:provider", Access: Public, Stream: true, Others: []string{"relayState", "cliKey"},
		Summary: "Sign a program on the browser's machine in with an identity provider"}
	FinishSignIn = Endpoint[None, None]{Method: "GET", Path: "//oidc/callback", Access: Public, Stream: true, Others: []string{"state", "code", "error", "error_description"}, Audit: AuditAlways,
		Summary: "Complete a sign-in with an identity provider, which sends browsers here"}
	StartDeviceSignIn = Endpoint[StartDeviceSignInRequest, StartDeviceSignInResponse]{Method: "POST", Path: "/detent/oidc/device", Access: Public,
		Summary: "Sign in with an identity provider, on a machine without a browser"}
	FinishDeviceSignIn = Endpoint[FinishDeviceSignInRequest, FinishDeviceSignInResponse]{Method: "POST", Path: "/detent/oidc/device/token", Access: Public, Audit: AuditAlways,
		Summary: "Ask whether the user has signed in with a device code"}
	GetSessionUser = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/auth/user", Access: ByUsers, Object: KindOwn,
		Summary: "Get the signed-in user"}
	GetMe = Endpoint[None, GetMeResponse]{Method: "GET", Path: "/me", Access: ByBoth, Object: KindOwn,
		Summary: "Get the signed-in user"}
	GetOldMe = Endpoint[None, OldUser]{Method: "GET", Path: "//users/me", Access: ByBoth, Object: KindOwn,
		Summary: "Get the signed-in user, in the form for sign-ins by a browser"}
	OldLogin = Endpoint[OldLoginRequest, OldLoginResponse]{Method: "POST", Path: "//login", Access: Public, Audit: AuditAlways, Others: []string{"cookie"},
		Summary: "Sign in with a username and a password, in the form of Determined's oldest API; with cookie=true the response sets a cookie"}
	OldLogout = Endpoint[None, Empty]{Method: "POST", Path: "//logout", Access: ByUsers, Object: KindOwn, Audit: AuditAlways,
		Summary: "Sign out, in the form of Determined's oldest API"}
	ListOldUsers = Endpoint[None, []OldUser]{Method: "GET", Path: "//users", Access: ByUsers, Object: KindUser, Verb: View, List: true, Page: true,
		Summary: "List users, in the form of Determined's oldest API"}
	CreateOldUser = Endpoint[OldUserRequest, Empty]{Method: "POST", Path: "//users", Access: ByAdmins, Object: KindUser, Verb: Administer,
		Summary: "Create a user without a password, in the form of Determined's oldest API"}
	ChangeOldUser = Endpoint[OldUserRequest, Empty]{Method: "PATCH", Path: "//users/:name", Access: ByUsers, Object: KindUser, Verb: Change, Again: true,
		Summary: "Change a user, in the form of Determined's oldest API"}
	RenameOldUser = Endpoint[OldUserRequest, Empty]{Method: "PATCH", Path: "//users/:name/username", Access: ByAdmins, Object: KindUser, Verb: Administer, Again: true,
		Summary: "Rename a user, in the form of Determined's oldest API"}
	GetUserSettings = Endpoint[None, GetUserSettingResponse]{Method: "GET", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "List your settings"}
	SetUserSettings = Endpoint[PostUserSettingRequest, None]{Method: "POST", Path: "/users/setting", Access: ByUsers, Object: KindOwn,
		Summary: "Store settings; an empty value removes a setting"}
	ResetUserSettings = Endpoint[None, None]{Method: "POST", Path: "/users/setting/reset", Access: ByUsers, Object: KindOwn,
		Summary: "Delete all of your settings"}
	PostUserActivity = Endpoint[PostUserActivityRequest, None]{Method: "POST", Path: "/users/activity", Access: ByUsers, Object: KindOwn, Again: true,
		Summary: "Note that you looked at a project"}
	ListVisitedProjects = Endpoint[GetVisitedProjectsRequest, GetProjectsByUserActivityResponse]{Method: "GET", Path: "/user/projects/activity", Access: ByUsers, Object: KindProject, Verb: View, List: true,
		Summary: "List the projects that you have looked at, the latest first"}
	ChangeUsers = Endpoint[PatchUsersRequest, PatchUsersResponse]{Method: "PATCH", Path: "/users", Access: ByAdmins, Object: KindUser, Verb: Administer, Again: true,
		Summary: "Activate or deactivate several users"}
	ListUsers = Endpoint[GetUsersRequest, GetUsersResponse]{Method: "GET", Path: "/users", Access: ByBoth, Object: KindUser, Verb: View, List: true,
		Summary: "List users"}
	CreateUser = Endpoint[PostUserRequest, PostUserResponse]{Method: "POST", Path: "/users", Access: ByAdmins, Object: KindUser, Verb: Administer,
		Summary: "Create a user"}
	GetUserByName = Endpoint[None, GetUserByUsernameResponse]{Method: "GET", Path: "/users/:name/by-username", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "Get a user by username"}
	GetUser = Endpoint[None, GetUserResponse]{Method: "GET", Path: "/users/:id", Access: ByBoth, Object: KindUser, Verb: View,
		Summary: "Get a user"}
	ChangeUser = Endpoint[PatchUser, PatchUserResponse]{Method: "PATCH", Path: "/users/:id", Access: ByUsers, Object: KindUser, Verb: Change, Again: true,
		Summary: "Change a user; a user who is no administrator may change their own password and display name"}
	SetPassword = Endpoint[None, None]{Method: "POST", Path: "/users/:id/password", Access: ByUsers, Object: KindUser, Verb: Change, Stream: true,
		Summary: "Set a user's password; the body is a JSON string"}
)

type AgentUserGroup struct {
	AgentGid   *int    `json:"agentGid"`
	AgentGroup *string `json:"agentGroup"`
	AgentUid   *int    `json:"agentUid"`
	AgentUser  *string `json:"agentUser"`
}

type GetMeResponse struct {
	User User `json:"user"`
}

type GetMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

type GetUserByUsernameResponse GetMeResponse

type GetUserResponse GetMeResponse

type GetUsersResponse struct {
	Pagination *Pagination `json:"pagination"`
	Users      []User      `json:"users"`
}

// Records returns the records of the page.
func (r GetUsersResponse) Records() ([]User, Pagination) {
	return r.Users, optional.Value(r.Pagination)
}

type PatchUser struct {
	Active         *bool           `json:"active,omitempty"`
	Admin          *bool           `json:"admin,omitempty"`
	AgentUserGroup *AgentUserGroup `json:"agentUserGroup,omitempty"`
	DisplayName    *string         `json:"displayName,omitempty"`
	IsHashed       *bool           `json:"isHashed,omitempty"`
	OldPassword    *string         `json:"oldPassword,omitempty"` // encoded like Password; not in Determined
	Password       *string         `json:"password,omitempty"`
	Remote         *bool           `json:"remote,omitempty"`
	Username       *string         `json:"username,omitempty"`
}

type PatchUserResponse GetMeResponse

type PostUserRequest struct {
	IsHashed *bool   `json:"isHashed,omitempty"`
	Password *string `json:"password,omitempty"`
	User     *User   `json:"user,omitempty"`
}

type PostUserResponse struct {
	User *User `json:"user"`
}

type User struct {
	Active         bool            `json:"active"`
	Admin          bool            `json:"admin"`
	Username       string          `json:"username"`
	AgentUserGroup *AgentUserGroup `json:"agentUserGroup"`
	DisplayName    string          `json:"displayName"`
	ID             int             `json:"id"`
	LastAuthAt     *time.Time      `json:"lastAuthAt"`
	ModifiedAt     *time.Time      `json:"modifiedAt"`
	Remote         bool            `json:"remote"`
	ServiceAccount bool            `json:"serviceAccount"` // ours: a program, which signs in with access tokens alone
}

// OldLoginRequest is the body of POST /login. The password is plain text.
type OldLoginRequest struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// OldLoginResponse is the response.
type OldLoginResponse struct {
	Token string `json:"token"`
}

// OldUserRequest is the body of POST /users and PATCH /users/{name}; PATCH /users/{name}/username
// reads only the name.
type OldUserRequest struct {
	Username       *string       `json:"username,omitempty"`
	Password       *string       `json:"password,omitempty"`
	Active         *bool         `json:"active,omitempty"`
	Admin          *bool         `json:"admin,omitempty"`
	AgentUserGroup *OldAgentUser `json:"agent_user_group,omitempty"`
}

// OldAgentUser is the account on nodes that a user's tasks run as.
type OldAgentUser struct {
	UID   *int    `json:"uid,omitempty"`
	GID   *int    `json:"gid,omitempty"`
	User  *string `json:"user,omitempty"`
	Group *string `json:"group,omitempty"`
}

// OldUser is a user in the form of Determined's oldest API, which its client still reads after
// a sign-in by browser.
type OldUser struct {
	ID          int    `json:"id"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name"`
	Admin       bool   `json:"admin"`
	Active      bool   `json:"active"`
	Remote      bool   `json:"remote"`
}

type UserWebSetting struct {
	Key         string `json:"key"`
	StoragePath string `json:"storagePath"`
	Value       string `json:"value"`
}

type GetUserSettingResponse struct {
	Settings []UserWebSetting `json:"settings"`
}

type PostUserSettingRequest GetUserSettingResponse

// ActivityType is an enum of the wire.
type ActivityType string

// EntityType is an enum of the wire.
type EntityType string

// The values that mean something here.
const (
	ActivityTypeGet   ActivityType = "ACTIVITY_TYPE_GET"
	EntityTypeProject EntityType   = "ENTITY_TYPE_PROJECT"
)

// PostUserActivityRequest is a message of the wire.
type PostUserActivityRequest struct {
	ActivityType ActivityType `json:"activityType"`
	EntityType   EntityType   `json:"entityType"`
	EntityID     int          `json:"entityId"`
}

// GetProjectsByUserActivityResponse is a message of the wire.
type GetProjectsByUserActivityResponse struct {
	Projects []Project `json:"projects"`
}

// PatchUsersRequest activates or deactivates users, by their ids or by what they are like.
type PatchUsersRequest struct {
	UserIDs  []int        `json:"userIds"`
	Activate bool         `json:"activate"`
	Filters  *UserFilters `json:"filters,omitempty"`
}

// UserFilters is a message of the wire.
type UserFilters struct {
	Name  string `json:"name,omitempty"`
	Admin *bool  `json:"admin,omitempty"`
}

// PatchUsersResponse is a message of the wire.
type PatchUsersResponse struct {
	Results []UserActionResult `json:"results"`
}

// UserActionResult is the result for one user.
type UserActionResult RunActionResult
