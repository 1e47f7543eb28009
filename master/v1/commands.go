package v1

import "time"

// Command is a message of the wire.
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

// GetCommandResponse is a message of the wire.
type GetCommandResponse struct {
	Command Command `json:"command"`
	Config  Struct  `json:"config"`
}

// PriorityRequest says how important something is to be.
type PriorityRequest struct {
	Priority int `json:"priority"`
}
