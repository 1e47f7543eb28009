package v1

import "time"

type TrialState string

const (
	TrialStateUnspecified       TrialState = "STATE_UNSPECIFIED"
	TrialStateActive            TrialState = "STATE_ACTIVE"
	TrialStatePaused            TrialState = "STATE_PAUSED"
	TrialStateStoppingCanceled  TrialState = "STATE_STOPPING_CANCELED"
	TrialStateStoppingKilled    TrialState = "STATE_STOPPING_KILLED"
	TrialStateStoppingCompleted TrialState = "STATE_STOPPING_COMPLETED"
	TrialStateStoppingError     TrialState = "STATE_STOPPING_ERROR"
	TrialStateCanceled          TrialState = "STATE_CANCELED"
	TrialStateCompleted         TrialState = "STATE_COMPLETED"
	TrialStateError             TrialState = "STATE_ERROR"
	TrialStateQueued            TrialState = "STATE_QUEUED"
	TrialStatePulling           TrialState = "STATE_PULLING"
	TrialStateStarting          TrialState = "STATE_STARTING"
	TrialStateRunning           TrialState = "STATE_RUNNING"
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

type CreateTrialResponse struct {
	Trial Trial `json:"trial"`
}

type PutTrialRequest struct {
	CreateTrialRequest *CreateTrialRequest `json:"createTrialRequest,omitempty"`
	ExternalTrialID    string              `json:"externalTrialId"`
}

type PutTrialResponse struct {
	Trial Trial `json:"trial"`
}

type StartTrialRequest struct {
	TrialID int   `json:"trialId"`
	Resume  *bool `json:"resume,omitempty"`
}

type StartTrialResponse struct {
	TrialRunID       int     `json:"trialRunId"`
	LatestCheckpoint *string `json:"latestCheckpoint"`
	StepsCompleted   int     `json:"stepsCompleted"`
}

type PatchTrialResponse struct {
	Trial Trial `json:"trial"`
}

type WorkloadContainer struct {
	Checkpoint *CheckpointWorkload `json:"checkpoint,omitempty"`
	Training   *MetricsWorkload    `json:"training,omitempty"`
	Validation *MetricsWorkload    `json:"validation,omitempty"`
}
