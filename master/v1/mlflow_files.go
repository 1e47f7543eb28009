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
	CreateMLflowUpload = Endpoint[MLflowCreateUploadRequest, MLflowUpload]{Method: "POST", Path: "//mlflow/api/2.0/mlflow-artifacts/mpu/create/*", Access: ByBoth, Object: KindRun, Verb: Report, Slow: true, Again: true,
		Summary: "Begin a file of a run or a model that is sent in parts"}
	UploadMLflowPart = Endpoint[None, Empty]{Method: "PUT", Path: "//mlflow/api/2.0/mlflow-artifacts/mpu/part/*", Access: ByBoth, Object: KindRun, Verb: Report, Stream: true,
		Summary: "Send a part of a file of a run or a model, where its storage signs no addresses"}
	FinishMLflowUpload = Endpoint[MLflowFinishUploadRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow-artifacts/mpu/complete/*", Access: ByBoth, Object: KindRun, Verb: Report, Slow: true, Again: true, BodyLimit: partsBody,
		Summary: "Complete a file of a run or a model that was sent in parts"}
	AbortMLflowUpload = Endpoint[MLflowAbortUploadRequest, Empty]{Method: "POST", Path: "//mlflow/api/2.0/mlflow-artifacts/mpu/abort/*", Access: ByBoth, Object: KindRun, Verb: Report, Slow: true, Again: true,
		Summary: "Give up a file of a run or a model that is sent in parts"}
	GetMLflowLink = Endpoint[None, MLflowLink]{Method: "GET", Path: "//mlflow/api/2.0/mlflow-artifacts/presigned/*", Access: ByBoth, Object: KindCheckpoint, Verb: View, Audit: AuditOthers,
		Summary: "Get a signed address of a file in its storage"}
)

// partsBody is the size limit, in bytes, of a message with the addresses of all parts of a file: 5,000 signed addresses of up to 2 KB.
const partsBody = 16 << 20

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
	MLflowCreateUploadRequest struct {
		Path  string `json:"path"` // of the file on the client's machine
		Parts int    `json:"num_parts"`
	}
	MLflowUpload struct {
		ID    string             `json:"upload_id"`
		Parts []MLflowUploadPart `json:"credentials"`
	}
	MLflowUploadPart struct {
		URL     string            `json:"url"`
		Number  int               `json:"part_number"`
		Headers map[string]string `json:"headers"`
	}
	MLflowFinishUploadRequest struct {
		Path  string             `json:"path"`
		ID    string             `json:"upload_id"`
		Parts []MLflowUploadDone `json:"parts"`
	}
	MLflowUploadDone struct {
		Number int    `json:"part_number"`
		Tag    string `json:"etag"`
		URL    string `json:"url"`
	}
	MLflowAbortUploadRequest struct {
		Path string `json:"path"`
		ID   string `json:"upload_id"`
	}
	MLflowLink struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Size    *Bare             `json:"file_size"` // null: read the file from the master
	}
	MLflowArtifacts struct {
		RootURI string       `json:"root_uri"`
		Files   []MLflowFile `json:"files"`
	}
)
