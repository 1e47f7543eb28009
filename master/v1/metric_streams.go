package v1

import "time"

// MetricIdentifier is a message of the wire.
type MetricIdentifier struct {
	Group string `json:"group"`
	Name  string `json:"name"`
}

// ExpMetricNamesResponse has the names that experiments have reported since the record before.
type ExpMetricNamesResponse struct {
	SearcherMetrics   []string           `json:"searcherMetrics"`
	TrainingMetrics   []string           `json:"trainingMetrics"`
	ValidationMetrics []string           `json:"validationMetrics"`
	MetricNames       []MetricIdentifier `json:"metricNames"`
}

// MetricBatchesResponse has the steps at which a metric was reported, without those of the
// records before.
type MetricBatchesResponse struct {
	Batches []int `json:"batches"`
}

// TrialsSnapshotResponse has the trials whose value at a number of steps is new.
type TrialsSnapshotResponse struct {
	Trials []TrialsSnapshotResponseTrial `json:"trials"`
}

// TrialsSnapshotResponseTrial is the value of a metric that a trial had at a number of steps.
type TrialsSnapshotResponseTrial struct {
	TrialID          int     `json:"trialId"`
	HParams          Struct  `json:"hparams"`
	Metric           float64 `json:"metric"`
	BatchesProcessed int     `json:"batchesProcessed"`
}

// TrialsSampleResponse has the new points of the curves of the best trials, and which trials
// have come among them and left.
type TrialsSampleResponse struct {
	Trials         []TrialsSampleResponseTrial `json:"trials"`
	PromotedTrials []int                       `json:"promotedTrials"`
	DemotedTrials  []int                       `json:"demotedTrials"`
}

// TrialsSampleResponseTrial is one of the trials, with its new points.
type TrialsSampleResponseTrial struct {
	TrialID int         `json:"trialId"`
	HParams Struct      `json:"hparams,null"` // of promoted trials only
	Data    []DataPoint `json:"data"`
}

// ProfilerMetricType is an enum of the wire.
type ProfilerMetricType string

// The values of ProfilerMetricType.
const (
	ProfilerMetricTypeUnspecified ProfilerMetricType = "PROFILER_METRIC_TYPE_UNSPECIFIED"
	ProfilerMetricTypeSystem      ProfilerMetricType = "PROFILER_METRIC_TYPE_SYSTEM"
)

// TrialProfilerMetricLabels names a series of the profiler. GpuUUID is the part of the node that
// the series is about, where there are several: a GPU, a disk.
type TrialProfilerMetricLabels struct {
	TrialID    int                `json:"trialId"`
	Name       string             `json:"name"`
	AgentID    string             `json:"agentId"`
	GpuUUID    string             `json:"gpuUuid"`
	MetricType ProfilerMetricType `json:"metricType"`
}

// GetTrialProfilerAvailableSeriesResponse is a message of the wire.
type GetTrialProfilerAvailableSeriesResponse struct {
	Labels []TrialProfilerMetricLabels `json:"labels"`
}

// TrialProfilerMetricsBatch has points of one series.
type TrialProfilerMetricsBatch struct {
	Values     []float64                 `json:"values"`
	Batches    []int                     `json:"batches"`
	Timestamps []time.Time               `json:"timestamps"`
	Labels     TrialProfilerMetricLabels `json:"labels"`
}

// GetTrialProfilerMetricsResponse is a message of the wire.
type GetTrialProfilerMetricsResponse struct {
	Batch TrialProfilerMetricsBatch `json:"batch"`
}
