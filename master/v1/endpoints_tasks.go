package v1

// The endpoints of tasks.
var (
	GetTaskContext = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/context_directory", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Get the code of a task, in base64"}
	DownloadTaskContext = Endpoint[None, None]{Method: "GET", Path: "/detent/tasks/:id/context.tar.gz", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Download the code of a task, as tar.gz"}
	ListTasks = Endpoint[None, GetTasksResponse]{Method: "GET", Path: "/tasks", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "List the attempts of tasks that run or wait in the queue"}
	ListOldTasks = Endpoint[None, map[string]OldTask]{Method: "GET", Path: "//tasks", Access: ByUsers, Object: KindTask, Verb: View, List: true, Page: true,
		Summary: "List the attempts of tasks that run or wait in the queue, in the form for clients from before /api/v1"}
	CountTasks = Endpoint[None, TaskCountResponse]{Method: "GET", Path: "/tasks/count", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "Count the active commands, notebooks, shells and TensorBoards"}
	GetTask = Endpoint[None, GetTaskResponse]{Method: "GET", Path: "/tasks/:id", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "Get a task with its attempts, newest first"}
	LinkTask = Endpoint[None, TaskLinkResponse]{Method: "POST", Path: "/detent/tasks/:id/link", Access: ByUsers, Object: KindTask, Verb: Enter, Again: true,
		Summary: "Create a link that opens a task in a browser, once and within a minute"}
)
