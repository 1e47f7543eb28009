package v1

import "time"

type GetTrainingMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

type GetValidationMetricsResponse struct {
	Metrics []MetricsReport `json:"metrics"`
}

type Metrics struct {
	AvgMetrics   Struct   `json:"avgMetrics"`
	BatchMetrics []Struct `json:"batchMetrics"`
}

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

type MetricsWorkload struct {
	Metrics      Metrics    `json:"metrics"`
	NumInputs    int        `json:"numInputs"`
	TotalBatches int        `json:"totalBatches"`
	EndTime      *time.Time `json:"endTime"`
}

type ReportTrialMetricsRequest struct {
	Group   string       `json:"group"`
	Metrics TrialMetrics `json:"metrics"`
}

type TrialMetrics struct {
	Metrics        Metrics    `json:"metrics"`
	TrialID        int        `json:"trialId"`
	TrialRunID     int        `json:"trialRunId"`
	ReportTime     *time.Time `json:"reportTime,omitempty"`
	StepsCompleted *int       `json:"stepsCompleted,omitempty"`
}
