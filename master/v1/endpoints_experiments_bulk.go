package v1

// The endpoints of experiments bulk.
var (
	ActivateExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/activate", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Activate several paused experiments"}
	PauseExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/pause", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Pause several experiments: their trials save a checkpoint and stop"}
	CancelExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/cancel", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Cancel several experiments: their trials save a checkpoint and end"}
	KillExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/kill", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Kill several experiments: their trials end at once"}
	ArchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/archive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Archive several experiments that have ended"}
	UnarchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/unarchive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Unarchive several experiments"}
	DeleteExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "DELETE", Path: "/projects/:id/experiments/delete", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Delete several experiments that have ended"}
	MoveExperiments = Endpoint[MoveManyRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/move", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Move several experiments to another project"}
)
