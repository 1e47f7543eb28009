package v1

// The endpoints of runs.
var (
	StartRun = Endpoint[RunPrepareForReportingRequest, RunPrepareForReportingResponse]{Method: "POST", Path: "/runs/start", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body,
		Summary: "Report where a run stores its checkpoints"}
	GetRunMetadata = Endpoint[None, GetRunMetadataResponse]{Method: "GET", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: View,
		Summary: "Get the metadata of a run"}
	SetRunMetadata = Endpoint[PostRunMetadataRequest, PostRunMetadataResponse]{Method: "POST", Path: "/runs/:run/metadata", Access: ByBoth, Object: KindRun, Verb: Report, BodyLimit: ConfigBody, Audit: AuditAlways,
		Summary: "Replace the metadata of a run"}
	SearchRuns = Endpoint[SearchRunsRequest, SearchRunsResponse]{Method: "POST", Path: "/runs", Access: ByBoth, Object: KindRun, Verb: View, Again: true, List: true, BodyLimit: ReportBody,
		Summary: "Search runs: the trials of all experiments"}
	KillRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/kill", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Kill several runs: they end at once"}
	PauseRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/pause", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Pause several runs, each the only one of its experiment"}
	ResumeRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/resume", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Activate several paused runs, each the only one of its experiment"}
	ArchiveRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/archive", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Archive several runs that have ended"}
	UnarchiveRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/unarchive", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ReportBody,
		Summary: "Unarchive several runs"}
	DeleteRuns = Endpoint[RunsRequest, RunsResponse]{Method: "POST", Path: "/runs/delete", Access: ByUsers, Object: KindRun, Verb: Delete, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete several runs that have ended, with their experiments; a search is deleted only with all its runs"}
	MoveRuns = Endpoint[MoveRunsRequest, RunsResponse]{Method: "POST", Path: "/runs/move", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Move several runs to another project, with their experiments"}
	ReportTrialSource = Endpoint[ReportTrialSourceInfoRequest, ReportTrialSourceInfoResponse]{Method: "POST", Path: "/trial-source-info", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report which checkpoint, or version of a model, a trial works with"}
)
