package v1

// The endpoints of the model registry as MLflow's clients know it: its models are those of the registry.
var (
	CreateMLflowRegistered = Endpoint[MLflowCreateRegisteredRequest, MLflowRegisteredAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/registered-models/create", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, BodyLimit: ConfigBody,
		Summary: "Create a model of the registry"}
	GetMLflowRegistered = Endpoint[MLflowNameRequest, MLflowRegisteredAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/registered-models/get", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Query,
		Summary: "Get a model of the registry as MLflow shows it"}
	SearchMLflowRegistered = Endpoint[MLflowSearchRegisteredRequest, MLflowRegisteredModels]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/registered-models/search", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "Search models of the registry"}
	ChangeMLflowRegistered = Endpoint[MLflowUpdateRegisteredRequest, MLflowRegisteredAnswer]{Method: "PATCH", Path: "//mlflow/api/2.0/mlflow/registered-models/update", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Change the description of a model of the registry"}
	RenameMLflowRegistered = Endpoint[MLflowRenameRegisteredRequest, MLflowRegisteredAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/registered-models/rename", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body,
		Summary: "Rename a model of the registry"}
	DeleteMLflowRegistered = Endpoint[MLflowDeleteRegisteredRequest, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/registered-models/delete", Access: ByUsers, Object: KindModel, Verb: Change, NamedIn: Body,
		Summary: "Delete a model of the registry with its versions; their files stay"}
	SetMLflowRegisteredTag = Endpoint[MLflowRegisteredTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/registered-models/set-tag", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true,
		Summary: "Set a tag of a model of the registry"}
	DeleteMLflowRegisteredTag = Endpoint[MLflowRegisteredTagRequest, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/registered-models/delete-tag", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body,
		Summary: "Delete a tag of a model of the registry"}
	ListMLflowLatest = Endpoint[MLflowLatestRequest, MLflowVersions]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/registered-models/get-latest-versions", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Query,
		Summary: "List the newest version in each stage of a model of the registry"}
	FindMLflowLatest = Endpoint[MLflowFindLatestRequest, MLflowVersions]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/registered-models/get-latest-versions", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Body, Audit: AuditNever, Again: true,
		Summary: "List the newest version in each stage of a model of the registry"}
	SetMLflowAlias = Endpoint[MLflowAliasRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/registered-models/alias", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true,
		Summary: "Name a version of a model by an alias"}
	DeleteMLflowAlias = Endpoint[MLflowAliasRequest, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/registered-models/alias", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body,
		Summary: "Delete an alias"}
	GetMLflowByAlias = Endpoint[MLflowByAliasRequest, MLflowVersionAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/registered-models/alias", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Query,
		Summary: "Get the version with an alias"}

	CreateMLflowVersion = Endpoint[MLflowCreateVersionRequest, MLflowVersionAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/model-versions/create", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, BodyLimit: ConfigBody,
		Summary: "Register files of a run, or a model that it has logged, as the next version of a model"}
	GetMLflowModelVersion = Endpoint[MLflowVersionRequest, MLflowVersionAnswer]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/model-versions/get", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Query,
		Summary: "Get a version of a model as MLflow shows it"}
	SearchMLflowVersions = Endpoint[MLflowSearchRegisteredRequest, MLflowVersions]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/model-versions/search", Access: ByBoth, Object: KindModel, Verb: View, List: true,
		Summary: "Search versions of models"}
	ChangeMLflowVersion = Endpoint[MLflowUpdateVersionRequest, MLflowVersionAnswer]{Method: "PATCH", Path: "//mlflow/api/2.0/mlflow/model-versions/update", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true, BodyLimit: ConfigBody,
		Summary: "Change the description of a version"}
	DeleteMLflowVersion = Endpoint[MLflowDeleteVersionRequest, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/model-versions/delete", Access: ByUsers, Object: KindModel, Verb: Change, NamedIn: Body,
		Summary: "Delete a version; its files stay"}
	SetMLflowVersionTag = Endpoint[MLflowVersionTagRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/model-versions/set-tag", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true,
		Summary: "Set a tag of a version"}
	DeleteMLflowVersionTag = Endpoint[MLflowVersionTagRequest, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow/model-versions/delete-tag", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body,
		Summary: "Delete a tag of a version"}
	GetMLflowDownloadURI = Endpoint[MLflowVersionRequest, MLflowDownloadURI]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/model-versions/get-download-uri", Access: ByBoth, Object: KindModel, Verb: View, NamedIn: Query,
		Summary: "Tell where the files of a version are"}
	MoveMLflowVersion = Endpoint[MLflowStageRequest, MLflowVersionAnswer]{Method: "POST", Path: "//mlflow/api/2.0/mlflow/model-versions/transition-stage", Access: ByBoth, Object: KindModel, Verb: Edit, NamedIn: Body, Again: true,
		Summary: "Move a version to another stage"}
)

