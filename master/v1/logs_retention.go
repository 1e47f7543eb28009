package v1

// Headers of the answers to requests for a log: how many of its lines the master has deleted because
// their retention had ended, and when it deleted the last of them (RFC 3339). An answer has them if the
// number is not 0.
const (
	LogsDeletedHeader   = "X-Detent-Logs-Deleted"
	LogsDeletedAtHeader = "X-Detent-Logs-Deleted-At"
)

// RetainLogsRequest sets for how many days the log of an experiment or a trial is kept.
type RetainLogsRequest struct {
	ExperimentID int  `json:"experimentId,omitempty"`
	TrialID      int  `json:"trialId,omitempty"`
	NumDays      *int `json:"numDays"` // -1: for ever
}

// RetainManyLogsRequest does so for several experiments.
type RetainManyLogsRequest struct {
	ExperimentIDs []int                  `json:"experimentIds"`
	Filters       *BulkExperimentFilters `json:"filters,omitempty"`
	NumDays       *int                   `json:"numDays"`
	ProjectID     int                    `json:"projectId"`
}

// GetTrialRemainingLogRetentionDaysResponse is when the log of a trial is deleted.
type GetTrialRemainingLogRetentionDaysResponse struct {
	RemainingDays int `json:"remainingDays"` // -1: never
}

// CleanupLogsResponse counts the lines that were deleted.
type CleanupLogsResponse struct {
	RemovedCount int64 `json:"removedCount"`
}
