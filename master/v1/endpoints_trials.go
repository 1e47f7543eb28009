package v1

// The endpoints of trials.
var (
	ReportProgress = Endpoint[None, None]{Method: "POST", Path: "/trials/:id/progress", Access: ByBoth, Object: KindTrial, Verb: Report, Stream: true,
		Summary: "Report the progress of a trial"}
	ReportEarlyExit = Endpoint[EarlyExitRequest, None]{Method: "POST", Path: "/trials/:id/early_exit", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Report why a trial will end early"}
	ReportRunnerState = Endpoint[RunnerMetadataRequest, None]{Method: "POST", Path: "/trials/:id/runner/metadata", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Report the state of a trial's program"}
	GetSearcherOperation = Endpoint[None, SearcherOperationResponse]{Method: "GET", Path: "/trials/:id/searcher/operation", Access: ByBoth, Object: KindTrial, Verb: Report, Waits: true,
		Summary: "Get the length to which a trial is to train"}
	CompleteSearcherOperation = Endpoint[CompletedOperationRequest, None]{Method: "POST", Path: "/trials/:id/searcher/completed_operation", Access: ByBoth, Object: KindTrial, Verb: Report,
		Summary: "Report that a trial has trained to a length"}
	ListTrials = Endpoint[GetExperimentTrialsRequest, GetExperimentTrialsResponse]{Method: "GET", Path: "/experiments/:id/trials", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the trials of an experiment"}
	GetTrial = Endpoint[None, GetTrialResponse]{Method: "GET", Path: "/trials/:id", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "Get a trial"}
	KillTrial = Endpoint[None, Empty]{Method: "POST", Path: "/trials/:id/kill", Access: ByUsers, Object: KindTrial, Verb: Change, Again: true,
		Summary: "Kill a trial: it ends at once"}
	ListTrialWorkloads = Endpoint[GetTrialWorkloadsRequest, GetTrialWorkloadsResponse]{Method: "GET", Path: "/trials/:id/workloads", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "List the training, validation and checkpoint steps of a trial"}
	ListTrialCheckpoints = Endpoint[GetCheckpointsRequest, GetTrialCheckpointsResponse]{Method: "GET", Path: "/trials/:id/checkpoints", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "List the checkpoints of a trial"}
	ListSearchTrials = Endpoint[GetSearchTrialsRequest, GetSearchTrialsResponse]{Method: "GET", Path: "/detent/experiments/:id/search-trials", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the trials of a search by id, each with its downsampled curve of one metric"}
	ListExperimentAttempts = Endpoint[GetAttemptsRequest, ListAttemptsResponse]{Method: "GET", Path: "/detent/experiments/:id/attempts", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the attempts of the trials of an experiment with their nodes and the reasons of their ends, newest first"}
	ListTaskAttempts = Endpoint[GetListRequest, ListAttemptsResponse]{Method: "GET", Path: "/detent/tasks/:id/attempts", Access: ByBoth, Object: KindTask, Verb: View,
		Summary: "List the attempts of a task with their nodes and the reasons of their ends, newest first"}
)
