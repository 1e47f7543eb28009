package v1

import "time"

// Notebook is a JupyterLab of a user.
type Notebook struct {
	Description    string     `json:"description"`
	ID             string     `json:"id"`
	JobID          string     `json:"jobId"`
	ResourcePool   string     `json:"resourcePool"`
	StartTime      time.Time  `json:"startTime"`
	State          TaskState  `json:"state"`
	Username       string     `json:"username"`
	WorkspaceID    int        `json:"workspaceId"`
	Container      *Container `json:"container"`
	DisplayName    string     `json:"displayName"`
	ExitStatus     string     `json:"exitStatus"`
	ServiceAddress string     `json:"serviceAddress"` // path on the master: /proxy/<id>/
	UserID         int        `json:"userId"`
}

// LaunchNotebookRequest is the body of POST /notebooks.
type LaunchNotebookRequest struct {
	Config       Struct  `json:"config,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchNotebookResponse is the response. Determined has no Remarks.
type LaunchNotebookResponse struct {
	Notebook Notebook        `json:"notebook"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetNotebooksResponse is the response of GET /notebooks.
type GetNotebooksResponse struct {
	Notebooks  []Notebook `json:"notebooks"`
	Pagination Pagination `json:"pagination"`
}

// GetNotebookResponse is the response of GET /notebooks/{id}.
type GetNotebookResponse struct {
	Notebook Notebook `json:"notebook"`
	Config   Struct   `json:"config"`
}

// NotebookResponse is the response to a change of a notebook: a kill, a priority.
type NotebookResponse struct {
	Notebook Notebook `json:"notebook"`
}

// IdleNotebookRequest is the body of PUT /notebooks/{id}/report_idle: a task reports that it
// was not used for the configured time.
type IdleNotebookRequest struct {
	NotebookID string `json:"notebookId"`
	Idle       bool   `json:"idle"`
}
