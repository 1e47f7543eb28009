package v1

// The endpoints of checkpoints.
var (
	ReportCheckpoint = Endpoint[Checkpoint, None]{Method: "POST", Path: "/checkpoints", Access: ByBoth, Object: KindCheckpoint, Verb: Report, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Report a checkpoint"}
	ChangeCheckpoints = Endpoint[PatchCheckpointsRequest, None]{Method: "PATCH", Path: "/checkpoints", Access: ByBoth, Object: KindCheckpoint, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Audit: AuditAlways,
		Summary: "Report which files of checkpoints are left"}
	GetCheckpoint = Endpoint[None, GetCheckpointResponse]{Method: "GET", Path: "/checkpoints/:uuid", Access: ByBoth, Object: KindCheckpoint, Verb: View,
		Summary: "Get a checkpoint"}
	SetCheckpointMetadata = Endpoint[PostCheckpointMetadataRequest, PostCheckpointMetadataResponse]{Method: "POST", Path: "/checkpoints/:uuid/metadata", Access: ByBoth, Object: KindCheckpoint, Verb: Report, BodyLimit: ReportBody, Audit: AuditAlways,
		Summary: "Replace the metadata of a checkpoint"}
	DownloadCheckpoint = Endpoint[None, None]{Method: "GET", Path: "//checkpoints/:uuid", Access: ByBoth, Object: KindCheckpoint, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download the files of a checkpoint, as tar.gz or zip"}
	ListExperimentCheckpoints = Endpoint[GetCheckpointsRequest, GetExperimentCheckpointsResponse]{Method: "GET", Path: "/experiments/:id/checkpoints", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the checkpoints of an experiment"}
)
