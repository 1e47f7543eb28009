package v1

import "time"

// The endpoints of experiments.
var (
	ListExperiments = Endpoint[GetExperimentsRequest, GetExperimentsResponse]{Method: "GET", Path: "/experiments", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "List experiments"}
	CreateExperiment = Endpoint[CreateExperimentRequest, CreateExperimentResponse]{Method: "POST", Path: "/experiments", Access: ByUsers, Object: KindExperiment, Verb: Create, Files: "modelDefinition",
		Summary: "Create an experiment"}
	ListLabels = Endpoint[GetExperimentLabelsRequest, LabelsResponse]{Method: "GET", Path: "/experiment/labels", Access: ByBoth, Object: KindExperiment, Verb: View, List: true,
		Summary: "List the labels that experiments have"}
	ContinueExperiment = Endpoint[ContinueExperimentRequest, ContinueExperimentResponse]{Method: "POST", Path: "/experiments/continue", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Continue an experiment that has ended"}
	GetExperiment = Endpoint[None, GetExperimentResponse]{Method: "GET", Path: "/experiments/:id", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Get an experiment"}
	ChangeExperiment = Endpoint[PatchExperiment, PatchExperimentResponse]{Method: "PATCH", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true, BodyLimit: ReportBody,
		Summary: "Change an experiment"}
	DeleteExperiment = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id", Access: ByUsers, Object: KindExperiment, Verb: Delete,
		Summary: "Delete an experiment that has ended, with its checkpoints, metrics and logs"}
	ActivateExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/activate", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Activate a paused experiment"}
	PauseExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/pause", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Pause an experiment: its trials save a checkpoint and stop"}
	CancelExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/cancel", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Cancel an experiment: its trials save a checkpoint and end"}
	KillExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/kill", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Kill an experiment: its trials end at once"}
	ArchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/archive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Archive an experiment that has ended"}
	UnarchiveExperiment = Endpoint[None, Empty]{Method: "POST", Path: "/experiments/:id/unarchive", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Unarchive an experiment"}
	AddExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "PUT", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Add a label to an experiment"}
	RemoveExperimentLabel = Endpoint[None, PutExperimentLabelResponse]{Method: "DELETE", Path: "/experiments/:id/labels/*", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Remove a label from an experiment"}
	GetModelDef = Endpoint[None, None]{Method: "GET", Path: "/experiments/:id/model_def", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Get the code of an experiment, as a gzipped tar in base64"}
	GetModelDefTree = Endpoint[None, FileTreeResponse]{Method: "GET", Path: "/experiments/:id/file_tree", Access: ByBoth, Object: KindExperiment, Verb: View, Slow: true,
		Summary: "List the files of an experiment's code"}
	GetModelDefFile = Endpoint[FileRequest, None]{Method: "POST", Path: "/experiments/:id/file", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Get a file of an experiment's code, in base64"}
	DownloadModelDefFile = Endpoint[GetFileRequest, None]{Method: "GET", Path: "/experiments/:id/file/download", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download a file of an experiment's code"}
	DownloadOldModelDef = Endpoint[None, None]{Method: "GET", Path: "//experiments/:id/model_def", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download the code of an experiment as tar.gz, for clients from before /api/v1"}
	DownloadOldModelDefFile = Endpoint[GetFileRequest, None]{Method: "GET", Path: "//experiments/:id/file/download", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download a file of an experiment's code, for clients from before /api/v1"}
	GetValidationHistory = Endpoint[None, ValidationHistory]{Method: "GET", Path: "/experiments/:id/validation-history", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List how the best validation metric of an experiment improved over time"}
	GetBestMetric = Endpoint[None, BestMetricResponse]{Method: "GET", Path: "/experiments/:id/searcher/best_searcher_validation_metric", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Get the best validation metric of an experiment"}
	GetSearcherEvents = Endpoint[None, GetSearcherEventsResponse]{Method: "GET", Path: "/experiments/:id/searcher_events", Access: ByBoth, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "Wait for the events that the program of a custom search must answer"}
	PostSearcherOperations = Endpoint[PostSearcherOperationsRequest, None]{Method: "POST", Path: "/experiments/:id/searcher_operations", Access: ByBoth, Object: KindExperiment, Verb: Change,
		Summary: "Send the operations of a custom search"}
	PreviewSearch = Endpoint[PreviewHPSearchRequest, PreviewHPSearchResponse]{Method: "POST", Path: "/preview-hp-search", Access: ByUsers, Object: KindExperiment, Verb: Create, Again: true, Audit: AuditNever,
		Summary: "Preview the trials that a search would create"}
	SearchExperiments = Endpoint[SearchExperimentsRequest, SearchExperimentsResponse]{Method: "POST", Path: "/experiments-search", Access: ByBoth, Object: KindExperiment, Verb: View, Again: true, List: true, BodyLimit: ReportBody,
		Summary: "Search experiments, and get each with its best trial"}
	MoveExperiment = Endpoint[MoveRequest, Empty]{Method: "POST", Path: "/experiments/:id/move", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Move an experiment to another project"}
)

// The endpoints of experiments bulk.
var (
	ActivateExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/activate", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Activate several paused experiments"}
	PauseExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/pause", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Pause several experiments: their trials save a checkpoint and stop"}
	CancelExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/cancel", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Cancel several experiments: their trials save a checkpoint and end"}
	KillExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/kill", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Kill several experiments: their trials end at once"}
	ArchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/archive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Archive several experiments that have ended"}
	UnarchiveExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/unarchive", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Unarchive several experiments"}
	DeleteExperiments = Endpoint[BulkRequest, BulkResponse]{Method: "DELETE", Path: "/projects/:id/experiments/delete", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Delete several experiments that have ended"}
	MoveExperiments = Endpoint[MoveManyRequest, BulkResponse]{Method: "POST", Path: "/projects/:id/experiments/move", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody,
		Summary: "Move several experiments to another project"}
)

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
	BranchEvent             *int64          `json:"branchEvent"` // of forkedFrom, up to which a branch shares its past; null: it is no branch
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
	Outlook      SearchOutlook `json:"outlook"`      // what its search says about its end; not in Determined

	// Branches are the newest experiments that branch from it, at most 100, of those that the caller may see; not in Determined.
	Branches []ExperimentBranch `json:"branches"`
}

// ExperimentBranch is an experiment that shares the past of another one up to an event of its search.
type ExperimentBranch struct {
	ID    int   `json:"id"`
	Event int64 `json:"event"`
}

// SearchOutlook is what a search says about its end.
type SearchOutlook struct {
	Budget  *SearchBudget  `json:"budget"`  // null: it has no budget
	Front   *SearchFront   `json:"front"`   // null: it has one metric
	Gain    *SearchGain    `json:"gain"`    // null: it makes no estimate, or has too few results yet
	Repeats *SearchRepeats `json:"repeats"` // null: no configuration is trained again, or not yet
	Says    []string       `json:"says"`    // the same in words
}

// SearchRepeats are the best configurations of a search, which it trains again with other seeds (searcher.repeat).
type SearchRepeats struct {
	Times          int                     `json:"times"`
	Decided        bool                    `json:"decided"`        // all have ended
	Configurations []RepeatedConfiguration `json:"configurations"` // the best first
}

// RepeatedConfiguration is a configuration that is trained again.
type RepeatedConfiguration struct {
	TrialID   int      `json:"trialId"`   // the trial that had it first
	TrialIDs  []int    `json:"trialIds"`  // the repeats
	Results   int      `json:"results"`   // repeats that have ended with a result
	Mean      *float64 `json:"mean"`      // of the best results of these; null: there are none
	Deviation *float64 `json:"deviation"` // the standard deviation of one result; null: there are fewer than two
}

// SearchGain is an estimate of what further trials would bring.
type SearchGain struct {
	Of      int     `json:"of"`      // trials of whose results it is
	Trials  int     `json:"trials"`  // further ones
	Gain    float64 `json:"gain"`    // as a part of the best result
	Better  float64 `json:"better"`  // probability that they find a better result
	Enough  float64 `json:"enough"`  // probability that they find one that is better by this gain
	Stopped bool    `json:"stopped"` // searcher.stop_when: no further trial is created
}

// SearchFront is the Pareto front of a search with several metrics.
type SearchFront struct {
	Metrics []string     `json:"metrics"`
	Points  []FrontPoint `json:"points"`  // at most 50, the first ones spread over the front
	Total   int          `json:"total"`   // results on the front
	Results int          `json:"results"` // trials with a result
	Keeping int          `json:"keeping"` // trials of which a result keeps the bounds
}

// FrontPoint is a result on the front: a validation of a trial.
type FrontPoint struct {
	TrialID        int       `json:"trialId"`
	StepsCompleted int       `json:"stepsCompleted"`
	Values         []float64 `json:"values"` // of the metrics of the front
}

// SearchBudget is what a search has spent of its budget.
type SearchBudget struct {
	Unit  string  `json:"unit"` // slot_hours or hours
	Limit float64 `json:"limit"`
	Spent float64 `json:"spent"`
	More  *int    `json:"more"` // trials for which the rest probably suffices; null: not known yet
	Over  bool    `json:"over"` // the budget is spent: no trial begins any more
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

const LaunchWarningCurrentSlotsExceeded LaunchWarning = "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"

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
type LabelsResponse PutExperimentLabelResponse

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

// SearchExperimentsRequest searches experiments. Filter is JSON in Determined's form; Query,
// which Determined does not have, is a filter as users type it. If both are set, experiments
// must match both.
type SearchExperimentsRequest struct {
	ProjectID     *int    `json:"projectId,omitempty"`
	Offset        *int    `json:"offset,omitempty"`
	Limit         *int    `json:"limit,omitempty"`
	Sort          *string `json:"sort,omitempty"`
	Filter        *string `json:"filter,omitempty"`
	Query         *string `json:"query,omitempty"`
	WithoutConfig *bool   `json:"withoutConfig,omitempty"`
}

// SearchExperimentExperiment is a found experiment, with its best trial.
type SearchExperimentExperiment struct {
	Experiment Experiment `json:"experiment"`
	BestTrial  *Trial     `json:"bestTrial"`
}

type SearchExperimentsResponse struct {
	Experiments []SearchExperimentExperiment `json:"experiments"`
	Pagination  Pagination                   `json:"pagination"`
}

// MetricsRange is the smallest and the largest value of a column of a metric.
type MetricsRange struct {
	MetricsName string  `json:"metricsName"`
	Min         float64 `json:"min"`
	Max         float64 `json:"max"`
}

// GetProjectNumericMetricsRangeResponse is a message of the wire.
type GetProjectNumericMetricsRangeResponse struct {
	Ranges []MetricsRange `json:"ranges"`
}

// ProjectColumn is a property by which the experiments of a project can be searched.
type ProjectColumn struct {
	Column      string `json:"column"`
	Location    string `json:"location"`
	Type        string `json:"type"`
	DisplayName string `json:"displayName"`
}

type GetProjectColumnsResponse struct {
	Columns []ProjectColumn `json:"columns"`
}
