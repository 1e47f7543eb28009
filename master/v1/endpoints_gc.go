package v1

// The endpoints of garbage collections (GC).
var (
	DeleteCheckpoints = Endpoint[DeleteCheckpointsRequest, None]{Method: "DELETE", Path: "/checkpoints", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete checkpoints with all their files"}
	RemoveCheckpointFiles = Endpoint[CheckpointsRemoveFilesRequest, None]{Method: "POST", Path: "/checkpoints/rm", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete the files of checkpoints that match patterns; without patterns, read the list of their files from storage again"}
	RemoveTensorboardFiles = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id/tensorboard-files", Access: ByUsers, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "Delete the files that TensorBoards of an experiment read, and wait until they are gone"}
	PreviewGC = Endpoint[PreviewGCRequest, PreviewGCResponse]{Method: "GET", Path: "//experiments/:id/preview_gc", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Preview which checkpoints of an experiment a policy would delete"}
	ListGCs = Endpoint[None, GetGCsResponse]{Method: "GET", Path: "/detent/experiments/:id/collections", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the garbage collections of an experiment"}
	ReportFreed = Endpoint[FreedRequest, None]{Method: "POST", Path: "/detent/collections/:task/freed", Access: ByTasks, Object: KindTask, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report which files a garbage collection deleted"}
	ListStrays = Endpoint[StraysRequest, StraysResponse]{Method: "POST", Path: "/detent/collections/:task/strays", Access: ByTasks, Object: KindTask, Verb: Report, BodyLimit: ReportBody,
		Summary: "Ask which folders of a storage belong to no checkpoint, for a sweep"}
)
