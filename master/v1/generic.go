package v1

import "time"

// GenericTaskState is the state of a generic task, in the form of the API.
type GenericTaskState string

// The values that programs name.
const (
	GenericTaskStateActive    GenericTaskState = "GENERIC_TASK_STATE_ACTIVE"
	GenericTaskStateCanceled  GenericTaskState = "GENERIC_TASK_STATE_CANCELED"
	GenericTaskStateCompleted GenericTaskState = "GENERIC_TASK_STATE_COMPLETED"
	GenericTaskStateError     GenericTaskState = "GENERIC_TASK_STATE_ERROR"
	GenericTaskStatePaused    GenericTaskState = "GENERIC_TASK_STATE_PAUSED"
)

// CreateGenericTaskRequest: POST /generic-tasks.
type CreateGenericTaskRequest struct {
	Config           string  `json:"config"` // YAML
	ContextDirectory []File  `json:"contextDirectory"`
	ProjectID        *int    `json:"projectId,omitempty"`
	ForkedFrom       *string `json:"forkedFrom,omitempty"`     // the task whose configuration and code replace those that the request lacks
	ParentID         *string `json:"parentId,omitempty"`       // the parent: the new task ends and pauses with it
	InheritContext   *bool   `json:"inheritContext,omitempty"` // the new task gets the code of its parent
	NoPause          *bool   `json:"noPause,omitempty"`        // a pause of the parent does not pause the new task
	Preview          *bool   `json:"preview,omitempty"`        // only check the request
}

// CreateGenericTaskResponse has the id of the new task, which a preview lacks, and its configuration with
// all defaults. Determined has neither Config nor Remarks.
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
	State        TaskState        `json:"state"`     // of its newest attempt, as in lists of other tasks
	TaskState    GenericTaskState `json:"taskState"` // of the task, which may wait or pause between attempts
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
