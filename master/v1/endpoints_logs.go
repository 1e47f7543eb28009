package v1

// The endpoints of logs.
var (
	ShipLogs = Endpoint[None, None]{Method: "POST", Path: "/detent/logs", Access: ByTasks, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines"}
	ShipTaskLogs = Endpoint[None, None]{Method: "POST", Path: "/task/logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of Determined's tasks"}
	ShipOldTaskLogs = Endpoint[None, None]{Method: "POST", Path: "//task-logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of older tasks"}
	StreamTrialLogs = Endpoint[None, None]{Method: "GET", Path: "/trials/:id/logs", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a trial"}
	StreamTaskLogs = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/logs", Access: ByBoth, Object: KindTask, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a task"}
	StreamTrialLogFields = Endpoint[None, None]{Method: "GET", Path: "/trials/:id/logs/fields", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a trial can be filtered"}
	StreamTaskLogFields = Endpoint[None, None]{Method: "GET", Path: "/tasks/:id/logs/fields", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a task can be filtered"}
)
