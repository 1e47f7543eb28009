package v1

import "time"

// GenericTaskState is an enum of the wire.
type GenericTaskState string

// The values of GenericTaskState.
const (
	GenericTaskStateUnspecified       GenericTaskState = "GENERIC_TASK_STATE_UNSPECIFIED"
	GenericTaskStateActive            GenericTaskState = "GENERIC_TASK_STATE_ACTIVE"
	GenericTaskStateCanceled          GenericTaskState = "GENERIC_TASK_STATE_CANCELED"
	GenericTaskStateCompleted         GenericTaskState = "GENERIC_TASK_STATE_COMPLETED"
	GenericTaskStateError             GenericTaskState = "GENERIC_TASK_STATE_ERROR"
	GenericTaskStatePaused            GenericTaskState = "GENERIC_TASK_STATE_PAUSED"
	GenericTaskStateStoppingPaused    GenericTaskState = "GENERIC_TASK_STATE_STOPPING_PAUSED"
	GenericTaskStateStoppingCanceled  GenericTaskState = "GENERIC_TASK_STATE_STOPPING_CANCELED"
	GenericTaskStateStoppingCompleted GenericTaskState = "GENERIC_TASK_STATE_STOPPING_COMPLETED"
	GenericTaskStateStoppingError     GenericTaskState = "GENERIC_TASK_STATE_STOPPING_ERROR"
)

// CreateGenericTaskRequest: POST /generic-tasks.
type CreateGenericTaskRequest struct {
	Config           string  `json:"config"` // YAML
	ContextDirectory []File  `json:"contextDirectory"`
	ProjectID        *int    `json:"projectId,omitempty"`
	ForkedFrom       *string `json:"forkedFrom,omitempty"`     // the task whose configuration and code it has, where the request has none
	ParentID         *string `json:"parentId,omitempty"`       // it ends and is paused with this task
	InheritContext   *bool   `json:"inheritContext,omitempty"` // it has the code of its parent
	NoPause          *bool   `json:"noPause,omitempty"`        // a pause of its parent does not pause it
	Preview          *bool   `json:"preview,omitempty"`        // only check the request
}

// CreateGenericTaskResponse answers it. Config, with all defaults, and remarks are ours. A preview has no id.
type CreateGenericTaskResponse struct {
	TaskID   string          `json:"taskId"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GenericTask is a generic task in a list.
type GenericTask struct {
	ID           string           `json:"id"`
	Description  string           `json:"description"`
	State        TaskState        `json:"state"`     // of its newest attempt, as of other tasks
	TaskState    GenericTaskState `json:"taskState"` // of the task
	Username     string           `json:"username"`
	DisplayName  string           `json:"displayName"`
	UserID       int              `json:"userId"`
	WorkspaceID  int              `json:"workspaceId"`
	ResourcePool string           `json:"resourcePool"`
	StartTime    time.Time        `json:"startTime"`
	EndTime      *time.Time       `json:"endTime"`
	ExitStatus   string           `json:"exitStatus"`
	JobID        string           `json:"jobId"`
	ParentID     *string          `json:"parentId"`
	ForkedFrom   *string          `json:"forkedFrom"`
	NoPause      bool             `json:"noPause"`
}

// GetGenericTasksResponse: GET /detent/generic-tasks.
type GetGenericTasksResponse struct {
	Tasks      []GenericTask `json:"tasks"`
	Pagination Pagination    `json:"pagination"`
}

// GetGenericTaskConfigResponse: GET /tasks/{id}/config.
type GetGenericTaskConfigResponse struct {
	Config string `json:"config"` // JSON
}

// KillGenericTaskRequest: POST /tasks/{id}/kill.
type KillGenericTaskRequest struct {
	TaskID       string `json:"taskId"`
	KillFromRoot bool   `json:"killFromRoot"`
}
