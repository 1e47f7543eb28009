package v1

// The endpoints of collections.
var (
	DeleteCheckpoints = Endpoint[DeleteCheckpointsRequest, None]{Method: "DELETE", Path: "/checkpoints", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Remove checkpoints with all their files"}
	RemoveCheckpointFiles = Endpoint[CheckpointsRemoveFilesRequest, None]{Method: "POST", Path: "/checkpoints/rm", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Remove files of checkpoints, or look what is there"}
	RemoveTensorboardFiles = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id/tensorboard-files", Access: ByUsers, Object: KindExperiment, Verb: Change,
		Summary: "Remove the files that TensorBoards of an experiment read"}
	PreviewGC = Endpoint[None, PreviewGCResponse]{Method: "GET", Path: "//experiments/:id/preview_gc", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "What a policy would remove of an experiment's checkpoints",
		Params:  "save_experiment_best save_trial_best save_trial_latest offset"}
	ListCollections = Endpoint[None, GetCollectionsResponse]{Method: "GET", Path: "/detent/experiments/:id/collections", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "What was removed of an experiment's files"}
	ReportFreed = Endpoint[FreedRequest, None]{Method: "POST", Path: "/detent/collections/:task/freed", Access: ByTasks, Object: KindTask, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report what was removed"}
)
