package v1

import "time"

// Bodies of requests that Determined's package sends without its generated client.

// ProgressRequest is the body of POST /trials/{id}/progress. Clients up to 0.37 send units
// instead of a fraction (IsRaw false).
type ProgressRequest struct {
	Progress float64 `json:"progress"`
	IsRaw    bool    `json:"isRaw"`
}

// EarlyExitRequest is the body of POST /trials/{id}/early_exit.
type EarlyExitRequest struct {
	Reason string `json:"reason"` // EXITED_REASON_INVALID_HP, …
}

// RunnerMetadataRequest is the body of POST /trials/{id}/runner/metadata.
type RunnerMetadataRequest struct {
	State string `json:"state"`
}

// PreemptionSignalResponse is the response of GET /allocations/{id}/signals/preemption.
type PreemptionSignalResponse struct {
	Preempt bool `json:"preempt"`
}

// BestMetricResponse is the response of GET
// /experiments/{id}/searcher/best_searcher_validation_metric.
type BestMetricResponse struct {
	Metric float64 `json:"metric"`
}

// TaskLogsRequest is the body of POST /task/logs, as Determined's log shipper sends it.
type TaskLogsRequest struct {
	Logs []TaskLog `json:"logs"`
}

// TaskLog is a record of TaskLogsRequest, and of the older POST /task-logs.
type TaskLog struct {
	ID           *int       `json:"id,omitempty"`
	TaskID       string     `json:"taskId"`
	AllocationID *string    `json:"allocationId,omitempty"`
	AgentID      *string    `json:"agentId,omitempty"`
	ContainerID  *string    `json:"containerId,omitempty"`
	RankID       *int       `json:"rankId,omitempty"`
	Timestamp    *time.Time `json:"timestamp,omitempty"`
	Level        *LogLevel  `json:"level,omitempty"`
	Source       *string    `json:"source,omitempty"`
	Stdtype      *string    `json:"stdtype,omitempty"`
	Log          string     `json:"log"`
}

// SearcherOperation is a length to which a trial must train, for harnesses up to 0.37.
type SearcherOperation struct {
	ValidateAfter ValidateAfterOperation `json:"validateAfter"`
}

// ValidateAfterOperation requests a validation at a length.
type ValidateAfterOperation struct {
	RequestID string `json:"requestId"`
	Length    int64  `json:"length"`
}

// SearcherOperationResponse is the response of GET /trials/{id}/searcher/operation.
type SearcherOperationResponse struct {
	Op        *SearcherOperation `json:"op"`
	Completed bool               `json:"completed"`
}

// CompletedOperationRequest is the body of POST /trials/{id}/searcher/completed_operation.
type CompletedOperationRequest struct {
	Op             ValidateAfterOperation `json:"op"`
	SearcherMetric *float64               `json:"searcherMetric,omitempty"`
}

// LaunchCommandRequest is the body of POST /commands.
type LaunchCommandRequest struct {
	Config       Struct  `json:"config,omitempty"`
	TemplateName *string `json:"templateName,omitempty"`
	Files        []File  `json:"files,omitempty"`
	Data         []byte  `json:"data,omitempty"`
	Preview      *bool   `json:"preview,omitempty"`
	WorkspaceID  *int    `json:"workspaceId,omitempty"`
}

// LaunchCommandResponse is the response.
type LaunchCommandResponse struct {
	Command  Command         `json:"command"`
	Config   Struct          `json:"config"`
	Warnings []LaunchWarning `json:"warnings"`
	Remarks  []string        `json:"remarks"`
}

// GetCommandsResponse is the response of GET /commands.
type GetCommandsResponse struct {
	Commands   []Command  `json:"commands"`
	Pagination Pagination `json:"pagination"`
}

// KillCommandResponse is the response of POST /commands/{id}/kill.
type KillCommandResponse struct {
	Command Command `json:"command"`
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
