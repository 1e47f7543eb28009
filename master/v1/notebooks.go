package v1

import "time"

// Notebook is a JupyterLab of somebody's.
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

// LaunchNotebookRequest: POST /notebooks.
type LaunchNotebookRequest struct {
	Config       Struct  `json:"config,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchNotebookResponse answers it. Remarks are ours.
type LaunchNotebookResponse struct {
	Notebook Notebook        `json:"notebook"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetNotebooksResponse: GET /notebooks.
type GetNotebooksResponse struct {
	Notebooks  []Notebook `json:"notebooks"`
	Pagination Pagination `json:"pagination"`
}

// GetNotebookResponse: GET /notebooks/{id}.
type GetNotebookResponse struct {
	Notebook Notebook `json:"notebook"`
	Config   Struct   `json:"config"`
}

// NotebookResponse answers what changes a notebook: a kill, a priority.
type NotebookResponse struct {
	Notebook Notebook `json:"notebook"`
}

// IdleNotebookRequest: PUT /notebooks/{id}/report_idle. A task that was unused for
// as long as it may be says so of itself.
type IdleNotebookRequest struct {
	NotebookID string `json:"notebookId"`
	Idle       bool   `json:"idle"`
}
