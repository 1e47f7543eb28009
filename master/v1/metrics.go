package v1

import "time"

// The endpoints of metrics.
var (
	ReportMetrics = Endpoint[ReportTrialMetricsRequest, None]{Method: "POST", Path: "/trials/:id/metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report metrics of a trial"}
	ReportTrainingMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/training_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report training metrics of a trial, for older harnesses"}
	ReportValidationMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report validation metrics of a trial, for older harnesses"}
	StreamTrainingMetrics = Endpoint[GetMetricsRequest, None]{Method: "GET", Path: "/trials/metrics/training_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the training metrics of trials"}
	StreamValidationMetrics = Endpoint[GetMetricsRequest, None]{Method: "GET", Path: "/trials/metrics/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the validation metrics of trials"}
	StreamTrialMetrics = Endpoint[GetMetricsRequest, None]{Method: "GET", Path: "/trials/metrics/trial_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the metrics of trials, of one group"}
	StreamMetricNames = Endpoint[GetMetricNamesRequest, None]{Method: "GET", Path: "/experiments/metrics-stream/metric-names", Access: ByBoth, Object: KindExperiment, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the names of the metrics of experiments, until the experiments have ended"}
	StreamMetricBatches = Endpoint[GetMetricBatchesRequest, None]{Method: "GET", Path: "/experiments/:id/metrics-stream/batches", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "Stream the steps at which the trials of an experiment have reported a metric"}
	StreamTrialsSnapshot = Endpoint[GetTrialsSnapshotRequest, None]{Method: "GET", Path: "/experiments/:id/metrics-stream/trials-snapshot", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "Stream the values of a metric that the trials of an experiment had at a number of steps"}
	StreamTrialsSample = Endpoint[GetTrialsSampleRequest, None]{Method: "GET", Path: "/experiments/:id/metrics-stream/trials-sample", Access: ByBoth, Object: KindExperiment, Verb: View, Stream: true,
		Summary: "Stream the curves of the best trials of an experiment, and which trials are the best"}
	ReportProfilerMetrics = Endpoint[None, None]{Method: "POST", Path: "/trials/profiler/metrics", Access: ByBoth, Object: KindTrial, Verb: Report, NamedIn: Body,
		Summary: "Report what a node measures, in the form of harnesses before 0.30; answered with 501"}
	StreamProfilerSeries = Endpoint[FollowRequest, None]{Method: "GET", Path: "/trials/:id/profiler/available_series", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream the names of what the nodes of a trial have measured"}
	StreamProfilerMetrics = Endpoint[GetProfilerMetricsRequest, None]{Method: "GET", Path: "/trials/:id/profiler/metrics", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Stream what the nodes of a trial have measured, of one name or of all"}
	GetTimeSeries = Endpoint[GetTimeSeriesRequest, CompareTrialsResponse]{Method: "GET", Path: "/trials/time-series", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query,
		Summary: "Get curves of trials, downsampled for a screen"}
)

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
