package v1

// The endpoints of unmanaged experiments: programs run their trials elsewhere, and report them with their
// user's session.
var (
	PutExperiment = Endpoint[CreateExperimentRequest, PutExperimentResponse]{Method: "PUT", Path: "/experiments/by-external-id/:external", Access: ByUsers, Object: KindExperiment, Verb: Create, Files: "modelDefinition",
		Summary: "Create an unmanaged experiment, or get the one that has the external id"}
	CreateTrial = Endpoint[CreateTrialRequest, CreateTrialResponse]{Method: "POST", Path: "/trials", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, BodyLimit: ConfigBody,
		Summary: "Create a trial of an unmanaged experiment"}
	PutTrial = Endpoint[PutTrialRequest, PutTrialResponse]{Method: "PUT", Path: "/trials", Access: ByUsers, Object: KindExperiment, Verb: Change, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Create a trial of an unmanaged experiment, or get the one that has the external id"}
	GetTrialByExternalID = Endpoint[None, GetTrialResponse]{Method: "GET", Path: "/trials/by-external-id/:experiment/:trial", Access: ByBoth, Object: KindTrial, Verb: View,
		Summary: "Get a trial by the external ids of its experiment and of itself"}
	StartTrial = Endpoint[StartTrialRequest, StartTrialResponse]{Method: "POST", Path: "/trials/:id/start", Access: ByUsers, Object: KindTrial, Verb: Report,
		Summary: "Start the next run of an unmanaged trial"}
	PatchTrial = Endpoint[PatchTrialRequest, PatchTrialResponse]{Method: "PATCH", Path: "/trials/:id", Access: ByUsers, Object: KindTrial, Verb: Report, Again: true,
		Summary: "Report that an unmanaged trial is alive, and its state"}
)
