package v1

// The endpoints of commands.
var (
	ListCommands = Endpoint[GetCommandsRequest, GetCommandsResponse]{Method: "GET", Path: "/commands", Access: ByBoth, Object: KindCommand, Verb: View, List: true,
		Summary: "List commands"}
	CreateCommand = Endpoint[LaunchCommandRequest, LaunchCommandResponse]{Method: "POST", Path: "/commands", Access: ByUsers, Object: KindCommand, Verb: Create, Files: "files",
		Summary: "Run a command"}
	GetCommand = Endpoint[None, GetCommandResponse]{Method: "GET", Path: "/commands/:id", Access: ByBoth, Object: KindCommand, Verb: View,
		Summary: "Get a command"}
	KillCommand = Endpoint[None, KillCommandResponse]{Method: "POST", Path: "/commands/:id/kill", Access: ByUsers, Object: KindCommand, Verb: Change, Again: true,
		Summary: "Kill a command"}
	PrioritizeCommand = Endpoint[PriorityRequest, KillCommandResponse]{Method: "POST", Path: "/commands/:id/set_priority", Access: ByUsers, Object: KindCommand, Verb: Change, Again: true,
		Summary: "Set the priority of a command"}
)
