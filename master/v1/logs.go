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
