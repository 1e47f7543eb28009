package v1

// The endpoints of the models that runs of MLflow log.
var (
	CreateMLflowModel = Endpoint[MLflowCreateModelRequest, MLflowModelAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/logged-models", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, BodyLimit: ConfigBody,
		Summary: "Create a model that a run logs"}
	SearchMLflowModels = Endpoint[MLflowSearchModelsRequest, MLflowModels]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/logged-models/search", Access: ByBoth, Object: KindRun, Verb: View, List: true, Audit: AuditNever, Again: true,
		Summary: "Search models that runs have logged"}
	GetMLflowModel = Endpoint[None, MLflowModelAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/logged-models/:model", Access: ByBoth, Object: KindRun, Verb: View,
		Summary: "Get a model that a run has logged"}
	FinishMLflowModel = Endpoint[MLflowFinishModelRequest, MLflowModelAnswer]{Method: "PATCH", Path: "//mlflow/api/2.0/mlflow/logged-models/:model", Access: ByBoth, Object: KindRun, Verb: Report, Again: true,
		Summary: "Report that the files of a model are complete, or that they could not be stored"}
	DeleteMLflowModel = Endpoint[None, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/logged-models/:model", Access: ByBoth, Object: KindRun, Verb: Report,
		Summary: "Mark a model that a run has logged as deleted"}
	LogMLflowModelParams = Endpoint[MLflowModelParamsRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/logged-models/:model/params", Access: ByBoth, Object: KindRun, Verb: Report, BodyLimit: ConfigBody,
		Summary: "Report parameters of a model"}
	SetMLflowModelTags = Endpoint[MLflowModelTagsRequest, MLflowModelAnswer]{Method: "PATCH", Path: "//mlflow/api/2.0/mlflow/logged-models/:model/tags", Access: ByBoth, Object: KindRun, Verb: Report, Again: true, BodyLimit: ConfigBody,
		Summary: "Set tags of a model"}
	DeleteMLflowModelTag = Endpoint[None, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/logged-models/:model/tags/:tag", Access: ByBoth, Object: KindRun, Verb: Report,
		Summary: "Delete a tag of a model"}
	ListMLflowModelFiles = Endpoint[MLflowListModelFilesRequest, MLflowArtifacts]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/logged-models/:model/artifacts/directories", Access: ByBoth, Object: KindRun, Verb: View,
		Summary: "List files of a model"}
	LogMLflowOutputs = Endpoint[MLflowOutputsRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/outputs", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report which models are outputs of a run"}
	LogMLflowRunModel = Endpoint[MLflowLogModelRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/log-model", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Report a model of a run, as older clients do"}
)

// Messages about models that runs log.
type (
	MLflowModelInfo struct {
		ID             string      `json:"model_id"`
		ExperimentID   string      `json:"experiment_id"`
		Name           string      `json:"name"`
		CreatedAt      Bare        `json:"creation_timestamp_ms"`
		ModifiedAt     Bare        `json:"last_updated_timestamp_ms"`
		ArtifactURI    string      `json:"artifact_uri"`
		Status         string      `json:"status"` // LOGGED_MODEL_PENDING, LOGGED_MODEL_READY or LOGGED_MODEL_UPLOAD_FAILED
		ModelType      string      `json:"model_type"`
		SourceRunID    string      `json:"source_run_id"`
		StatusMessage  string      `json:"status_message"`
		LifecycleStage string      `json:"lifecycle_stage"`
		Tags           []MLflowTag `json:"tags"`
	}
	MLflowModelData struct {
		Params  []MLflowTag         `json:"params"`
		Metrics []MLflowModelMetric `json:"metrics"`
	}
	// MLflowModelMetric is a metric of the run of a model.
	MLflowModelMetric struct {
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp Bare    `json:"timestamp"`
		Step      Bare    `json:"step"`
		ModelID   string  `json:"model_id"`
		RunID     string  `json:"run_id"`
		Dataset   string  `json:"dataset_name,omitempty"`
		Digest    string  `json:"dataset_digest,omitempty"`
	}
	MLflowModel struct {
		Info MLflowModelInfo `json:"info"`
		Data MLflowModelData `json:"data"`
	}
	MLflowModelAnswer struct {
		Model MLflowModel `json:"model"`
	}
	MLflowModels struct {
		Models []MLflowModel `json:"models"`
		Next   *string       `json:"next_page_token,omitempty"`
	}
	MLflowCreateModelRequest struct {
		ExperimentID string      `json:"experiment_id"`
		Name         string      `json:"name"`
		ModelType    string      `json:"model_type"`
		SourceRunID  string      `json:"source_run_id"`
		Params       []MLflowTag `json:"params"`
		Tags         []MLflowTag `json:"tags"`
	}
	MLflowFinishModelRequest struct {
		ID     string `json:"model_id"`
		Status string `json:"status"`
	}
	MLflowModelParamsRequest struct {
		ID     string      `json:"model_id"`
		Params []MLflowTag `json:"params"`
	}
	MLflowModelTagsRequest struct {
		ID   string      `json:"model_id"`
		Tags []MLflowTag `json:"tags"`
	}
	MLflowListModelFilesRequest struct {
		Path      string `json:"artifact_directory_path"`
		PageToken string `json:"page_token"`
	}
	MLflowModelOrder struct {
		Field     string `json:"field_name"`
		Ascending *bool  `json:"ascending"`
		Dataset   string `json:"dataset_name"`
		Digest    string `json:"dataset_digest"`
	}
	MLflowModelDataset struct {
		Dataset string `json:"dataset_name"`
		Digest  string `json:"dataset_digest"`
	}
	MLflowSearchModelsRequest struct {
		ExperimentIDs []string             `json:"experiment_ids"`
		Filter        string               `json:"filter"`
		Datasets      []MLflowModelDataset `json:"datasets"`
		MaxResults    int                  `json:"max_results"`
		OrderBy       []MLflowModelOrder   `json:"order_by"`
		PageToken     string               `json:"page_token"`
	}
	MLflowModelOutput struct {
		ID   string `json:"model_id"`
		Step Bare   `json:"step"`
	}
	MLflowRunOutputs struct {
		Models []MLflowModelOutput `json:"model_outputs"`
	}
	MLflowOutputsRequest struct {
		RunID  string              `json:"run_id"`
		Models []MLflowModelOutput `json:"models"`
	}
	MLflowLogModelRequest struct {
		RunID     string `json:"run_id"`
		ModelJSON string `json:"model_json"`
	}
)
