package v1

// The endpoints of metrics.
var (
	ReportMetrics = Endpoint[ReportTrialMetricsRequest, None]{Method: "POST", Path: "/trials/:id/metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report metrics of a trial"}
	ReportTrainingMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/training_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report training metrics of a trial, for older harnesses"}
	ReportValidationMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report validation metrics of a trial, for older harnesses"}
	StreamTrainingMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/training_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the training metrics of trials"}
	StreamValidationMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the validation metrics of trials"}
	StreamTrialMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/trial_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the metrics of trials, of one group"}
	GetTimeSeries = Endpoint[None, CompareTrialsResponse]{Method: "GET", Path: "/trials/time-series", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query,
		Summary: "Get curves of trials, downsampled for a screen"}
)
