package v1

import "time"

// Messages that Determined's package sends and reads without its generated client.

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
	// Deadline is when the first of the attempt's machines goes away; null if none does, or nobody knows when.
	Deadline *time.Time `json:"deadline"`
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
