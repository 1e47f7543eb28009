package v1

import "time"

// MetricType is the older name of the two groups that every trial has.
type MetricType string

const (
	MetricTypeUnspecified MetricType = "METRIC_TYPE_UNSPECIFIED"
	MetricTypeTraining    MetricType = "METRIC_TYPE_TRAINING"
	MetricTypeValidation  MetricType = "METRIC_TYPE_VALIDATION"
	MetricTypeProfiling   MetricType = "METRIC_TYPE_PROFILING"
)

// CompareTrialsResponse has series of several trials, the response of GET /trials/time-series.
type CompareTrialsResponse struct {
	Trials []ComparableTrial `json:"trials"`
}

// ComparableTrial is a trial with its series.
type ComparableTrial struct {
	Trial   Trial                `json:"trial"`
	Metrics []DownsampledMetrics `json:"metrics"`
}

// DownsampledMetrics is one group of a trial's metrics, with a limited number of points.
type DownsampledMetrics struct {
	Data  []DataPoint `json:"data"`
	Group string      `json:"group"`
	Type  MetricType  `json:"type"`
}

// DataPoint is one point of a series.
type DataPoint struct {
	Batches int       `json:"batches"`
	Time    time.Time `json:"time"`
	Epoch   *float64  `json:"epoch"`
	Values  Struct    `json:"values,null"`
}

// LogFieldsResponse lists values for filters of logs, the response of GET
// /trials/{id}/logs/fields and /tasks/{id}/logs/fields.
type LogFieldsResponse struct {
	AllocationIDs []string `json:"allocationIds"`
	AgentIDs      []string `json:"agentIds"`
	ContainerIDs  []string `json:"containerIds"`
	RankIDs       []int    `json:"rankIds"`
	Stdtypes      []string `json:"stdtypes"`
	Sources       []string `json:"sources"`
}
