package v1

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
