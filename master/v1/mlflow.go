package v1

// The endpoints of MLflow's tracking interface, with which unmodified programs log what they do. An experiment of MLflow is a
// project, and a run is a run. The messages have MLflow's names, and numbers of 64 bits are numbers, as MLflow's server writes them.
var (
	GetMLflowHealth  = Endpoint[None, None]{Method: "GET", Path: "//mlflow/health", Access: Public, Summary: "Answer OK to clients of MLflow", Stream: true}
	GetMLflowVersion = Endpoint[None, None]{Method: "GET", Path: "//mlflow/version", Access: Public, Summary: "Tell clients which version of MLflow's interface this is", Stream: true}
	GetMLflowServer  = Endpoint[None, MLflowServer]{Method: "GET", Path: "//mlflow/api/3.0/mlflow/server-info", Access: ByBoth, Object: KindCluster, Verb: View, NamedIn: Query,
		Summary: "Tell clients what the server of MLflow's interface has"}
	OpenMLflowPages = Endpoint[None, None]{Method: "GET", Path: "//mlflow", Access: Public, Summary: "Redirect the links that MLflow's client prints to the pages", Stream: true}

	// MLflow's server has further calls: prompts, traces, evaluation, its gateway.
	OtherMLflowGet    = Endpoint[None, None]{Method: "GET", Path: "//mlflow/*", Access: Public, Summary: "Answer 501: MLflow has this call, and Detent has not", Stream: true}
	OtherMLflowPost   = Endpoint[None, None]{Method: "POST", Path: "//mlflow/*", Access: Public, Summary: "Answer 501: MLflow has this call, and Detent has not", Stream: true}
	OtherMLflowPut    = Endpoint[None, None]{Method: "PUT", Path: "//mlflow/*", Access: Public, Summary: "Answer 501: MLflow has this call, and Detent has not", Stream: true}
	OtherMLflowPatch  = Endpoint[None, None]{Method: "PATCH", Path: "//mlflow/*", Access: Public, Summary: "Answer 501: MLflow has this call, and Detent has not", Stream: true}
	OtherMLflowDelete = Endpoint[None, None]{Method: "DELETE", Path: "//mlflow/*", Access: Public, Summary: "Answer 501: MLflow has this call, and Detent has not", Stream: true}

	CreateMLflowExperiment = Endpoint[MLflowCreateExperimentRequest, MLflowExperimentID]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/create", Access: ByBoth, Object: KindProject, Verb: View, NamedIn: Body,
		Summary: "Create an experiment of MLflow: a project"}
	GetMLflowExperiment = Endpoint[MLflowGetExperimentRequest, MLflowExperimentAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/experiments/get", Access: ByBoth, Object: KindProject, Verb: View, NamedIn: Query,
		Summary: "Get an experiment of MLflow"}
	GetMLflowExperimentByName = Endpoint[MLflowGetExperimentByNameRequest, MLflowExperimentAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/experiments/get-by-name", Access: ByBoth, Object: KindProject, Verb: View, NamedIn: Query,
		Summary: "Get the experiment of MLflow with a name"}
	SearchMLflowExperiments = Endpoint[MLflowSearchExperimentsRequest, MLflowExperiments]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/search", Access: ByBoth, Object: KindProject, Verb: View, List: true, Audit: AuditNever, Again: true,
		Summary: "Search experiments of MLflow"}
	ChangeMLflowExperiment = Endpoint[MLflowUpdateExperimentRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/update", Access: ByUsers, Object: KindProject, Verb: Change, NamedIn: Body,
		Summary: "Rename an experiment of MLflow"}
	DeleteMLflowExperiment = Endpoint[MLflowExperimentID, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/delete", Access: ByUsers, Object: KindProject, Verb: Change, NamedIn: Body,
		Summary: "Archive an experiment of MLflow"}
	RestoreMLflowExperiment = Endpoint[MLflowExperimentID, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/restore", Access: ByUsers, Object: KindProject, Verb: Change, NamedIn: Body,
		Summary: "Unarchive an experiment of MLflow"}
	SetMLflowExperimentTag = Endpoint[MLflowExperimentTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/set-experiment-tag", Access: ByBoth, Object: KindProject, Verb: Edit, NamedIn: Body, Again: true,
		Summary: "Set a tag of an experiment of MLflow"}
	DeleteMLflowExperimentTag = Endpoint[MLflowExperimentTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/experiments/delete-experiment-tag", Access: ByBoth, Object: KindProject, Verb: Edit, NamedIn: Body,
		Summary: "Delete a tag of an experiment of MLflow"}

	CreateMLflowRun = Endpoint[MLflowCreateRunRequest, MLflowRunAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/create", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body,
		Summary: "Create a run; in a trial, get the trial's run"}
	GetMLflowRun = Endpoint[MLflowGetRunRequest, MLflowRunAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/runs/get", Access: ByBoth, Object: KindRun, Verb: View, NamedIn: Query,
		Summary: "Get a run as MLflow shows it"}
	ChangeMLflowRun = Endpoint[MLflowUpdateRunRequest, MLflowRunInfoAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/update", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Change the name of a run, or the state of one whose program runs elsewhere"}
	DeleteMLflowRun = Endpoint[MLflowRunID, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/delete", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body,
		Summary: "Archive a run"}
	RestoreMLflowRun = Endpoint[MLflowRunID, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/restore", Access: ByUsers, Object: KindRun, Verb: Change, NamedIn: Body,
		Summary: "Unarchive a run"}
	SearchMLflowRuns = Endpoint[MLflowSearchRunsRequest, MLflowRuns]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/search", Access: ByBoth, Object: KindRun, Verb: View, List: true, Audit: AuditNever, Again: true,
		Summary: "Search runs with MLflow's filters"}

	LogMLflowMetric = Endpoint[MLflowLogMetricRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/log-metric", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report a metric of a run"}
	LogMLflowBatch = Endpoint[MLflowLogBatchRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/log-batch", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Report metrics, parameters and tags of a run"}
	LogMLflowParam = Endpoint[MLflowLogParamRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/log-parameter", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Report a parameter of a run"}
	SetMLflowTag = Endpoint[MLflowTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/set-tag", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true,
		Summary: "Set a tag of a run"}
	DeleteMLflowTag = Endpoint[MLflowTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/delete-tag", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body,
		Summary: "Delete a tag of a run"}
	LogMLflowInputs = Endpoint[MLflowLogInputsRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/runs/log-inputs", Access: ByBoth, Object: KindRun, Verb: Report, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Report the data sets that a run reads"}
	GetMLflowHistory = Endpoint[MLflowHistoryRequest, MLflowHistory]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/metrics/get-history", Access: ByBoth, Object: KindRun, Verb: View, NamedIn: Query,
		Summary: "List the values of a metric of a run"}
	GetMLflowHistories = Endpoint[MLflowHistoriesRequest, MLflowHistories]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/metrics/get-history-bulk-interval", Access: ByBoth, Object: KindRun, Verb: View, NamedIn: Query,
		Summary: "List some values of a metric of several runs"}
)

