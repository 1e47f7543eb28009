package v1

// The endpoints of experiments bulk.
var (
	ActivateExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/activate", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Let an experiment run, or run again, many at once"}
	PauseExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/pause", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Let an experiment checkpoint and stop until it is activated, many at once"}
	CancelExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/cancel", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Let an experiment checkpoint and end, many at once"}
	KillExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/kill", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "End an experiment at once, many at once"}
	ArchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/archive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Archive an experiment that is over, many at once"}
	UnarchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/unarchive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Take an experiment back from the archive, many at once"}
	DeleteExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "DELETE", Path: "/projects/:id/experiments/delete", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Delete experiments, many at once"}
	MoveExperiments = Endpoint[MoveManyRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/move", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Move experiments to another project, many at once"}
)
