package v1

import "time"

// Shell is an SSH server of somebody's in a task. Its private key is told to its
// owner and to admins, one shell at a time.
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
	HostKey        string     `json:"hostKey"` // ours: the public key by which the shell is known
	UserID         int        `json:"userId"`
}

// LaunchShellRequest: POST /shells. Data is what old clients send with it and is
// not read: keys are made here.
type LaunchShellRequest struct {
	Config       Struct  `json:"config,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Data         []byte  `json:"data,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchShellResponse answers it. Remarks are ours.
type LaunchShellResponse struct {
	Shell    Shell           `json:"shell"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetShellsResponse: GET /shells.
type GetShellsResponse struct {
	Shells     []Shell    `json:"shells"`
	Pagination Pagination `json:"pagination"`
}

// GetShellResponse: GET /shells/{id}.
type GetShellResponse struct {
	Shell  Shell  `json:"shell"`
	Config Struct `json:"config"`
}

// ShellResponse answers what changes a shell: a kill, a priority.
type ShellResponse struct {
	Shell Shell `json:"shell"`
}
