package v1

// The endpoints of logs.
var (
	ShipLogs = Endpoint[None, None]{Method: "POST", Path: "/detent/logs", Access: ByTasks, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Ship lines of output"}
	ShipTaskLogs = Endpoint[None, None]{Method: "POST", Path: "/task/logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Ship lines of output, as Determined's tasks do"}
	ShipOldTaskLogs = Endpoint[None, None]{Method: "POST", Path: "//task-logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Ship lines of output, as older tasks do"}
	StreamTrialLogs = Endpoint[None, None]{Method: "GET", Path: "/trials/:id/logs", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream the logs of a trial"}
	StreamTaskLogs = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/logs", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Stream the logs of a task"}
	StreamTrialLogFields = Endpoint[None, None]{Method: "GET", Path: "/trials/:id/logs/fields", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream what the logs of a trial can be filtered by"}
	StreamTaskLogFields = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/logs/fields", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Stream what the logs of a task can be filtered by"}
)
