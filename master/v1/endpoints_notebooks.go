package v1

// The endpoints of notebooks.
var (
	ListNotebooks = Endpoint[GetCommandsRequest, GetNotebooksResponse]{Method: "GET", Path: "/notebooks", Access: ByBoth, Object: KindNotebook, Verb: View, List: true,
		Summary: "List notebooks"}
	CreateNotebook = Endpoint[LaunchNotebookRequest, LaunchNotebookResponse]{Method: "POST", Path: "/notebooks", Access: ByUsers, Object: KindNotebook, Verb: Create, Files: "files",
		Summary: "Start a notebook"}
	GetNotebook = Endpoint[None, GetNotebookResponse]{Method: "GET", Path: "/notebooks/:id", Access: ByBoth, Object: KindNotebook, Verb: View,
		Summary: "Get a notebook"}
	KillNotebook = Endpoint[None, NotebookResponse]{Method: "POST", Path: "/notebooks/:id/kill", Access: ByUsers, Object: KindNotebook, Verb: Change, Again: true,
		Summary: "Kill a notebook"}
	PrioritizeNotebook = Endpoint[PriorityRequest, NotebookResponse]{Method: "POST", Path: "/notebooks/:id/set_priority", Access: ByUsers, Object: KindNotebook, Verb: Change, Again: true,
		Summary: "Set the priority of a notebook"}
	ReportNotebookIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/notebooks/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a notebook is idle"}
)
