package v1

import "time"

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
