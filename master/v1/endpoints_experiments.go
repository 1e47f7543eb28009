package v1

// The endpoints of experiments.
var (
	ListExperiments = Endpoint[None, GetExperimentsResponse]{Method: "GET", Path: "/experiments", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "List experiments",
		Params:  "archived description experimentIdFilter.gt experimentIdFilter.gte experimentIdFilter.incl experimentIdFilter.lt experimentIdFilter.lte experimentIdFilter.notIn labels name projectId states userIds users withoutConfig limit offset orderBy sortBy"}
	CreateExperiment = Endpoint[CreateExperimentRequest, CreateExperimentResponse]{Method: "POST", Path: "/experiments", Access: ByUsers, Object: KindExperiment, Verb: Create, Files: "modelDefinition",
		Summary: "Create an experiment"}
	ListLabels = Endpoint[None, LabelsResponse]{Method: "GET", Path: "/experiment/labels", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "The labels in use",
		Params:  "projectId"}
	ContinueExperiment = Endpoint[ContinueExperimentRequest, ContinueExperimentResponse]{Method: "POST", Path: "/experiments/continue", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Let an experiment go on after its end"}
	GetExperiment = Endpoint[None, GetExperimentResponse]{Method: "GET", Path: "/experiments/:id", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "An experiment"}
	ChangeExperiment = Endpoint[PatchExperiment, PatchExperimentResponse]{Method: "PATCH", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true, BodyLimit: ReportBody,
		Summary: "Change an experiment"}
	DeleteExperiment = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Change,
		Summary: "Delete an experiment that is over, with all that belongs to it"}
	ActivateExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/activate", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Let an experiment run, or run again"}
	PauseExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/pause", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Let an experiment checkpoint and stop until it is activated"}
	CancelExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/cancel", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Let an experiment checkpoint and end"}
	KillExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/kill", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "End an experiment at once"}
	ArchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/archive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Archive an experiment that is over"}
	UnarchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/unarchive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Take an experiment back from the archive"}
	AddExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "PUT", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Add a label"}
	RemoveExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "DELETE", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Take a label away"}
	GetModelDef = Endpoint[None, None]{Method: "GET", Path: "/experiments/:id/model_def", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "The experiment's code as a gzipped tar, in base64"}
	GetModelDefTree = Endpoint[None, FileTreeResponse]{Method: "GET", Path: "/experiments/:id/file_tree", Access: ByBoth, Object: KindExperiment, Verb: View, Slow: true,
		Summary: "The files of the experiment's code"}
	GetModelDefFile = Endpoint[FileRequest, None]{Method: "POST", Path: "/experiments/:id/file", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "A file of the experiment's code, in base64"}
	DownloadModelDefFile = Endpoint[None, None]{Method: "GET", Path: "/experiments/:id/file/download", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "A file of the experiment's code, as it is",
		Params:  "path"}
	GetValidationHistory = Endpoint[None, ValidationHistory]{Method: "GET", Path: "/experiments/:id/validation-history", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "How the best validation metric came about"}
	GetBestMetric = Endpoint[None, BestMetricResponse]{Method: "GET", Path: "/experiments/:id/searcher/best_searcher_validation_metric", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "The best validation metric so far"}
	GetSearcherEvents = Endpoint[None, GetSearcherEventsResponse]{Method: "GET", Path: "/experiments/:id/searcher_events", Access: ByBoth, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "What a program that drives a search has to answer"}
	PostSearcherOperations = Endpoint[PostSearcherOperationsRequest, None]{Method: "POST", Path: "/experiments/:id/searcher_operations", Access: ByBoth, Object: KindExperiment, Verb: Change,
		Summary: "What a program that drives a search wants"}
	PreviewSearch = Endpoint[PreviewHPSearchRequest, PreviewHPSearchResponse]{Method: "POST", Path: "/preview-hp-search", Access: ByUsers, Object: KindExperiment, Verb: Create, Again: true,
		Summary: "What a search would do"}
	SearchExperiments = Endpoint[SearchExperimentsRequest, SearchExperimentsResponse]{Method: "POST", Path: "/experiments-search", Access: ByBoth, Object: KindExperiment, Verb: View, Again: true, List: true, BodyLimit: ReportBody,
		Summary: "Search experiments, with their best trials"}
	MoveExperiment = Endpoint[MoveRequest, Empty]{Method: "POST", Path: "/experiments/:id/move", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Move an experiment to another project"}
)
