package v1

// The endpoints of the model registry. A model is named by its name or its number.
var (
	ListModels = Endpoint[GetModelsRequest, GetModelsResponse]{Method: "GET", Path: "/models", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "List models"}
	CreateModel = Endpoint[PostModelRequest, PostModelResponse]{Method: "POST", Path: "/models", Access: ByUsers, Object: KindModel, Verb: Create, BodyLimit: ConfigBody,
		Summary: "Create a model"}
	GetModel = Endpoint[None, GetModelResponse]{Method: "GET", Path: "/models/:name", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "Get a model"}
	ChangeModel = Endpoint[PatchModel, PatchModelResponse]{Method: "PATCH", Path: "/models/:name", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true, BodyLimit: ConfigBody,
		Summary: "Change a model"}
	DeleteModel = Endpoint[None, None]{Method: "DELETE", Path: "/models/:name", Access: ByUsers, Object: KindModel, Verb: Change,
		Summary: "Delete a model with its versions; their checkpoints stay"}
	ArchiveModel = Endpoint[None, None]{Method: "POST", Path: "/models/:name/archive", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Archive a model"}
	UnarchiveModel = Endpoint[None, None]{Method: "POST", Path: "/models/:name/unarchive", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Unarchive a model"}
	MoveModel = Endpoint[MoveModelRequest, None]{Method: "POST", Path: "/models/:name/move", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true,
		Summary: "Move a model to another workspace"}
	ListModelLabels = Endpoint[GetModelLabelsRequest, GetModelLabelsResponse]{Method: "GET", Path: "/model/labels", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "List the labels of models, the most used first"}
	ListModelVersions = Endpoint[GetModelVersionsRequest, GetModelVersionsResponse]{Method: "GET", Path: "/models/:name/versions", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "List the versions of a model"}
	CreateModelVersion = Endpoint[PostModelVersionRequest, PostModelVersionResponse]{Method: "POST", Path: "/models/:name/versions", Access: ByUsers, Object: KindModel, Verb: Edit, BodyLimit: ConfigBody,
		Summary: "Register a checkpoint as the next version of a model"}
	GetModelVersion = Endpoint[None, GetModelVersionResponse]{Method: "GET", Path: "/models/:name/versions/:version", Access: ByBoth, Object: KindModel, Verb: View,
		Summary: "Get a version of a model"}
	ChangeModelVersion = Endpoint[PatchModelVersion, PatchModelVersionResponse]{Method: "PATCH", Path: "/models/:name/versions/:version", Access: ByUsers, Object: KindModel, Verb: Edit, Again: true, BodyLimit: ConfigBody,
		Summary: "Change a version of a model"}
	DeleteModelVersion = Endpoint[None, None]{Method: "DELETE", Path: "/models/:name/versions/:version", Access: ByUsers, Object: KindModel, Verb: Change,
		Summary: "Delete a version of a model; its checkpoint stays"}
	ModelVersionMetrics = Endpoint[GetSourceMetricsRequest, GetTrialMetricsByModelVersionResponse]{Method: "GET", Path: "/models/:name/versions/:version/metrics", Access: ByBoth, Object: KindModel, Verb: View, Slow: true,
		Summary: "List the metrics of the trials that reported that they work with a version of a model"}
	CheckpointMetrics = Endpoint[GetSourceMetricsRequest, GetTrialMetricsByCheckpointResponse]{Method: "GET", Path: "/checkpoints/:uuid/metrics", Access: ByBoth, Object: KindCheckpoint, Verb: View, Slow: true,
		Summary: "List the metrics of the trials that reported that they work with a checkpoint"}
)
