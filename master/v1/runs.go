package v1

import "time"

// The endpoints of runs.
var (
	StartRun = Endpoint[RunPrepareForReportingRequest, RunPrepareForReportingResponse]{Method: "POST", Path: "/runs/start", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body,
		Summary: "Report where a run stores its checkpoints"}
	GetRunMetadata = Endpoint[None, GetRunMetadataResponse]{Method: "GET", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: View,
		Summary: "Get the metadata of a run"}
	SetRunMetadata = Endpoint[PostRunMetadataRequest, PostRunMetadataResponse]{Method: "POST", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: Report, BodyLimit: ConfigBody, Audit: AuditAlways,
		Summary: "Replace the metadata of a run"}
	SearchRuns = Endpoint[SearchRunsRequest, SearchRunsResponse]{Method: "POST", Path: "/runs", Access: ByBoth, Object: KindRun, Verb: View, Again: true, List: true, BodyLimit: ReportBody,
		Summary: "Search runs: the trials of all experiments"}
	KillRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/kill", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Kill several runs: they end at once"}
	PauseRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/pause", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Pause several runs, each the only one of its experiment"}
	ResumeRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/resume", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Activate several paused runs, each the only one of its experiment"}
	ArchiveRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/archive", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Archive several runs that have ended"}
	UnarchiveRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/unarchive", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Unarchive several runs"}
	DeleteRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/delete", Access: ByUsers, Object: KindRun, Verb: Delete, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete several runs that have ended, with their experiments; a search is deleted only with all its runs"}
	MoveRuns = Endpoint[MoveRunsRequest, RunsResponse]{Method: "POST", Path: "/runs/move", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Move several runs to another project, with their experiments"}
	ReportTrialSource = Endpoint[ReportTrialSourceInfoRequest, ReportTrialSourceInfoResponse]{Method: "POST", Path: "/trial-source-info", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report which checkpoint, or version of a model, a trial works with"}
)

// SearchRunsRequest asks for runs. Filter is JSON, in Determined's form; Query is ours: the
// line that people type. With both, both must hold.
type SearchRunsRequest struct {
	ProjectID *int    `json:"projectId,omitempty"`
	Offset    *int    `json:"offset,omitempty"`
	Limit     *int    `json:"limit,omitempty"`
	Sort      *string `json:"sort,omitempty"`
	Filter    *string `json:"filter,omitempty"`
	Query     *string `json:"query,omitempty"`
}

// SearchRunsResponse is a message of the wire.
type SearchRunsResponse struct {
	Runs       []FlatRun  `json:"runs"`
	Pagination Pagination `json:"pagination"`
}

// FlatRun is a run as a row of a table: a trial, with what its experiment has.
type FlatRun struct {
	ID                  int                `json:"id"`
	StartTime           time.Time          `json:"startTime"`
	EndTime             *time.Time         `json:"endTime"`
	State               TrialState         `json:"state"`
	Labels              []string           `json:"labels"`
	CheckpointSize      int64              `json:"checkpointSize"`
	CheckpointCount     int                `json:"checkpointCount"`
	SearcherMetricValue *float64           `json:"searcherMetricValue"`
	ExternalRunID       *string            `json:"externalRunId"`
	Hyperparameters     Struct             `json:"hyperparameters,null"`
	SummaryMetrics      Struct             `json:"summaryMetrics,null"`
	UserID              int                `json:"userId"`
	Duration            int                `json:"duration"` // seconds
	ProjectID           int                `json:"projectId"`
	ProjectName         string             `json:"projectName"`
	WorkspaceID         int                `json:"workspaceId"`
	WorkspaceName       string             `json:"workspaceName"`
	ParentArchived      bool               `json:"parentArchived"`
	Experiment          *FlatRunExperiment `json:"experiment"`
	Archived            bool               `json:"archived"`
	LocalID             string             `json:"localId"`
	Metadata            Struct             `json:"metadata,null"`
	LogPolicyMatched    *string            `json:"logPolicyMatched"`
}

// FlatRunExperiment is the experiment of a FlatRun.
type FlatRunExperiment struct {
	ID                   int     `json:"id"`
	SearcherType         string  `json:"searcherType"`
	SearcherMetric       string  `json:"searcherMetric"`
	ForkedFrom           *int    `json:"forkedFrom"`
	ExternalExperimentID *string `json:"externalExperimentId"`
	ResourcePool         string  `json:"resourcePool"`
	Progress             float64 `json:"progress"`
	Description          string  `json:"description"`
	Name                 string  `json:"name"`
	Unmanaged            bool    `json:"unmanaged"`
	IsMultitrial         bool    `json:"isMultitrial"`
	PachydermIntegration Struct  `json:"pachydermIntegration,null"` // always null
}

// RunsRequest chooses runs by their ids, or by what they are like.
type RunsRequest struct {
	RunIDs    []int   `json:"runIds"`
	ProjectID *int    `json:"projectId,omitempty"`
	Filter    *string `json:"filter,omitempty"`
}

// MoveRunsRequest is a message of the wire.
type MoveRunsRequest struct {
	RunIDs               []int   `json:"runIds"`
	SourceProjectID      int     `json:"sourceProjectId"`
	DestinationProjectID int     `json:"destinationProjectId"`
	Filter               *string `json:"filter,omitempty"`
	SkipMultitrial       *bool   `json:"skipMultitrial,omitempty"`
}

// RunsResponse has the result for each run.
type RunsResponse struct {
	Results []RunActionResult `json:"results"`
}

// RunActionResult is the result for one run.
type RunActionResult struct {
	Error string `json:"error"` // empty: done
	ID    int    `json:"id"`
}

// GetMetadataValuesResponse is a message of the wire.
type GetMetadataValuesResponse struct {
	Values []string `json:"values"`
}

// GetRunMetadataResponse is a message of the wire.
type GetRunMetadataResponse struct {
	Metadata Struct `json:"metadata,null"`
}

type NotifyContainerRunningRequest struct {
	AllocationID string  `json:"allocationId"`
	Data         Struct  `json:"data"`
	NodeName     *string `json:"nodeName,omitempty"`
	NumPeers     *int    `json:"numPeers,omitempty"`
	Rank         *int    `json:"rank,omitempty"`
	RequestUUID  *string `json:"requestUuid,omitempty"`
}

type NotifyContainerRunningResponse AllocationAllGatherResponse

type PostRunMetadataRequest struct {
	Metadata Struct `json:"metadata"`
	RunID    *int   `json:"runId,omitempty"`
}

type PostRunMetadataResponse GetRunMetadataResponse

type RunPrepareForReportingRequest struct {
	RunID             int    `json:"runId"`
	CheckpointStorage Struct `json:"checkpointStorage,omitempty"`
}

type RunPrepareForReportingResponse struct {
	StorageID *int `json:"storageId"`
}
