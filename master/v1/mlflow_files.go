package v1

// The endpoints of the files that runs and models of MLflow log. The path of a file is EXPERIMENT/RUN/artifacts/PATH or
// EXPERIMENT/models/MODEL/artifacts/PATH.
var (
	ListMLflowArtifacts = Endpoint[MLflowListArtifactsRequest, MLflowArtifacts]{Method: "GET", Path: "//mlflow/api/2.0/mlflow/artifacts/list", Access: ByBoth, Object: KindRun, Verb: View, NamedIn: Query,
		Summary: "List files that a run has logged"}
	ListMLflowFiles = Endpoint[MLflowListFilesRequest, MLflowFiles]{Method: "GET", Path: "//mlflow/api/2.0/mlflow-artifacts/artifacts", Access: ByBoth, Object: KindRun, Verb: View, NamedIn: Query,
		Summary: "List files of a folder that a run or a model has logged"}
	DownloadMLflowFile = Endpoint[None, None]{Method: "GET", Path: "//mlflow/api/2.0/mlflow-artifacts/artifacts/*", Access: ByBoth, Object: KindCheckpoint, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download a file that a run or a model has logged"}
	UploadMLflowFile = Endpoint[None, Empty]{Method: "PUT", Path: "//mlflow/api/2.0/mlflow-artifacts/artifacts/*", Access: ByBoth, Object: KindRun, Verb: Report, Stream: true,
		Summary: "Log a file of a run or a model"}
	DeleteMLflowFiles = Endpoint[None, Empty]{Method: "DELETE", Path: "//mlflow/api/2.0/mlflow-artifacts/artifacts/*", Access: ByBoth, Object: KindRun, Verb: Report, Slow: true,
		Summary: "Delete a file, or the files of a folder, that a run or a model has logged"}
)

// Messages about files of MLflow's interface.
type (
	MLflowListArtifactsRequest struct {
		RunID     string `json:"run_id"`
		RunUUID   string `json:"run_uuid"`
		Path      string `json:"path"`
		PageToken string `json:"page_token"`
	}
	MLflowListFilesRequest struct {
		Path string `json:"path"`
	}
	MLflowFile struct {
		Path     string `json:"path"`
		IsFolder bool   `json:"is_dir"`
		Size     *Bare  `json:"file_size,omitempty"` // not of a folder
	}
	MLflowFiles struct {
		Files []MLflowFile `json:"files"`
	}
	MLflowArtifacts struct {
		RootURI string       `json:"root_uri"`
		Files   []MLflowFile `json:"files"`
	}
)
