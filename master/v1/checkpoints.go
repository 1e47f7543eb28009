package v1

import "time"

type CheckpointState string

const (
	CheckpointStateUnspecified      CheckpointState = "STATE_UNSPECIFIED"
	CheckpointStateActive           CheckpointState = "STATE_ACTIVE"
	CheckpointStateCompleted        CheckpointState = "STATE_COMPLETED"
	CheckpointStateError            CheckpointState = "STATE_ERROR"
	CheckpointStateDeleted          CheckpointState = "STATE_DELETED"
	CheckpointStatePartiallyDeleted CheckpointState = "STATE_PARTIALLY_DELETED"
)

type Checkpoint struct {
	Metadata     Struct                     `json:"metadata"`
	Resources    map[string]int64           `json:"resources"`
	State        CheckpointState            `json:"state"`
	Training     CheckpointTrainingMetadata `json:"training"`
	UUID         string                     `json:"uuid"`
	AllocationID string                     `json:"allocationId"`
	ReportTime   *time.Time                 `json:"reportTime"`
	StorageID    *int                       `json:"storageId"`
	TaskID       string                     `json:"taskId"`
	// Removals lists the removed files; set only in the answer for one checkpoint.
	Removals []CheckpointRemoval `json:"removals,omitempty"`
}

type CheckpointTrainingMetadata struct {
	ExperimentConfig  Struct   `json:"experimentConfig,null"`
	ExperimentID      *int     `json:"experimentId"`
	HParams           Struct   `json:"hparams,null"`
	SearcherMetric    *float64 `json:"searcherMetric"`
	TrainingMetrics   *Metrics `json:"trainingMetrics"`
	TrialID           *int     `json:"trialId"`
	ValidationMetrics *Metrics `json:"validationMetrics"`
}

type CheckpointWorkload struct {
	State        CheckpointState  `json:"state"`
	TotalBatches int              `json:"totalBatches"`
	EndTime      *time.Time       `json:"endTime"`
	Metadata     Struct           `json:"metadata,null"`
	Resources    map[string]int64 `json:"resources"`
	UUID         string           `json:"uuid"`
}

type GetCheckpointResponse struct {
	Checkpoint Checkpoint `json:"checkpoint"`
}

type GetExperimentCheckpointsResponse struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Pagination  Pagination   `json:"pagination"`
}

// Records returns the records of the page.
func (r GetExperimentCheckpointsResponse) Records() ([]Checkpoint, Pagination) {
	return r.Checkpoints, r.Pagination
}

type GetTrialCheckpointsResponse struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Pagination  Pagination   `json:"pagination"`
}

// Records returns the records of the page.
func (r GetTrialCheckpointsResponse) Records() ([]Checkpoint, Pagination) {
	return r.Checkpoints, r.Pagination
}

type PatchCheckpoint struct {
	UUID      string                            `json:"uuid"`
	Resources *PatchCheckpointOptionalResources `json:"resources,omitempty"`
}

type PatchCheckpointsRequest struct {
	Checkpoints []PatchCheckpoint `json:"checkpoints"`
}

type PostCheckpointMetadataRequest struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

type PostCheckpointMetadataResponse struct {
	Checkpoint *Checkpoint `json:"checkpoint"`
}
