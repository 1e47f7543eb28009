package v1

// The endpoints of tensorboards.
var (
	ListTensorboards = Endpoint[GetCommandsRequest, GetTensorboardsResponse]{Method: "GET", Path: "/tensorboards", Access: ByBoth, Object: KindTensorboard, Verb: View, List: true,
		Summary: "List TensorBoards"}
	CreateTensorboard = Endpoint[LaunchTensorboardRequest, LaunchTensorboardResponse]{Method: "POST", Path: "/tensorboards", Access: ByUsers, Object: KindTensorboard, Verb: Create, Files: "files",
		Summary: "Start a TensorBoard for experiments and trials"}
	GetTensorboard = Endpoint[None, GetTensorboardResponse]{Method: "GET", Path: "/tensorboards/:id", Access: ByBoth, Object: KindTensorboard, Verb: View,
		Summary: "Get a TensorBoard"}
	KillTensorboard = Endpoint[None, TensorboardResponse]{Method: "POST", Path: "/tensorboards/:id/kill", Access: ByUsers, Object: KindTensorboard, Verb: Change, Again: true,
		Summary: "Kill a TensorBoard"}
	PrioritizeTensorboard = Endpoint[PriorityRequest, TensorboardResponse]{Method: "POST", Path: "/tensorboards/:id/set_priority", Access: ByUsers, Object: KindTensorboard, Verb: Change, Again: true,
		Summary: "Set the priority of a TensorBoard"}
	ReportTensorboardIdle = Endpoint[IdleNotebookRequest, None]{Method: "PUT", Path: "/tensorboards/:id/report_idle", Access: ByTasks, Object: KindTask, Verb: Report,
		Summary: "Report that a TensorBoard is idle"}
)
