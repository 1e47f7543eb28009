package v1

import "time"

// GetTrainingMetricsResponse is a message of the wire.
type GetTrainingMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

// GetValidationMetricsResponse is a message of the wire.
type GetValidationMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

// Metrics is a message of the wire.
type Metrics struct {
	AvgMetrics   Struct   `json:"avgMetrics"`
	BatchMetrics []Struct `json:"batchMetrics"`
}

// MetricsReport is a message of the wire.
type MetricsReport struct {
	Archived     bool      `json:"archived"`
	EndTime      time.Time `json:"endTime"`
	Group        string    `json:"group"`
	ID           int       `json:"id"`
	Metrics      Struct    `json:"metrics"`
	TotalBatches int       `json:"totalBatches"`
	TrialID      int       `json:"trialId"`
	TrialRunID   int       `json:"trialRunId"`
}

// MetricsWorkload is a message of the wire.
type MetricsWorkload struct {
	Metrics      Metrics    `json:"metrics"`
	NumInputs    int        `json:"numInputs"`
	TotalBatches int        `json:"totalBatches"`
	EndTime      *time.Time `json:"endTime"`
}

// ReportTrialMetricsRequest is a message of the wire.
type ReportTrialMetricsRequest struct {
	Group   string       `json:"group"`
	Metrics TrialMetrics `json:"metrics"`
}

// TrialMetrics is a message of the wire.
type TrialMetrics struct {
	Metrics        Metrics    `json:"metrics"`
	TrialID        int        `json:"trialId"`
	TrialRunID     int        `json:"trialRunId"`
	ReportTime     *time.Time `json:"reportTime,omitempty"`
	StepsCompleted *int       `json:"stepsCompleted,omitempty"`
}
