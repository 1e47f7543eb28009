package v1

import "time"

// The endpoints of the model registry. A model is named by its name or its number.
var (
	ListModels = Endpoint[GetModelsRequest, GetModelsResponse]{Method: "GET", Path: "/models", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "List models"}
	CreateModel = Endpoint[PostModelRequest, PostModelResponse]{Method: "POST", Path: "/models", Access: ByUsers, Object: KindModel, Verb: Create, BodyLimit: ConfigBody,
		Summary: "Create a model"}
	GetModel = Endpoint[None, GetModelResponse]{Method: "GET", Path: "/models/:name", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "Get a model"}
	ChangeModel = Endpoint[PatchModel, PatchModelResponse]{Method: "PATCH", Path: "/models/:name", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true, BodyLimit: ConfigBody,
		Summary: "Change a model"}
	DeleteModel = Endpoint[None, None]{Method: "DELETE", Path: "/models/:name", Access: ByUsers, Object: KindModel, Verb: Change,
		Summary: "Delete a model with its versions; their checkpoints stay"}
	ArchiveModel = Endpoint[None, None]{Method: "POST", Path: "/models/:name/archive", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Archive a model"}
	UnarchiveModel = Endpoint[None, None]{Method: "POST", Path: "/models/:name/unarchive", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Unarchive a model"}
	MoveModel = Endpoint[MoveModelRequest, None]{Method: "POST", Path: "/models/:name/move", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Move a model to another workspace"}
	ListModelLabels = Endpoint[GetModelLabelsRequest, GetModelLabelsResponse]{Method: "GET", Path: "/model/labels", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "List the labels of models, the most used first"}
	ListModelVersions = Endpoint[GetModelVersionsRequest, GetModelVersionsResponse]{Method: "GET", Path: "/models/:name/versions", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "List the versions of a model"}
	CreateModelVersion = Endpoint[PostModelVersionRequest, PostModelVersionResponse]{Method: "POST", Path: "/models/:name/versions", Access: ByUsers, Object: KindModel, Verb: Edit, BodyLimit: ConfigBody,
		Summary: "Register a checkpoint as the next version of a model"}
	GetModelVersion = Endpoint[None, GetModelVersionResponse]{Method: "GET", Path: "/models/:name/versions/:version", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "Get a version of a model"}
	ChangeModelVersion = Endpoint[PatchModelVersion, PatchModelVersionResponse]{Method: "PATCH", Path: "/models/:name/versions/:version", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true, BodyLimit: ConfigBody,
		Summary: "Change a version of a model"}
	DeleteModelVersion = Endpoint[None, None]{Method: "DELETE", Path: "/models/:name/versions/:version", Access: ByUsers, Object: KindModel, Verb: Change,
		Summary: "Delete a version of a model; its checkpoint stays"}
	ModelVersionMetrics = Endpoint[GetSourceMetricsRequest, GetTrialMetricsByModelVersionResponse]{Method: "GET", Path: "/models/:name/versions/:version/metrics", Access: ByBoth, Object: KindModel, Verb: View, Slow: true,
		Summary: "List the metrics of the trials that reported that they work with a version of a model"}
	CheckpointMetrics = Endpoint[GetSourceMetricsRequest, GetTrialMetricsByCheckpointResponse]{Method: "GET", Path: "/checkpoints/:uuid/metrics", Access: ByBoth, Object: KindCheckpoint, Verb: View, Slow: true,
		Summary: "List the metrics of the trials that reported that they work with a checkpoint"}
)

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
type GetModelLabelsResponse PutExperimentLabelResponse

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
type PostModelResponse GetModelResponse

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
type PatchModelResponse GetModelResponse

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
type PostModelVersionResponse GetModelVersionResponse

// PatchModelVersion is a message of the wire. What is not given stays.
type PatchModelVersion struct {
	Name     *string   `json:"name,omitempty"`
	Comment  *string   `json:"comment,omitempty"`
	Metadata Struct    `json:"metadata,omitempty"`
	Labels   *[]string `json:"labels,omitempty"`
	Notes    *string   `json:"notes,omitempty"`
}

// PatchModelVersionResponse is a message of the wire.
type PatchModelVersionResponse GetModelVersionResponse

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
type GetTrialMetricsByCheckpointResponse GetMetricsResponse

// GetTrialMetricsByModelVersionResponse is a message of the wire.
type GetTrialMetricsByModelVersionResponse GetMetricsResponse
