package v1

import "time"

// Command is a program that a user runs as a task.
type Command struct {
	Description  string     `json:"description"`
	ID           string     `json:"id"`
	JobID        string     `json:"jobId"`
	ResourcePool string     `json:"resourcePool"`
	StartTime    time.Time  `json:"startTime"`
	State        TaskState  `json:"state"`
	Username     string     `json:"username"`
	WorkspaceID  int        `json:"workspaceId"`
	Container    *Container `json:"container"`
	DisplayName  string     `json:"displayName"`
	ExitStatus   string     `json:"exitStatus"`
	UserID       int        `json:"userId"`
}

// LaunchCommandRequest is the body of POST /commands. Old clients send Data, which the master ignores.
type LaunchCommandRequest struct {
	Config       Struct  `json:"config,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Data         []byte  `json:"data,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchCommandResponse is the response. Determined has no Remarks.
type LaunchCommandResponse struct {
	Command  Command         `json:"command"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetCommandsResponse is the response of GET /commands.
type GetCommandsResponse struct {
	Commands   []Command  `json:"commands"`
	Pagination Pagination `json:"pagination"`
}

// KillCommandResponse is the response to a change of a command: a kill, a priority.
type KillCommandResponse struct {
	Command Command `json:"command"`
}

// GetCommandResponse is the response of GET /commands/{id}.
type GetCommandResponse struct {
	Command Command `json:"command"`
	Config  Struct  `json:"config"`
}

// PriorityRequest sets the priority of a task.
type PriorityRequest struct {
	Priority int `json:"priority"`
}
