package v1

import "time"

type TaskState string

const (
	TaskStateUnspecified TaskState = "STATE_UNSPECIFIED"
	TaskStatePulling     TaskState = "STATE_PULLING"
	TaskStateStarting    TaskState = "STATE_STARTING"
	TaskStateRunning     TaskState = "STATE_RUNNING"
	TaskStateTerminated  TaskState = "STATE_TERMINATED"
	TaskStateTerminating TaskState = "STATE_TERMINATING"
	TaskStateWaiting     TaskState = "STATE_WAITING"
	TaskStateQueued      TaskState = "STATE_QUEUED"
)

type Address struct {
	ContainerIp   string `json:"containerIp"`
	ContainerPort int    `json:"containerPort"`
	HostIp        string `json:"hostIp"`
	HostPort      int    `json:"hostPort"`
}

type FailureType string

const (
	FailureTypeUnspecified      FailureType = "FAILURE_TYPE_UNSPECIFIED"
	FailureTypeResourcesFailed  FailureType = "FAILURE_TYPE_RESOURCES_FAILED"
	FailureTypeResourcesAborted FailureType = "FAILURE_TYPE_RESOURCES_ABORTED"
	FailureTypeResourcesMissing FailureType = "FAILURE_TYPE_RESOURCES_MISSING"
	FailureTypeTaskAborted      FailureType = "FAILURE_TYPE_TASK_ABORTED"
	FailureTypeTaskError        FailureType = "FAILURE_TYPE_TASK_ERROR"
	FailureTypeAgentFailed      FailureType = "FAILURE_TYPE_AGENT_FAILED"
	FailureTypeAgentError       FailureType = "FAILURE_TYPE_AGENT_ERROR"
	FailureTypeRestoreError     FailureType = "FAILURE_TYPE_RESTORE_ERROR"
	FailureTypeUnknownError     FailureType = "FAILURE_TYPE_UNKNOWN_ERROR"
)

type GetTaskContextDirectoryResponse struct {
	B64Tgz string `json:"b64Tgz"`
}

type GetTaskResponse struct {
	Task Task `json:"task"`
}

type GetTasksResponse struct {
	AllocationIDToSummary map[string]AllocationSummary `json:"allocationIdToSummary"`
}

type ProxyPortConfig struct {
	Port            int    `json:"port"`
	ProxyTcp        bool   `json:"proxyTcp"`
	ServiceID       string `json:"serviceId"`
	Unauthenticated bool   `json:"unauthenticated"`
}

type ResourcesFailure struct {
	ErrMsg      string      `json:"errMsg"`
	ExitCode    int         `json:"exitCode"`
	FailureType FailureType `json:"failureType"`
}

type ResourcesStarted struct {
	Addresses         []Address `json:"addresses"`
	NativeResourcesID string    `json:"nativeResourcesId"`
}

type ResourcesStopped struct {
	Failure *ResourcesFailure `json:"failure"`
}

type ResourcesSummary struct {
	AgentDevices  map[string]ResourcesSummaryDevices `json:"agentDevices"`
	AllocationID  string                             `json:"allocationId"`
	ContainerID   string                             `json:"containerId"`
	Exited        *ResourcesStopped                  `json:"exited"`
	ResourcesID   string                             `json:"resourcesId"`
	ResourcesType string                             `json:"resourcesType"`
	Started       *ResourcesStarted                  `json:"started"`
}

type Task struct {
	Allocations []Allocation `json:"allocations"`
	StartTime   time.Time    `json:"startTime"`
	TaskID      string       `json:"taskId"`
	TaskType    TaskType     `json:"taskType"`
	Config      *string      `json:"config"`
	EndTime     *time.Time   `json:"endTime"`
	ForkedFrom  *string      `json:"forkedFrom"`
	NoPause     bool         `json:"noPause"`
	ParentID    *string      `json:"parentId"`

	TaskState *GenericTaskState `json:"taskState,omitempty"` // of generic tasks only
}

type TaskType string

const (
	TaskTypeUnspecified  TaskType = "TASK_TYPE_UNSPECIFIED"
	TaskTypeTrial        TaskType = "TASK_TYPE_TRIAL"
	TaskTypeNotebook     TaskType = "TASK_TYPE_NOTEBOOK"
	TaskTypeShell        TaskType = "TASK_TYPE_SHELL"
	TaskTypeCommand      TaskType = "TASK_TYPE_COMMAND"
	TaskTypeTensorboard  TaskType = "TASK_TYPE_TENSORBOARD"
	TaskTypeCheckpointGc TaskType = "TASK_TYPE_CHECKPOINT_GC"
	TaskTypeGeneric      TaskType = "TASK_TYPE_GENERIC"
)

// TaskCountResponse counts the tasks that have not ended.
type TaskCountResponse struct {
	Commands     int `json:"commands"`
	Notebooks    int `json:"notebooks"`
	Shells       int `json:"shells"`
	Tensorboards int `json:"tensorboards"`
}

// OldTask is an attempt in the response of GET /tasks, which is not part of /api/v1: its keys
// are in snake_case, except for two.
type OldTask struct {
	TaskID         string        `json:"task_id"`
	AllocationID   string        `json:"allocation_id"`
	Name           string        `json:"name"`
	RegisteredTime time.Time     `json:"registered_time"`
	ResourcePool   string        `json:"resource_pool"`
	SlotsNeeded    int           `json:"slots_needed"`
	Resources      []OldResource `json:"resources"`
	SchedulerType  string        `json:"scheduler_type"`
	Priority       int           `json:"priority"`
	ProxyPorts     []OldPort     `json:"proxy_ports"`
}

// OldResource is a member of an attempt.
type OldResource struct {
	ResourcesID   string              `json:"resources_id"`
	ResourcesType string              `json:"resources_type"`
	AllocationID  string              `json:"allocation_id"`
	AgentDevices  map[string][]Device `json:"agent_devices"`
	ContainerID   string              `json:"container_id"`
	Started       *ResourcesStarted   `json:"Started"`
	Exited        *ResourcesStopped   `json:"Exited"`
}

// OldPort is a port to which the proxy forwards requests.
type OldPort struct {
	Port            int    `json:"port"`
	ProxyTcp        bool   `json:"proxy_tcp"`
	ServiceID       string `json:"service_id"`
	Unauthenticated bool   `json:"unauthenticated"`
}

// TaskAddressResponse has the address of a task for programs.
type TaskAddressResponse struct {
	// URL has the token as its parameter.
	URL string `json:"url"`
	// Token opens this task and nothing else.
	Token string `json:"token"`
}

// TaskLinkResponse has a link to a task.
type TaskLinkResponse struct {
	URL string `json:"url"`
}
