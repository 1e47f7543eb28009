package v1

// The endpoints of logs.
var (
	ShipLogs = Endpoint[None, None]{Method: "POST", Path: "/detent/logs", Access: ByTasks, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines"}
	ShipTaskLogs = Endpoint[None, None]{Method: "POST", Path: "/task/logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of Determined's tasks"}
	ShipOldTaskLogs = Endpoint[None, None]{Method: "POST", Path: "//task-logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of older tasks"}
	StreamTrialLogs = Endpoint[GetLogsRequest, None]{Method: "GET", Path: "/trials/:id/logs", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a trial"}
	StreamTaskLogs = Endpoint[GetLogsRequest, None]{Method: "GET", Path: "/tasks/:id/logs", Access: ByBoth, Object: KindTask, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a task"}
	SearchLogs = Endpoint[SearchLogsRequest, SearchLogsResponse]{Method: "GET", Path: "/detent/logs/search", Access: ByUsers, Object: KindTask, Verb: View, List: true, Audit: AuditAlways,
		Summary: "Search the logs of all tasks that you may view for a text, for a bounded time"}
	RetainExperimentLogs = Endpoint[RetainLogsRequest, Empty]{Method: "PUT", Path: "/experiments/:id/retain_logs", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Set for how many days the logs of an experiment's trials are kept"}
	RetainManyLogs = Endpoint[RetainManyLogsRequest, BulkResponse]{Method: "PUT", Path: "/projects/:id/experiments/retain_logs", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody, Again: true,
		Summary: "Set for how many days the logs of several experiments are kept"}
	RetainTrialLogs = Endpoint[RetainLogsRequest, Empty]{Method: "PUT", Path: "/trials/:id/retain_logs", Access: ByUsers, Object: KindTrial, Verb: Change, Again: true,
		Summary: "Set for how many days the log of a trial is kept"}
	GetRemainingLogDays = Endpoint[None, GetTrialRemainingLogRetentionDaysResponse]{Method: "GET", Path: "/trials/:id/remaining_log_retention_days", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "Get the number of days until the log of a trial is deleted"}
	CleanupLogs = Endpoint[None, CleanupLogsResponse]{Method: "POST", Path: "/cleanup_logs", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Delete the logs whose retention has ended, now"}
	StreamTrialLogFields = Endpoint[FollowRequest, None]{Method: "GET", Path: "/trials/:id/logs/fields", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a trial can be filtered"}
	StreamTaskLogFields = Endpoint[FollowRequest, None]{Method: "GET", Path: "/tasks/:id/logs/fields", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a task can be filtered"}
)
