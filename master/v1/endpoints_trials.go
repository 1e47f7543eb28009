package v1

// The endpoints of trials.
var (
	ReportProgress = Endpoint[None, None]{Method: "POST", Path: "/trials/:id/progress", Access: ByBoth, Object: KindTrial, Verb: Report, Stream: true,
		Summary: "Say how far a trial has come"}
	ReportEarlyExit = Endpoint[EarlyExitRequest, None]{Method: "POST", Path: "/trials/:id/early_exit", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Say why a trial will end before its time"}
	ReportRunnerState = Endpoint[RunnerMetadataRequest, None]{Method: "POST", Path: "/trials/:id/runner/metadata", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Say what a program is doing"}
	GetSearcherOperation = Endpoint[None, SearcherOperationResponse]{Method: "GET", Path: "/trials/:id/searcher/operation", Access: ByBoth, Object: KindTrial, Verb: Report, Waits: true,
		Summary: "The length to train to"}
	CompleteSearcherOperation = Endpoint[CompletedOperationRequest, None]{Method: "POST", Path: "/trials/:id/searcher/completed_operation", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Say that a length was reached"}
	ListTrials = Endpoint[None, GetExperimentTrialsResponse]{Method: "GET", Path: "/experiments/:id/trials", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the trials of an experiment",
		Params:  "states limit offset orderBy sortBy"}
	GetTrial = Endpoint[None, GetTrialResponse]{Method: "GET", Path: "/trials/:id", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "A trial"}
	KillTrial = Endpoint[None, Empty]{Method: "POST", Path: "/trials/:id/kill", Access: ByUsers, Object: KindTrial, Verb: Change, Again: true,
		Summary: "End a trial at once"}
	ListTrialWorkloads = Endpoint[None, GetTrialWorkloadsResponse]{Method: "GET", Path: "/trials/:id/workloads", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "What a trial reported, step by step",
		Params:  "filter group includeBatchMetrics metricType removeDeletedCheckpoints sortKey limit offset orderBy"}
	ListTrialCheckpoints = Endpoint[None, GetTrialCheckpointsResponse]{Method: "GET", Path: "/trials/:id/checkpoints", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "List the checkpoints of a trial",
		Params:  "states sortByAttr sortByMetric orderBy limit offset"}
)
