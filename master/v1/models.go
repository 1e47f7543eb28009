package v1

import "time"

// Model is a name under which checkpoints are registered as versions.
type Model struct {
	ID              int       `json:"id"`
	Name            string    `json:"name"`
	Description     string    `json:"description"`
	Metadata        Struct    `json:"metadata"`
	CreationTime    time.Time `json:"creationTime"`
	LastUpdatedTime time.Time `json:"lastUpdatedTime"`
	NumVersions     int       `json:"numVersions"`
	Labels          []string  `json:"labels"`
	Username        string    `json:"username"`
	UserID          int       `json:"userId"`
	WorkspaceID     int       `json:"workspaceId"`
	Archived        bool      `json:"archived"`
	Notes           string    `json:"notes"`
}

// ModelVersion is a checkpoint that is registered as a version of a model.
type ModelVersion struct {
	ID              int        `json:"id"`
	Model           Model      `json:"model"`
	Checkpoint      Checkpoint `json:"checkpoint"`
	Version         int        `json:"version"`
	CreationTime    time.Time  `json:"creationTime"`
	LastUpdatedTime time.Time  `json:"lastUpdatedTime"`
	Name            string     `json:"name"`
	Metadata        Struct     `json:"metadata"`
	Comment         string     `json:"comment"`
	Labels          []string   `json:"labels"`
	Notes           string     `json:"notes"`
	Username        string     `json:"username"`
	UserID          int        `json:"userId"`
}

// GetModelResponse is a message of the wire.
type GetModelResponse struct {
	Model Model `json:"model"`
}

// GetModelsResponse is a message of the wire.
type GetModelsResponse struct {
	Models     []Model    `json:"models"`
	Pagination Pagination `json:"pagination"`
}

// Records returns the records of the page.
func (r GetModelsResponse) Records() ([]Model, Pagination) { return r.Models, r.Pagination }

// GetModelLabelsResponse is a message of the wire.
type GetModelLabelsResponse struct {
	Labels []string `json:"labels"`
}

// PostModelRequest is a message of the wire.
type PostModelRequest struct {
	Name          string   `json:"name"`
	Description   string   `json:"description,omitempty"`
	Metadata      Struct   `json:"metadata,omitempty"`
	Labels        []string `json:"labels,omitempty"`
	Notes         string   `json:"notes,omitempty"`
	WorkspaceID   *int     `json:"workspaceId,omitempty"`
	WorkspaceName *string  `json:"workspaceName,omitempty"`
}

// PostModelResponse is a message of the wire.
type PostModelResponse struct {
	Model Model `json:"model"`
}

// PatchModel is a message of the wire. What is not given stays.
type PatchModel struct {
	Name          *string   `json:"name,omitempty"`
	Description   *string   `json:"description,omitempty"`
	Metadata      Struct    `json:"metadata,omitempty"`
	Labels        *[]string `json:"labels,omitempty"`
	Notes         *string   `json:"notes,omitempty"`
	WorkspaceID   *int      `json:"workspaceId,omitempty"`
	WorkspaceName *string   `json:"workspaceName,omitempty"`
}

// PatchModelResponse is a message of the wire.
type PatchModelResponse struct {
	Model Model `json:"model"`
}

// MoveModelRequest is a message of the wire.
type MoveModelRequest struct {
	ModelName              string `json:"modelName,omitempty"`
	DestinationWorkspaceID int    `json:"destinationWorkspaceId"`
}

// GetModelVersionResponse is a message of the wire.
type GetModelVersionResponse struct {
	ModelVersion ModelVersion `json:"modelVersion"`
}

// GetModelVersionsResponse is a message of the wire.
type GetModelVersionsResponse struct {
	Model         Model          `json:"model"`
	ModelVersions []ModelVersion `json:"modelVersions"`
	Pagination    Pagination     `json:"pagination"`
}

// Records returns the records of the page.
func (r GetModelVersionsResponse) Records() ([]ModelVersion, Pagination) {
	return r.ModelVersions, r.Pagination
}

// PostModelVersionRequest is a message of the wire.
type PostModelVersionRequest struct {
	ModelName      string   `json:"modelName,omitempty"`
	CheckpointUUID string   `json:"checkpointUuid"`
	Name           string   `json:"name,omitempty"`
	Comment        string   `json:"comment,omitempty"`
	Metadata       Struct   `json:"metadata,omitempty"`
	Labels         []string `json:"labels,omitempty"`
	Notes          string   `json:"notes,omitempty"`
}

// PostModelVersionResponse is a message of the wire.
type PostModelVersionResponse struct {
	ModelVersion ModelVersion `json:"modelVersion"`
}

// PatchModelVersion is a message of the wire. What is not given stays.
type PatchModelVersion struct {
	Name     *string   `json:"name,omitempty"`
	Comment  *string   `json:"comment,omitempty"`
	Metadata Struct    `json:"metadata,omitempty"`
	Labels   *[]string `json:"labels,omitempty"`
	Notes    *string   `json:"notes,omitempty"`
}

// PatchModelVersionResponse is a message of the wire.
type PatchModelVersionResponse struct {
	ModelVersion ModelVersion `json:"modelVersion"`
}

// TrialSourceInfoType is an enum of the wire.
type TrialSourceInfoType string

// The values of TrialSourceInfoType.
const (
	TrialSourceInfoTypeUnspecified TrialSourceInfoType = "TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"
	TrialSourceInfoTypeInference   TrialSourceInfoType = "TRIAL_SOURCE_INFO_TYPE_INFERENCE"
	TrialSourceInfoTypeFineTuning  TrialSourceInfoType = "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"
)

// TrialSourceInfo says which checkpoint, or version of a model, a trial works with.
type TrialSourceInfo struct {
	TrialID             int                 `json:"trialId"`
	CheckpointUUID      string              `json:"checkpointUuid"`
	TrialSourceInfoType TrialSourceInfoType `json:"trialSourceInfoType"`
	ModelID             *int                `json:"modelId,omitempty"`
	ModelVersion        *int                `json:"modelVersion,omitempty"`
}

// ReportTrialSourceInfoRequest is a message of the wire.
type ReportTrialSourceInfoRequest struct {
	TrialSourceInfo *TrialSourceInfo `json:"trialSourceInfo"`
}

// ReportTrialSourceInfoResponse is a message of the wire.
type ReportTrialSourceInfoResponse struct {
	TrialID        int    `json:"trialId"`
	CheckpointUUID string `json:"checkpointUuid"`
}

// GetTrialMetricsByCheckpointResponse is a message of the wire.
type GetTrialMetricsByCheckpointResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

// GetTrialMetricsByModelVersionResponse is a message of the wire.
type GetTrialMetricsByModelVersionResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}
