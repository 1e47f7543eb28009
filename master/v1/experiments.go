package v1

import "time"

type ExperimentState string

const (
	ExperimentStateUnspecified       ExperimentState = "STATE_UNSPECIFIED"
	ExperimentStateActive            ExperimentState = "STATE_ACTIVE"
	ExperimentStatePaused            ExperimentState = "STATE_PAUSED"
	ExperimentStateStoppingCompleted ExperimentState = "STATE_STOPPING_COMPLETED"
	ExperimentStateStoppingCanceled  ExperimentState = "STATE_STOPPING_CANCELED"
	ExperimentStateStoppingError     ExperimentState = "STATE_STOPPING_ERROR"
	ExperimentStateCompleted         ExperimentState = "STATE_COMPLETED"
	ExperimentStateCanceled          ExperimentState = "STATE_CANCELED"
	ExperimentStateError             ExperimentState = "STATE_ERROR"
	ExperimentStateDeleted           ExperimentState = "STATE_DELETED"
	ExperimentStateDeleting          ExperimentState = "STATE_DELETING"
	ExperimentStateDeleteFailed      ExperimentState = "STATE_DELETE_FAILED"
	ExperimentStateStoppingKilled    ExperimentState = "STATE_STOPPING_KILLED"
	ExperimentStateQueued            ExperimentState = "STATE_QUEUED"
	ExperimentStatePulling           ExperimentState = "STATE_PULLING"
	ExperimentStateStarting          ExperimentState = "STATE_STARTING"
	ExperimentStateRunning           ExperimentState = "STATE_RUNNING"
)

// ExperimentStates are all states except the unspecified one. Trials have the same states.
var ExperimentStates = []ExperimentState{
	ExperimentStateActive, ExperimentStatePaused, ExperimentStateStoppingCompleted, ExperimentStateStoppingCanceled,
	ExperimentStateStoppingError, ExperimentStateCompleted, ExperimentStateCanceled, ExperimentStateError,
	ExperimentStateDeleted, ExperimentStateDeleting, ExperimentStateDeleteFailed, ExperimentStateStoppingKilled,
	ExperimentStateQueued, ExperimentStatePulling, ExperimentStateStarting, ExperimentStateRunning,
}

type ContinueExperimentRequest struct {
	ID             int     `json:"id"`
	OverrideConfig *string `json:"overrideConfig,omitempty"`
}

type ContinueExperimentResponse struct {
	Experiment Experiment      `json:"experiment"`
	Warnings   []LaunchWarning `json:"warnings"`
	Remarks    []string        `json:"remarks"` // as for a new experiment; not in Determined
}

type CreateExperimentRequest struct {
	Activate        *bool   `json:"activate,omitempty"`
	Config          *string `json:"config,omitempty"`
	ModelDefinition []File  `json:"modelDefinition,omitempty"`
	ParentID        *int    `json:"parentId,omitempty"`
	ProjectID       *int    `json:"projectId,omitempty"`
	Template        *string `json:"template,omitempty"`
	Unmanaged       *bool   `json:"unmanaged,omitempty"`
	ValidateOnly    *bool   `json:"validateOnly,omitempty"`
}

type CreateExperimentResponse struct {
	Config     Struct          `json:"config"`
	Experiment Experiment      `json:"experiment"`
	Warnings   []LaunchWarning `json:"warnings"`
	Remarks    []string        `json:"remarks"` // what has no effect or must wait; not in Determined
}

type PutExperimentResponse struct {
	Config     Struct     `json:"config"`
	Experiment Experiment `json:"experiment"`
}

type DeleteExperimentLabelResponse struct {
	Labels []string `json:"labels"`
}

type Experiment struct {
	Archived                bool            `json:"archived"`
	Config                  Struct          `json:"config"`
	ID                      int             `json:"id"`
	JobID                   string          `json:"jobId"`
	Name                    string          `json:"name"`
	NumTrials               int             `json:"numTrials"`
	OriginalConfig          string          `json:"originalConfig"`
	ProjectID               int             `json:"projectId"`
	ProjectOwnerID          int             `json:"projectOwnerId"`
	SearcherType            string          `json:"searcherType"`
	StartTime               time.Time       `json:"startTime"`
	State                   ExperimentState `json:"state"`
	Username                string          `json:"username"`
	BestTrialID             *int            `json:"bestTrialId"`
	BestTrialSearcherMetric *float64        `json:"bestTrialSearcherMetric"`
	CheckpointCount         int             `json:"checkpointCount"`
	CheckpointSize          int64           `json:"checkpointSize"`
	Description             string          `json:"description"`
	DisplayName             string          `json:"displayName"`
	Duration                *int            `json:"duration"`
	EndTime                 *time.Time      `json:"endTime"`
	ExternalExperimentID    *string         `json:"externalExperimentId"`
	ExternalTrialID         *string         `json:"externalTrialId"`
	ForkedFrom              *int            `json:"forkedFrom"`
	Hyperparameters         Struct          `json:"hyperparameters,null"`
	Labels                  []string        `json:"labels"`
	ModelDefinitionSize     int             `json:"modelDefinitionSize"`
	Notes                   string          `json:"notes"`
	PachydermIntegration    Struct          `json:"pachydermIntegration,null"` // always null
	ParentArchived          bool            `json:"parentArchived"`
	Progress                *float64        `json:"progress"`
	ProjectName             string          `json:"projectName"`
	ResourcePool            string          `json:"resourcePool"`
	SearcherMetric          string          `json:"searcherMetric"`
	TrialIDs                []int           `json:"trialIds"`
	Unmanaged               bool            `json:"unmanaged"`
	UserID                  int             `json:"userId"`
	WorkspaceID             int             `json:"workspaceId"`
	WorkspaceName           string          `json:"workspaceName"`
	Error                   string          `json:"error"`           // why it ended in error; not in Determined
	Freed                   *FreedTotal     `json:"freed,omitempty"` // total of removed files; only in the response for one experiment; not in Determined
}