// Bare is an int64 that JSON has as a number, as in MLflow's messages.
type Bare int64

// Messages of MLflow's interface.
type (
	MLflowServer struct {
		StoreType          string `json:"store_type"`
		Workspaces         bool   `json:"workspaces_enabled"`
		MultipartUploads   bool   `json:"multipart_uploads_enabled"`
		MultipartDownloads bool   `json:"multipart_downloads_enabled"`
	}
	MLflowTag struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}

	MLflowExperiment struct {
		ID               string      `json:"experiment_id"`
		Name             string      `json:"name"`
		ArtifactLocation string      `json:"artifact_location"`
		LifecycleStage   string      `json:"lifecycle_stage"` // active or deleted
		LastUpdateTime   Bare        `json:"last_update_time"`
		CreationTime     Bare        `json:"creation_time"`
		Tags             []MLflowTag `json:"tags"`
	}
	MLflowExperimentID struct {
		ID string `json:"experiment_id"`
	}
	MLflowExperimentAnswer struct {
		Experiment MLflowExperiment `json:"experiment"`
	}
	MLflowExperiments struct {
		Experiments []MLflowExperiment `json:"experiments"`
		Next        *string            `json:"next_page_token"`
	}
	MLflowCreateExperimentRequest struct {
		Name             string      `json:"name"`
		ArtifactLocation string      `json:"artifact_location"`
		Tags             []MLflowTag `json:"tags"`
	}
	MLflowGetExperimentRequest struct {
		ID string `json:"experiment_id"`
	}
	MLflowGetExperimentByNameRequest struct {
		Name string `json:"experiment_name"`
	}
	MLflowSearchExperimentsRequest struct {
		MaxResults int      `json:"max_results"`
		PageToken  string   `json:"page_token"`
		Filter     string   `json:"filter"`
		OrderBy    []string `json:"order_by"`
		ViewType   string   `json:"view_type"`
	}
	MLflowUpdateExperimentRequest struct {
		ID   string `json:"experiment_id"`
		Name string `json:"new_name"`
	}
	MLflowExperimentTagRequest struct {
		ID    string `json:"experiment_id"`
		Key   string `json:"key"`
		Value string `json:"value"`
	}

	MLflowMetric struct {
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp Bare    `json:"timestamp"` // milliseconds
		Step      Bare    `json:"step"`
		ModelID   string  `json:"model_id,omitempty"` // of one model of the run
		Dataset   string  `json:"dataset_name,omitempty"`
		Digest    string  `json:"dataset_digest,omitempty"`
	}
	MLflowRunInfo struct {
		RunID          string `json:"run_id"`
		RunUUID        string `json:"run_uuid"`
		RunName        string `json:"run_name"`
		ExperimentID   string `json:"experiment_id"`
		UserID         string `json:"user_id"`
		Status         string `json:"status"` // SCHEDULED, RUNNING, FINISHED, FAILED or KILLED
		StartTime      Bare   `json:"start_time"`
		EndTime        *Bare  `json:"end_time"`
		ArtifactURI    string `json:"artifact_uri"`
		LifecycleStage string `json:"lifecycle_stage"`
	}
	MLflowRunData struct {
		Metrics []MLflowMetric `json:"metrics"`
		Params  []MLflowTag    `json:"params"`
		Tags    []MLflowTag    `json:"tags"`
	}
	MLflowDataset struct {
		Name       string `json:"name"`
		Digest     string `json:"digest"`
		SourceType string `json:"source_type"`
		Source     string `json:"source"`
		Schema     string `json:"schema"`
		Profile    string `json:"profile"`
	}
	MLflowInput struct {
		Tags    []MLflowTag   `json:"tags"`
		Dataset MLflowDataset `json:"dataset"`
	}
	MLflowRunInputs struct {
		Datasets []MLflowInput `json:"dataset_inputs"`
	}
	MLflowRun struct {
		Info    MLflowRunInfo    `json:"info"`
		Data    MLflowRunData    `json:"data"`
		Inputs  MLflowRunInputs  `json:"inputs"`
		Outputs MLflowRunOutputs `json:"outputs"`
	}
	MLflowRunAnswer struct {
		Run MLflowRun `json:"run"`
	}
	MLflowRunInfoAnswer struct {
		Info MLflowRunInfo `json:"run_info"`
	}
	MLflowRuns struct {
		Runs []MLflowRun `json:"runs"`
		Next *string     `json:"next_page_token"`
	}
	// MLflowRunID names a run. Older clients know its number as run_uuid.
	MLflowRunID struct {
		RunID   string `json:"run_id"`
		RunUUID string `json:"run_uuid"`
	}
	MLflowGetRunRequest struct {
		RunID   string `json:"run_id"`
		RunUUID string `json:"run_uuid"`
	}
	MLflowCreateRunRequest struct {
		ExperimentID string      `json:"experiment_id"`
		UserID       string      `json:"user_id"`
		RunName      string      `json:"run_name"`
		StartTime    Bare        `json:"start_time"`
		Tags         []MLflowTag `json:"tags"`
	}
	MLflowUpdateRunRequest struct {
		RunID   string `json:"run_id"`
		RunUUID string `json:"run_uuid"`
		Status  string `json:"status"`
		EndTime Bare   `json:"end_time"`
		RunName string `json:"run_name"`
	}
	MLflowSearchRunsRequest struct {
		ExperimentIDs []string `json:"experiment_ids"`
		Filter        string   `json:"filter"`
		ViewType      string   `json:"run_view_type"`
		MaxResults    int      `json:"max_results"`
		OrderBy       []string `json:"order_by"`
		PageToken     string   `json:"page_token"`
	}
	MLflowLogMetricRequest struct {
		RunID     string  `json:"run_id"`
		RunUUID   string  `json:"run_uuid"`
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp Bare    `json:"timestamp"`
		Step      Bare    `json:"step"`
		ModelID   string  `json:"model_id"`
		Dataset   string  `json:"dataset_name"`
		Digest    string  `json:"dataset_digest"`
	}
	MLflowLogBatchRequest struct {
		RunID   string         `json:"run_id"`
		RunUUID string         `json:"run_uuid"`
		Metrics []MLflowMetric `json:"metrics"`
		Params  []MLflowTag    `json:"params"`
		Tags    []MLflowTag    `json:"tags"`
	}
	MLflowLogParamRequest struct {
		RunID   string `json:"run_id"`
		RunUUID string `json:"run_uuid"`
		Key     string `json:"key"`
		Value   string `json:"value"`
	}
	MLflowTagRequest struct {
		RunID   string `json:"run_id"`
		RunUUID string `json:"run_uuid"`
		Key     string `json:"key"`
		Value   string `json:"value"`
	}
	MLflowLogInputsRequest struct {
		RunID    string        `json:"run_id"`
		RunUUID  string        `json:"run_uuid"`
		Datasets []MLflowInput `json:"datasets"`
	}
	MLflowHistoryRequest struct {
		RunID      string `json:"run_id"`
		RunUUID    string `json:"run_uuid"`
		Key        string `json:"metric_key"`
		MaxResults int    `json:"max_results"`
		PageToken  string `json:"page_token"`
	}
	MLflowHistory struct {
		Metrics []MLflowMetric `json:"metrics"`
		Next    *string        `json:"next_page_token"`
	}
	MLflowHistoriesRequest struct {
		RunIDs     []string `json:"run_ids"`
		Key        string   `json:"metric_key"`
		StartStep  *int     `json:"start_step"`
		EndStep    *int     `json:"end_step"`
		MaxResults int      `json:"max_results"`
	}
	// MLflowRunMetric is a value of a metric of one of several runs.
	MLflowRunMetric struct {
		RunID     string  `json:"run_id"`
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp Bare    `json:"timestamp"`
		Step      Bare    `json:"step"`
	}
	MLflowHistories struct {
		Metrics []MLflowRunMetric `json:"metrics"`
	}
)
