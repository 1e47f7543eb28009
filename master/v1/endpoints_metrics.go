package v1

// The endpoints of metrics.
var (
	ReportMetrics = Endpoint[ReportTrialMetricsRequest, None]{Method: "POST", Path: "/trials/:id/metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report what a trial measured"}
	ReportTrainingMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/training_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report what a trial measured, for older harnesses"}
	ReportValidationMetrics = Endpoint[TrialMetrics, None]{Method: "POST", Path: "/trials/:id/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report what a trial measured, for older harnesses"}
	StreamTrainingMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/training_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the reports of a group"}
	StreamValidationMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/validation_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the reports of a group"}
	StreamTrialMetrics = Endpoint[None, None]{Method: "GET", Path: "/trials/metrics/trial_metrics", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query, Stream: true,
		Summary: "Stream the reports of trials"}
	GetTimeSeries = Endpoint[None, CompareTrialsResponse]{Method: "GET", Path: "/trials/time-series", Access: ByBoth, Object: KindTrial, Verb: View, NamedIn: Query,
		Summary: "Curves of trials, thinned to what a screen can show"}
	FollowTrialMetrics = Endpoint[None, None]{Method: "GET", Path: "/detent/trials/:id/metrics/live", Access: ByBoth, Object: KindTrial, Verb: View, Stream: true,
		Summary: "Follow the reports of a trial as server-sent events"}
)
