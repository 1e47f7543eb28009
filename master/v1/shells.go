package v1

import "time"

// Shell is an SSH server of a user in a task. Only its owner and admins receive its private
// key, in the response for one shell.
type Shell struct {
	Description    string     `json:"description"`
	ID             string     `json:"id"`
	JobID          string     `json:"jobId"`
	ResourcePool   string     `json:"resourcePool"`
	StartTime      time.Time  `json:"startTime"`
	State          TaskState  `json:"state"`
	Username       string     `json:"username"`
	WorkspaceID    int        `json:"workspaceId"`
	Addresses      []Struct   `json:"addresses"`
	AgentUserGroup Struct     `json:"agentUserGroup"`
	Container      *Container `json:"container"`
	DisplayName    string     `json:"displayName"`
	ExitStatus     string     `json:"exitStatus"`
	PrivateKey     string     `json:"privateKey"`
	PublicKey      string     `json:"publicKey"`
	HostKey        string     `json:"hostKey"` // public key of the SSH server; not in Determined
	UserID         int        `json:"userId"`
}

// LaunchShellRequest is the body of POST /shells. Old clients send keys as Data, which the
// master ignores: it creates the keys.
type LaunchShellRequest struct {
	Config       Struct  `json:"config,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Data         []byte  `json:"data,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchShellResponse is the response. Determined has no Remarks.
type LaunchShellResponse struct {
	Shell    Shell           `json:"shell"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetShellsResponse is the response of GET /shells.
type GetShellsResponse struct {
	Shells     []Shell    `json:"shells"`
	Pagination Pagination `json:"pagination"`
}

// GetShellResponse is the response of GET /shells/{id}.
type GetShellResponse struct {
	Shell  Shell  `json:"shell"`
	Config Struct `json:"config"`
}

// ShellResponse is the response to a change of a shell: a kill, a priority.
type ShellResponse struct {
	Shell Shell `json:"shell"`
}
