package v1

import "time"

// The endpoints of tasks.
var (
	GetTaskContext = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/context_directory", Access: ByBoth, Object: KindTask, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Get the code of a task, in base64"}
	DownloadTaskContext = Endpoint[None, None]{Method: "GET", Path: "/detent/tasks/:id/context.tar.gz", Access: ByBoth, Object: KindTask, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download the code of a task, as tar.gz"}
	ListTasks = Endpoint[None, GetTasksResponse]{Method: "GET", Path: "/tasks", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "List the attempts of tasks that run or wait in the queue"}
	ListOldTasks = Endpoint[None, map[string]OldTask]{Method: "GET", Path: "//tasks", Access: ByUsers, Object: KindTask, Verb: View, List: true, Page: true,
		Summary: "List the attempts of tasks that run or wait in the queue, in the form for clients from before /api/v1"}
	CountTasks = Endpoint[None, TaskCountResponse]{Method: "GET", Path: "/tasks/count", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "Count the active commands, notebooks, shells and TensorBoards"}
	GetTask = Endpoint[None, GetTaskResponse]{Method: "GET", Path: "/tasks/:id", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "Get a task with its attempts, newest first"}
	CreateGenericTask = Endpoint[CreateGenericTaskRequest, CreateGenericTaskResponse]{Method: "POST", Path: "/generic-tasks", Access: ByUsers, Object: KindTask, Verb: Create, Files: "contextDirectory",
		Summary: "Create a generic task: a program that can be paused, and that can have tasks below it"}
	ListGenericTasks = Endpoint[GetCommandsRequest, GetGenericTasksResponse]{Method: "GET", Path: "/detent/generic-tasks", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "List generic tasks with their places in trees; those that ended more than a week ago are left out"}
	GetGenericTaskConfig = Endpoint[None, GetGenericTaskConfigResponse]{Method: "GET", Path: "/tasks/:id/config", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "Get the configuration of a generic task as it was submitted, as JSON in a string"}
	KillGenericTask = Endpoint[KillGenericTaskRequest, Empty]{Method: "POST", Path: "/tasks/:id/kill", Access: ByUsers, Object: KindTask, Verb: Change,
		Summary: "Kill a generic task with the tasks below it, or the whole tree"}
	PauseGenericTask = Endpoint[None, Empty]{Method: "POST", Path: "/tasks/:id/pause", Access: ByUsers, Object: KindTask, Verb: Change,
		Summary: "Pause a generic task with the tasks below it: their programs end, and their slots are free"}
	UnpauseGenericTask = Endpoint[None, Empty]{Method: "POST", Path: "/tasks/:id/unpause", Access: ByUsers, Object: KindTask, Verb: Change,
		Summary: "Unpause a generic task with the tasks below it: their programs start again"}
	LinkTask = Endpoint[None, TaskLinkResponse]{Method: "POST", Path: "/detent/tasks/:id/link", Access: ByUsers, Object: KindTask, Verb: Enter, Again: true,
		Summary: "Create a link that opens a task in a browser, once and within a minute"}
	AddressTask = Endpoint[None, TaskAddressResponse]{Method: "POST", Path: "/detent/tasks/:id/address", Access: ByUsers, Object: KindTask, Verb: Enter, Again: true,
		Summary: "Create an address with which programs, such as editors, use a notebook or a TensorBoard until the caller's session ends"}
)

type TaskState string

const (
	TaskStatePulling     TaskState = "STATE_PULLING"
	TaskStateStarting    TaskState = "STATE_STARTING"
	TaskStateRunning     TaskState = "STATE_RUNNING"
	TaskStateTerminated  TaskState = "STATE_TERMINATED"
	TaskStateTerminating TaskState = "STATE_TERMINATING"
	TaskStateQueued      TaskState = "STATE_QUEUED"
)

type Address struct {
	ContainerIp   string `json:"containerIp"`
	ContainerPort int    `json:"containerPort"`
	HostIp        string `json:"hostIp"`
	HostPort      int    `json:"hostPort"`
}

type FailureType string

type GetTaskContextDirectoryResponse GetModelDefResponse

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
	TaskTypeTrial   TaskType = "TASK_TYPE_TRIAL"
	TaskTypeGeneric TaskType = "TASK_TYPE_GENERIC"
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
