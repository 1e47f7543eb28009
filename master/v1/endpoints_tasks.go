package v1

// The endpoints of tasks.
var (
	GetTaskContext = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/context_directory", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "The code of a task, in base64"}
	DownloadTaskContext = Endpoint[None, None]{Method: "GET", Path: "/detent/tasks/:id/context.tar.gz", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "The code of a task"}
	ListTasks = Endpoint[None, GetTasksResponse]{Method: "GET", Path: "/tasks", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "What holds or waits for a place"}
	ListOldTasks = Endpoint[None, map[string]OldTask]{Method: "GET", Path: "//tasks", Access: ByUsers, Object: KindTask, Verb: View, List: true, Page: true,
		Summary: "What holds or waits for a place, by attempt, as clients from before /api/v1 read it"}
	CountTasks = Endpoint[None, TaskCountResponse]{Method: "GET", Path: "/tasks/count", Access: ByBoth, Object: KindTask, Verb: View, List: true,
		Summary: "How many interactive tasks and commands there are"}
	GetTask = Endpoint[None, GetTaskResponse]{Method: "GET", Path: "/tasks/:id", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "A task with its attempts, the newest first"}
	LinkTask = Endpoint[None, TaskLinkResponse]{Method: "POST", Path: "/detent/tasks/:id/link", Access: ByUsers, Object: KindTask, Verb: Enter, Again: true,
		Summary: "Make a link that opens a task in a browser, once and within a minute"}
)
