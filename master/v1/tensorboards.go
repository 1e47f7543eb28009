package v1

import "time"

// Tensorboard is a TensorBoard of a user, with the experiments and trials that it shows.
type Tensorboard struct {
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
	ExperimentIDs  []int      `json:"experimentIds"`
	ServiceAddress string     `json:"serviceAddress"` // path on the master: /proxy/<id>/
	TrialIDs       []int      `json:"trialIds"`
	UserID         int        `json:"userId"`
}

// LaunchTensorboardRequest is the body of POST /tensorboards.
type LaunchTensorboardRequest struct {
	Config        Struct                 `json:"config,omitempty"`
	ExperimentIDs []int                  `json:"experimentIds,omitempty"`
	Files         []File                 `json:"files,omitempty"`
	Filters       *BulkExperimentFilters `json:"filters,omitempty"` // selects further experiments
	Preview       *bool                  `json:"preview,omitempty"`
	TemplateName  *string                `json:"templateName,omitempty"`
	TrialIDs      []int                  `json:"trialIds,omitempty"`
	WorkspaceID   *int                   `json:"workspaceId,omitempty"`
}

// LaunchTensorboardResponse is the response. Determined has no Remarks.
type LaunchTensorboardResponse struct {
	Tensorboard Tensorboard     `json:"tensorboard"`
	Config      Struct          `json:"config"`
	Warnings    []LaunchWarning `json:"warnings"`
	Remarks     []string        `json:"remarks"`
}

// GetTensorboardsResponse is the response of GET /tensorboards.
type GetTensorboardsResponse struct {
	Tensorboards []Tensorboard `json:"tensorboards"`
	Pagination   Pagination    `json:"pagination"`
}

// GetTensorboardResponse is the response of GET /tensorboards/{id}.
type GetTensorboardResponse struct {
	Tensorboard Tensorboard `json:"tensorboard"`
	Config      Struct      `json:"config"`
}

// TensorboardResponse is the response to a change of a TensorBoard: a kill, a priority.
type TensorboardResponse struct {
	Tensorboard Tensorboard `json:"tensorboard"`
}