type File struct {
	Content []byte `json:"content"`
	Gid     int    `json:"gid"`
	Mode    int    `json:"mode"`
	Mtime   int64  `json:"mtime"`
	Path    string `json:"path"`
	Type    int    `json:"type"`
	Uid     int    `json:"uid"`
}

type GetExperimentResponse struct {
	Experiment   Experiment    `json:"experiment"`
	Config       Struct        `json:"config,null"`
	JobSummary   *JobSummary   `json:"jobSummary"`
	AvoidedNodes []AvoidedNode `json:"avoidedNodes"` // nodes on which its attempts failed; not in Determined
	Remarks      []string      `json:"remarks"`      // remarks for the owner that are not errors; not in Determined
}

// AvoidedNode is a node that an experiment avoids, with the number of consecutive failures
// there.
type AvoidedNode struct {
	Node     string `json:"node"`
	Failures int    `json:"failures"`
}

type GetExperimentTrialsResponse struct {
	Pagination Pagination `json:"pagination"`
	Trials     []Trial    `json:"trials"`
}

// Records returns the records of the page.
func (r GetExperimentTrialsResponse) Records() ([]Trial, Pagination) { return r.Trials, r.Pagination }

type GetExperimentsResponse struct {
	Experiments []Experiment `json:"experiments"`
	Pagination  Pagination   `json:"pagination"`
}

// Records returns the records of the page.
func (r GetExperimentsResponse) Records() ([]Experiment, Pagination) {
	return r.Experiments, r.Pagination
}

type GetModelDefResponse struct {
	B64Tgz string `json:"b64Tgz"`
}

type LaunchWarning string

const (
	LaunchWarningUnspecified          LaunchWarning = "LAUNCH_WARNING_UNSPECIFIED"
	LaunchWarningCurrentSlotsExceeded LaunchWarning = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"
)

type PatchExperiment struct {
	ID                int                     `json:"id"`
	CheckpointStorage *PatchCheckpointStorage `json:"checkpointStorage,omitempty"`
	Description       *string                 `json:"description,omitempty"`
	Labels            []string                `json:"labels,omitempty"`
	Name              *string                 `json:"name,omitempty"`
	Notes             *string                 `json:"notes,omitempty"`
	Resources         *PatchResources         `json:"resources,omitempty"`
}

type PatchExperimentResponse struct {
	Experiment *Experiment `json:"experiment"`
}

type PutExperimentLabelResponse struct {
	Labels []string `json:"labels"`
}

// BulkExperimentFilters select experiments by their properties. An unset filter selects all.
type BulkExperimentFilters struct {
	Archived              *bool             `json:"archived,omitempty"`
	Description           string            `json:"description,omitempty"`
	ExcludedExperimentIDs []int             `json:"excludedExperimentIds,omitempty"`
	Labels                []string          `json:"labels,omitempty"`
	Name                  string            `json:"name,omitempty"`
	ProjectID             int               `json:"projectId,omitempty"`
	States                []ExperimentState `json:"states,omitempty"`
	UserIDs               []int             `json:"userIds,omitempty"`
}

// LabelsResponse is the labels in use.
type LabelsResponse struct {
	Labels []string `json:"labels"`
}

// BulkRequest selects experiments by ids or by filters.
type BulkRequest struct {
	ExperimentIDs []int                  `json:"experimentIds"`
	Filters       *BulkExperimentFilters `json:"filters,omitempty"`
	ProjectID     int                    `json:"projectId"`
}

// BulkResponse has a result for each experiment.
type BulkResponse struct {
	Results []BulkResult `json:"results"`
}

type BulkResult struct {
	ID    int    `json:"id"`
	Error string `json:"error"` // "": success
}

// FileRequest requests one file of an experiment's code.
type FileRequest struct {
	Path string `json:"path"`
}

// ValidationHistory lists how the best validation of an experiment improved.
type ValidationHistory struct {
	ValidationHistory []ValidationEntry `json:"validationHistory"`
}

type ValidationEntry struct {
	TrialID        int       `json:"trialId"`
	EndTime        time.Time `json:"endTime"`
	SearcherMetric float64   `json:"searcherMetric"`
}

// FileTreeResponse is the response of GET /experiments/{id}/file_tree.
type FileTreeResponse struct {
	Files []FileNode `json:"files"`
}

// FileNode is an entry of an experiment's code.
type FileNode struct {
	Path          string     `json:"path"`
	Name          string     `json:"name"`
	ModifiedTime  time.Time  `json:"modifiedTime"`
	ContentLength int        `json:"contentLength"`
	IsDir         bool       `json:"isDir"`
	ContentType   string     `json:"contentType"`
	Files         []FileNode `json:"files"`
}
