package v1

import (
	"slices"
	"time"
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
