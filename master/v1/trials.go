package v1

import "time"

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

// The endpoints of unmanaged experiments: programs run their trials elsewhere, and report them with their
// user's session.
var (
	PutExperiment = Endpoint[CreateExperimentRequest, PutExperimentResponse]{Method: "PUT", Path: "/experiments/by-external-id/:external", Access: ByUsers, Object: KindExperiment, Verb: Create, Files: "modelDefinition",
		Summary: "Create an unmanaged experiment, or get the one that has the external id"}
	CreateTrial = Endpoint[CreateTrialRequest, CreateTrialResponse]{Method: "POST", Path: "/trials", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, BodyLimit: ConfigBody,
		Summary: "Create a trial of an unmanaged experiment"}
	PutTrial = Endpoint[PutTrialRequest, PutTrialResponse]{Method: "PUT", Path: "/trials", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Create a trial of an unmanaged experiment, or get the one that has the external id"}
	GetTrialByExternalID = Endpoint[None, GetTrialResponse]{Method: "GET", Path: "/trials/by-external-id/:experiment/:trial", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "Get a trial by the external ids of its experiment and of itself"}
	StartTrial = Endpoint[StartTrialRequest, StartTrialResponse]{Method: "POST", Path: "/trials/:id/start", Access: ByUsers, Object: KindTrial, Verb: Report,
		Summary: "Start the next run of an unmanaged trial"}
	PatchTrial = Endpoint[PatchTrialRequest, PatchTrialResponse]{Method: "PATCH", Path: "/trials/:id", Access: ByUsers, Object: KindTrial, Verb: Report, Again: true,
		Summary: "Report that an unmanaged trial is alive, and its state"}
)

type TrialState string

const (
	TrialStateCanceled  TrialState = "STATE_CANCELED"
	TrialStateCompleted TrialState = "STATE_COMPLETED"
	TrialStateError     TrialState = "STATE_ERROR"
	TrialStateQueued    TrialState = "STATE_QUEUED"
)

type Trial struct {
	ExperimentID            int                 `json:"experimentId"`
	HParams                 Struct              `json:"hparams"`
	ID                      int                 `json:"id"`
	Restarts                int                 `json:"restarts"`
	StartTime               time.Time           `json:"startTime"`
	State                   TrialState          `json:"state"`
	TotalBatchesProcessed   int                 `json:"totalBatchesProcessed"`
	BestCheckpoint          *CheckpointWorkload `json:"bestCheckpoint"`
	BestValidation          *MetricsWorkload    `json:"bestValidation"`
	CheckpointCount         int                 `json:"checkpointCount"`
	EndTime                 *time.Time          `json:"endTime"`
	LatestValidation        *MetricsWorkload    `json:"latestValidation"`
	LogPolicyMatched        *string             `json:"logPolicyMatched"`
	LogRetentionDays        *int                `json:"logRetentionDays"`
	Metadata                Struct              `json:"metadata,null"`
	RunnerState             string              `json:"runnerState"`
	SearcherMetricValue     *float64            `json:"searcherMetricValue"`
	SummaryMetrics          Struct              `json:"summaryMetrics,null"`
	TaskID                  string              `json:"taskId"`
	TaskIDs                 []string            `json:"taskIds"`
	TotalCheckpointSize     int64               `json:"totalCheckpointSize"`
	WallClockTime           float64             `json:"wallClockTime"`
	WarmStartCheckpointUUID string              `json:"warmStartCheckpointUuid"`
	OriginTrialID           *int                `json:"originTrialId"`     // in a branch: the trial of the other experiment with which it goes on; not in Determined
	Error                   string              `json:"error"`             // why it ended in error; not in Determined
	WaitingReason           string              `json:"waitingReason"`     // why it waits, in a sentence; not in Determined
	SummaryIncomplete       string              `json:"summaryIncomplete"` // why metrics are missing in summaryMetrics; not in Determined
}

type GetTrialResponse struct {
	Trial Trial `json:"trial"`
}

type GetTrialWorkloadsResponse struct {
	Pagination Pagination          `json:"pagination"`
	Workloads  []WorkloadContainer `json:"workloads"`
}

// Records returns the records of the page.
func (r GetTrialWorkloadsResponse) Records() ([]WorkloadContainer, Pagination) {
	return r.Workloads, r.Pagination
}

type PatchTrialRequest struct {
	TrialID int         `json:"trialId"`
	State   *TrialState `json:"state,omitempty"`
}

type CreateTrialRequest struct {
	ExperimentID int    `json:"experimentId"`
	HParams      Struct `json:"hparams,omitempty"`
	Unmanaged    *bool  `json:"unmanaged,omitempty"`
}

type CreateTrialResponse GetTrialResponse

type PutTrialRequest struct {
	CreateTrialRequest *CreateTrialRequest `json:"createTrialRequest,omitempty"`
	ExternalTrialID    string              `json:"externalTrialId"`
}

type PutTrialResponse GetTrialResponse

type StartTrialRequest struct {
	TrialID int   `json:"trialId"`
	Resume  *bool `json:"resume,omitempty"`
}

type StartTrialResponse struct {
	TrialRunID       int     `json:"trialRunId"`
	LatestCheckpoint *string `json:"latestCheckpoint"`
	StepsCompleted   int     `json:"stepsCompleted"`
}

type PatchTrialResponse GetTrialResponse

type WorkloadContainer struct {
	Checkpoint *CheckpointWorkload `json:"checkpoint,omitempty"`
	Training   *MetricsWorkload    `json:"training,omitempty"`
	Validation *MetricsWorkload    `json:"validation,omitempty"`
}
