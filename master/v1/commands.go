package v1

import "time"

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

type GetCommandResponse struct {
	Command Command `json:"command"`
	Config  Struct  `json:"config"`
}

// PriorityRequest sets the priority of a task.
type PriorityRequest struct {
	Priority int `json:"priority"`
}
