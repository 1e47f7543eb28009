package v1

import "time"

// MetricType is the older name of the two groups that every trial has.
type MetricType string

// The values of MetricType.
const (
	MetricTypeUnspecified MetricType = "METRIC_TYPE_UNSPECIFIED"
	MetricTypeTraining    MetricType = "METRIC_TYPE_TRAINING"
	MetricTypeValidation  MetricType = "METRIC_TYPE_VALIDATION"
	MetricTypeProfiling   MetricType = "METRIC_TYPE_PROFILING"
)

// CompareTrialsResponse holds series of several trials: GET /trials/time-series.
type CompareTrialsResponse struct {
	Trials []ComparableTrial `json:"trials"`
}

// ComparableTrial is one of them.
type ComparableTrial struct {
	Trial   Trial                `json:"trial"`
	Metrics []DownsampledMetrics `json:"metrics"`
}

// DownsampledMetrics is one group of a trial's metrics, thinned.
type DownsampledMetrics struct {
	Data  []DataPoint `json:"data"`
	Group string      `json:"group"`
	Type  MetricType  `json:"type"`
}

// DataPoint is one point of such a series.
type DataPoint struct {
	Batches int       `json:"batches"`
	Time    time.Time `json:"time"`
	Epoch   *float64  `json:"epoch"`
	Values  Struct    `json:"values,null"`
}

// LogFieldsResponse offers values for filters of logs:
// GET /trials/{id}/logs/fields and /tasks/{id}/logs/fields.
type LogFieldsResponse struct {
	AllocationIDs []string `json:"allocationIds"`
	AgentIDs      []string `json:"agentIds"`
	ContainerIDs  []string `json:"containerIds"`
	RankIDs       []int    `json:"rankIds"`
	Stdtypes      []string `json:"stdtypes"`
	Sources       []string `json:"sources"`
}
