package v1

// The endpoints of runs.
var (
	StartRun = Endpoint[RunPrepareForReportingRequest, RunPrepareForReportingResponse]{Method: "POST", Path: "/runs/start", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body,
		Summary: "Report where a run stores its checkpoints"}
	GetRunMetadata = Endpoint[None, GetRunMetadataResponse]{Method: "GET", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: View,
		Summary: "Get the metadata of a run"}
	SetRunMetadata = Endpoint[PostRunMetadataRequest, PostRunMetadataResponse]{Method: "POST", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: Report, BodyLimit: ConfigBody,
		Summary: "Replace the metadata of a run"}
	ReportTrialSource = Endpoint[ReportTrialSourceInfoRequest, ReportTrialSourceInfoResponse]{Method: "POST", Path: "/trial-source-info", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report which checkpoint, or version of a model, a trial works with"}
)
