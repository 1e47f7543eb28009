package v1

// The endpoints of experiments.
var (
	ListExperiments = Endpoint[GetExperimentsRequest, GetExperimentsResponse]{Method: "GET", Path: "/experiments", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "List experiments"}
	CreateExperiment = Endpoint[CreateExperimentRequest, CreateExperimentResponse]{Method: "POST", Path: "/experiments", Access: ByUsers, Object: KindExperiment, Verb: Create, Files: "modelDefinition",
		Summary: "Create an experiment"}
	ListLabels = Endpoint[GetExperimentLabelsRequest, LabelsResponse]{Method: "GET", Path: "/experiment/labels", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "List the labels that experiments have"}
	ContinueExperiment = Endpoint[ContinueExperimentRequest, ContinueExperimentResponse]{Method: "POST", Path: "/experiments/continue", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Continue an experiment that has ended"}
	GetExperiment = Endpoint[None, GetExperimentResponse]{Method: "GET", Path: "/experiments/:id", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Get an experiment"}
	ChangeExperiment = Endpoint[PatchExperiment, PatchExperimentResponse]{Method: "PATCH", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true, BodyLimit: ReportBody,
		Summary: "Change an experiment"}
	DeleteExperiment = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Delete,
		Summary: "Delete an experiment that has ended, with its checkpoints, metrics and logs"}
	ActivateExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/activate", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Activate a paused experiment"}
	PauseExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/pause", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Pause an experiment: its trials save a checkpoint and stop"}
	CancelExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/cancel", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Cancel an experiment: its trials save a checkpoint and end"}
	KillExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/kill", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Kill an experiment: its trials end at once"}
	ArchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/archive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Archive an experiment that has ended"}
	UnarchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/unarchive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Unarchive an experiment"}
	AddExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "PUT", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Add a label to an experiment"}
	RemoveExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "DELETE", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Remove a label from an experiment"}
	GetModelDef = Endpoint[None, None]{Method: "GET", Path: "/experiments/:id/model_def", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Get the code of an experiment, as a gzipped tar in base64"}
	GetModelDefTree = Endpoint[None, FileTreeResponse]{Method: "GET", Path: "/experiments/:id/file_tree", Access: ByBoth, Object: KindExperiment, Verb: View, Slow: true,
		Summary: "List the files of an experiment's code"}
	GetModelDefFile = Endpoint[FileRequest, None]{Method: "POST", Path: "/experiments/:id/file", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Get a file of an experiment's code, in base64"}
	DownloadModelDefFile = Endpoint[GetFileRequest, None]{Method: "GET", Path: "/experiments/:id/file/download", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download a file of an experiment's code"}
	DownloadOldModelDef = Endpoint[None, None]{Method: "GET", Path: "//experiments/:id/model_def", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download the code of an experiment as tar.gz, for clients from before /api/v1"}
	DownloadOldModelDefFile = Endpoint[GetFileRequest, None]{Method: "GET", Path: "//experiments/:id/file/download", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download a file of an experiment's code, for clients from before /api/v1"}
	GetValidationHistory = Endpoint[None, ValidationHistory]{Method: "GET", Path: "/experiments/:id/validation-history", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List how the best validation metric of an experiment improved over time"}
	GetBestMetric = Endpoint[None, BestMetricResponse]{Method: "GET", Path: "/experiments/:id/searcher/best_searcher_validation_metric", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Get the best validation metric of an experiment"}
	GetSearcherEvents = Endpoint[None, GetSearcherEventsResponse]{Method: "GET", Path: "/experiments/:id/searcher_events", Access: ByBoth, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "Wait for the events that the program of a custom search must answer"}
	PostSearcherOperations = Endpoint[PostSearcherOperationsRequest, None]{Method: "POST", Path: "/experiments/:id/searcher_operations", Access: ByBoth, Object: KindExperiment, Verb: Change,
		Summary: "Send the operations of a custom search"}
	PreviewSearch = Endpoint[PreviewHPSearchRequest, PreviewHPSearchResponse]{Method: "POST", Path: "/preview-hp-search", Access: ByUsers, Object: KindExperiment, Verb: Create, Again: true, Audit: AuditNever,
		Summary: "Preview the trials that a search would create"}
	SearchExperiments = Endpoint[SearchExperimentsRequest, SearchExperimentsResponse]{Method: "POST", Path: "/experiments-search", Access: ByBoth, Object: KindExperiment, Verb: View, Again: true, List: true, BodyLimit: ReportBody,
		Summary: "Search experiments, and get each with its best trial"}
	MoveExperiment = Endpoint[MoveRequest, Empty]{Method: "POST", Path: "/experiments/:id/move", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Move an experiment to another project"}
)
