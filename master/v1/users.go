package v1

import "time"

// AgentUserGroup is a message of the wire.
type AgentUserGroup struct {
	AgentGid   *int    `json:"agentGid"`
	AgentGroup *string `json:"agentGroup"`
	AgentUid   *int    `json:"agentUid"`
	AgentUser  *string `json:"agentUser"`
}

// GetMeResponse is a message of the wire.
type GetMeResponse struct {
	User User `json:"user"`
}

// GetMetricsResponse is a message of the wire.
type GetMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

// GetUserByUsernameResponse is a message of the wire.
type GetUserByUsernameResponse struct {
	User User `json:"user"`
}

// GetUserResponse is a message of the wire.
type GetUserResponse struct {
	User User `json:"user"`
}

// GetUsersResponse is a message of the wire.
type GetUsersResponse struct {
	Pagination *Pagination `json:"pagination"`
	Users      []User      `json:"users"`
}

// PatchUser is a message of the wire.
type PatchUser struct {
	Active         *bool           `json:"active,omitempty"`
	Admin          *bool           `json:"admin,omitempty"`
	AgentUserGroup *AgentUserGroup `json:"agentUserGroup,omitempty"`
	DisplayName    *string         `json:"displayName,omitempty"`
	IsHashed       *bool           `json:"isHashed,omitempty"`
	OldPassword    *string         `json:"oldPassword,omitempty"` // ours; sent as Password is
	Password       *string         `json:"password,omitempty"`
	Remote         *bool           `json:"remote,omitempty"`
	Username       *string         `json:"username,omitempty"`
}

// PatchUserResponse is a message of the wire.
type PatchUserResponse struct {
	User User `json:"user"`
}

// PostUserRequest is a message of the wire.
type PostUserRequest struct {
	IsHashed *bool   `json:"isHashed,omitempty"`
	Password *string `json:"password,omitempty"`
	User     *User   `json:"user,omitempty"`
}

// PostUserResponse is a message of the wire.
type PostUserResponse struct {
	User *User `json:"user"`
}

// User is a message of the wire.
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
}

// OldUser is a user in the form of Determined's first interface, which its client
// still reads when it is handed a session by a browser.
type OldUser struct {
	ID          int    `json:"id"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name"`
	Admin       bool   `json:"admin"`
	Active      bool   `json:"active"`
	Remote      bool   `json:"remote"`
}
