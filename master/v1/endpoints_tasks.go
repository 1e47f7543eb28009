package v1

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