// Messages of the model registry as MLflow's clients know it.
type (
	MLflowAlias struct {
		Alias   string `json:"alias"`
		Version string `json:"version"`
	}
	MLflowVersion struct {
		Name          string      `json:"name"`
		Version       string      `json:"version"`
		CreatedAt     Bare        `json:"creation_timestamp"`
		ModifiedAt    Bare        `json:"last_updated_timestamp"`
		UserID        string      `json:"user_id"`
		Stage         string      `json:"current_stage"`
		Description   string      `json:"description"`
		Source        string      `json:"source"`
		RunID         string      `json:"run_id"`
		Status        string      `json:"status"` // READY
		StatusMessage string      `json:"status_message"`
		RunLink       string      `json:"run_link"`
		ModelID       string      `json:"model_id"`
		Tags          []MLflowTag `json:"tags"`
		Aliases       []string    `json:"aliases"`
	}
	MLflowVersionAnswer struct {
		Version MLflowVersion `json:"model_version"`
	}
	MLflowVersions struct {
		Versions []MLflowVersion `json:"model_versions"`
		Next     *string         `json:"next_page_token,omitempty"`
	}
	MLflowRegistered struct {
		Name        string          `json:"name"`
		CreatedAt   Bare            `json:"creation_timestamp"`
		ModifiedAt  Bare            `json:"last_updated_timestamp"`
		UserID      string          `json:"user_id"`
		Description string          `json:"description"`
		Latest      []MLflowVersion `json:"latest_versions"`
		Tags        []MLflowTag     `json:"tags"`
		Aliases     []MLflowAlias   `json:"aliases"`
	}
	MLflowRegisteredAnswer struct {
		Model MLflowRegistered `json:"registered_model"`
	}
	MLflowRegisteredModels struct {
		Models []MLflowRegistered `json:"registered_models"`
		Next   *string            `json:"next_page_token,omitempty"`
	}
	MLflowCreateRegisteredRequest struct {
		Name        string      `json:"name"`
		Tags        []MLflowTag `json:"tags"`
		Description string      `json:"description"`
	}
	MLflowNameRequest struct {
		Name string `json:"name"`
	}
	MLflowDeleteRegisteredRequest struct {
		Name string `json:"name"`
	}
	MLflowSearchRegisteredRequest struct {
		Filter     string   `json:"filter"`
		MaxResults int      `json:"max_results"`
		OrderBy    []string `json:"order_by"`
		PageToken  string   `json:"page_token"`
	}
	MLflowUpdateRegisteredRequest struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	MLflowRenameRegisteredRequest struct {
		Name    string `json:"name"`
		NewName string `json:"new_name"`
	}
	MLflowRegisteredTagRequest struct {
		Name  string `json:"name"`
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	MLflowLatestRequest struct {
		Name   string   `json:"name"`
		Stages []string `json:"stages"`
	}
	MLflowFindLatestRequest struct {
		Name   string   `json:"name"`
		Stages []string `json:"stages"`
	}
	MLflowAliasRequest struct {
		Name    string `json:"name"`
		Alias   string `json:"alias"`
		Version string `json:"version"`
	}
	MLflowByAliasRequest struct {
		Name  string `json:"name"`
		Alias string `json:"alias"`
	}
	MLflowCreateVersionRequest struct {
		Name        string      `json:"name"`
		Source      string      `json:"source"`
		RunID       string      `json:"run_id"`
		RunLink     string      `json:"run_link"`
		ModelID     string      `json:"model_id"`
		Description string      `json:"description"`
		Tags        []MLflowTag `json:"tags"`
	}
	MLflowVersionRequest struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	MLflowDeleteVersionRequest struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	MLflowUpdateVersionRequest struct {
		Name        string `json:"name"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	MLflowVersionTagRequest struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Key     string `json:"key"`
		Value   string `json:"value"`
	}
	MLflowDownloadURI struct {
		URI string `json:"artifact_uri"`
	}
	MLflowStageRequest struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Stage   string `json:"stage"`
		Archive bool   `json:"archive_existing_versions"`
	}
)
