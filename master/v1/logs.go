package v1

import (
	"slices"
	"time"
)

// The endpoints of logs.
var (
	ShipLogs = Endpoint[None, None]{Method: "POST", Path: "/detent/logs", Access: ByTasks, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines"}
	ShipTaskLogs = Endpoint[None, None]{Method: "POST", Path: "/task/logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of Determined's tasks"}
	ShipOldTaskLogs = Endpoint[None, None]{Method: "POST", Path: "//task-logs", Access: ByBoth, Object: KindTask, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Stream: true, After: true,
		Summary: "Send log lines, in the form of older tasks"}
	StreamTrialLogs = Endpoint[GetLogsRequest, None]{Method: "GET", Path: "/trials/:id/logs", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a trial"}
	StreamTaskLogs = Endpoint[GetLogsRequest, None]{Method: "GET", Path: "/tasks/:id/logs", Access: ByBoth, Object: KindTask, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Stream the log of a task"}
	SearchLogs = Endpoint[SearchLogsRequest, SearchLogsResponse]{Method: "GET", Path: "/detent/logs/search", Access: ByUsers, Object: KindTask, Verb: View, List: true, Audit: AuditAlways,
		Summary: "Search the logs of all tasks that you may view for a text, for a bounded time"}
	RetainExperimentLogs = Endpoint[RetainLogsRequest, Empty]{Method: "PUT", Path: "/experiments/:id/retain_logs", Access: ByUsers, Object: KindExperiment, Verb: Change, Again: true,
		Summary: "Set for how many days the logs of an experiment's trials are kept"}
	RetainManyLogs = Endpoint[RetainManyLogsRequest, BulkResponse]{Method: "PUT", Path: "/projects/:id/experiments/retain_logs", Access: ByUsers, Object: KindProject, Verb: View, BodyLimit: ReportBody, Again: true,
		Summary: "Set for how many days the logs of several experiments are kept"}
	RetainTrialLogs = Endpoint[RetainLogsRequest, Empty]{Method: "PUT", Path: "/trials/:id/retain_logs", Access: ByUsers, Object: KindTrial, Verb: Change, Again: true,
		Summary: "Set for how many days the log of a trial is kept"}
	GetRemainingLogDays = Endpoint[None, GetTrialRemainingLogRetentionDaysResponse]{Method: "GET", Path: "/trials/:id/remaining_log_retention_days", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "Get the number of days until the log of a trial is deleted"}
	CleanupLogs = Endpoint[None, CleanupLogsResponse]{Method: "POST", Path: "/cleanup_logs", Access: ByAdmins, Object: KindCluster, Verb: Administer, Again: true,
		Summary: "Delete the logs whose retention has ended, now"}
	StreamTrialLogFields = Endpoint[FollowRequest, None]{Method: "GET", Path: "/trials/:id/logs/fields", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a trial can be filtered"}
	StreamTaskLogFields = Endpoint[FollowRequest, None]{Method: "GET", Path: "/tasks/:id/logs/fields", Access: ByBoth, Object: KindTask, Verb: View, Stream: true,
		Summary: "Stream the values by which the log of a task can be filtered"}
)

type LogEntry struct {
	ID        int       `json:"id"`
	Level     LogLevel  `json:"level"`
	Message   string    `json:"message"`
	Timestamp time.Time `json:"timestamp"`
}

type LogLevel string

const (
	LogLevelUnspecified LogLevel = "LOG_LEVEL_UNSPECIFIED"
	LogLevelTrace       LogLevel = "LOG_LEVEL_TRACE"
	LogLevelDebug       LogLevel = "LOG_LEVEL_DEBUG"
	LogLevelInfo        LogLevel = "LOG_LEVEL_INFO"
	LogLevelWarning     LogLevel = "LOG_LEVEL_WARNING"
	LogLevelError       LogLevel = "LOG_LEVEL_ERROR"
	LogLevelCritical    LogLevel = "LOG_LEVEL_CRITICAL"
)

// LogLevels lists the levels in the order of their numbers.
func LogLevels() []LogLevel {
	return []LogLevel{LogLevelUnspecified, LogLevelTrace, LogLevelDebug, LogLevelInfo, LogLevelWarning, LogLevelError, LogLevelCritical}
}

// Number is the index of a level in LogLevels; 0 for an unknown level.
func (l LogLevel) Number() int { return max(0, slices.Index(LogLevels(), l)) }

type MasterLogsResponse struct {
	LogEntry LogEntry `json:"logEntry"`
}

type TaskLogsResponse struct {
	ID           string    `json:"id"`
	Level        LogLevel  `json:"level"`
	Log          string    `json:"log"`
	Message      string    `json:"message"`
	TaskID       string    `json:"taskId"`
	Timestamp    time.Time `json:"timestamp"`
	AgentID      *string   `json:"agentId,omitempty"`
	AllocationID *string   `json:"allocationId,omitempty"`
	ContainerID  *string   `json:"containerId,omitempty"`
	RankID       *int      `json:"rankId,omitempty"`
	Source       *string   `json:"source,omitempty"`
	Stdtype      *string   `json:"stdtype,omitempty"`
}

type TrialLogsResponse struct {
	ID          string    `json:"id"`
	Level       LogLevel  `json:"level"`
	Message     string    `json:"message"`
	Timestamp   time.Time `json:"timestamp"`
	TrialID     int       `json:"trialId"`
	AgentID     *string   `json:"agentId,omitempty"`
	ContainerID *string   `json:"containerId,omitempty"`
	Log         *string   `json:"log,omitempty"`
	RankID      *int      `json:"rankId,omitempty"`
	Source      *string   `json:"source,omitempty"`
	Stdtype     *string   `json:"stdtype,omitempty"`
}

// SearchLogsResponse is a message of the API: the logs with lines that have the text, those of running tasks first, then
// those of tasks that ended last. Next is the value of before for the other logs, null if all were searched; then the search
// has read all logs of tasks that ended after SearchedTo, which is null while it reads those of running tasks.
type SearchLogsResponse struct {
	Found      []FoundLog `json:"found"`
	Next       *string    `json:"next"`
	SearchedTo *time.Time `json:"searchedTo"`
}

// FoundLog is a message of the API: the newest lines of a log that have the text. More is true if there are others.
type FoundLog struct {
	TaskID       string      `json:"taskId"`
	TaskType     TaskType    `json:"taskType"`
	Name         string      `json:"name"`
	Username     string      `json:"username"`
	ExperimentID *int        `json:"experimentId"`
	TrialID      *int        `json:"trialId"`
	EndTime      *time.Time  `json:"endTime"`
	Lines        []FoundLine `json:"lines"`
	More         bool        `json:"more"`
}

// FoundLine is a message of the API: a line of a log.
type FoundLine struct {
	ID        string    `json:"id"`
	Level     LogLevel  `json:"level"`
	Timestamp time.Time `json:"timestamp"`
	Log       string    `json:"log"`
	RankID    *int      `json:"rankId"`
}

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
