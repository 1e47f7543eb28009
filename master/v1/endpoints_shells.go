package v1

// The endpoints of shells.
var (
	ListShells = Endpoint[GetCommandsRequest, GetShellsResponse]{Method: "GET", Path: "/shells", Access: ByBoth, Object: KindShell, Verb: View, List: true,
		Summary: "List shells"}
	CreateShell = Endpoint[LaunchShellRequest, LaunchShellResponse]{Method: "POST", Path: "/shells", Access: ByUsers, Object: KindShell, Verb: Create, Files: "files",
		Summary: "Start a shell"}
	GetShell = Endpoint[None, GetShellResponse]{Method: "GET", Path: "/shells/:id", Access: ByBoth, Object: KindShell, Verb: View,
		Summary: "Get a shell, with its private key for users who may log in to it"}
	KillShell = Endpoint[None, ShellResponse]{Method: "POST", Path: "/shells/:id/kill", Access: ByUsers, Object: KindShell, Verb: Change, Again: true,
		Summary: "Kill a shell"}
	PrioritizeShell = Endpoint[PriorityRequest, ShellResponse]{Method: "POST", Path: "/shells/:id/set_priority", Access: ByUsers, Object: KindShell, Verb: Change, Again: true,
		Summary: "Set the priority of a shell"}
	OpenTerminal = Endpoint[OpenTerminalRequest, None]{Method: "GET", Path: "/detent/shells/:id/terminal", Access: ByUsers, Object: KindShell, Verb: Enter, Stream: true, Audit: AuditOthers,
		Summary: "Open a terminal in a shell: a WebSocket, for the pages"}
	ReportShellIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/shells/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a shell is idle"}
)
