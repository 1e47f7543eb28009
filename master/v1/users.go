package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
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

type GetUserByUsernameResponse struct {
	User User `json:"user"`
}

type GetUserResponse struct {
	User User `json:"user"`
}

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

type PatchUserResponse struct {
	User User `json:"user"`
}

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
