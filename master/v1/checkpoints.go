package v1

import "time"

// CheckpointState is an enum of the wire.
type CheckpointState string

// The values of CheckpointState.
const (
	CheckpointStateUnspecified      CheckpointState = "STATE_UNSPECIFIED"
	CheckpointStateActive           CheckpointState = "STATE_ACTIVE"
	CheckpointStateCompleted        CheckpointState = "STATE_COMPLETED"
	CheckpointStateError            CheckpointState = "STATE_ERROR"
	CheckpointStateDeleted          CheckpointState = "STATE_DELETED"
	CheckpointStatePartiallyDeleted CheckpointState = "STATE_PARTIALLY_DELETED"
)

// Checkpoint is a message of the wire.
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
	// Removals is what was removed of it; only where one checkpoint is asked for.
	Removals []CheckpointRemoval `json:"removals,omitempty"`
}

// CheckpointTrainingMetadata is a message of the wire.
type CheckpointTrainingMetadata struct {
	ExperimentConfig  Struct   `json:"experimentConfig,null"`
	ExperimentID      *int     `json:"experimentId"`
	HParams           Struct   `json:"hparams,null"`
	SearcherMetric    *float64 `json:"searcherMetric"`
	TrainingMetrics   *Metrics `json:"trainingMetrics"`
	TrialID           *int     `json:"trialId"`
	ValidationMetrics *Metrics `json:"validationMetrics"`
}

// CheckpointWorkload is a message of the wire.
type CheckpointWorkload struct {
	State        CheckpointState  `json:"state"`
	TotalBatches int              `json:"totalBatches"`
	EndTime      *time.Time       `json:"endTime"`
	Metadata     Struct           `json:"metadata,null"`
	Resources    map[string]int64 `json:"resources"`
	UUID         string           `json:"uuid"`
}

// GetCheckpointResponse is a message of the wire.
type GetCheckpointResponse struct {
	Checkpoint Checkpoint `json:"checkpoint"`
}

// GetExperimentCheckpointsResponse is a message of the wire.
type GetExperimentCheckpointsResponse struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Pagination  Pagination   `json:"pagination"`
}

// GetTrialCheckpointsResponse is a message of the wire.
type GetTrialCheckpointsResponse struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Pagination  Pagination   `json:"pagination"`
}

// PatchCheckpoint is a message of the wire.
type PatchCheckpoint struct {
	UUID      string                            `json:"uuid"`
	Resources *PatchCheckpointOptionalResources `json:"resources,omitempty"`
}

// PatchCheckpointsRequest is a message of the wire.
type PatchCheckpointsRequest struct {
	Checkpoints []PatchCheckpoint `json:"checkpoints"`
}

// PostCheckpointMetadataRequest is a message of the wire.
type PostCheckpointMetadataRequest struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// PostCheckpointMetadataResponse is a message of the wire.
type PostCheckpointMetadataResponse struct {
	Checkpoint *Checkpoint `json:"checkpoint"`
}
