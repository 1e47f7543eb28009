package v1

import "time"

// The endpoints of checkpoints.
var (
	ReportCheckpoint = Endpoint[Checkpoint, None]{Method: "POST", Path: "/checkpoints", Access: ByBoth, Object: KindCheckpoint, Verb: Report, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Report a checkpoint"}
	ChangeCheckpoints = Endpoint[PatchCheckpointsRequest, None]{Method: "PATCH", Path: "/checkpoints", Access: ByBoth, Object: KindCheckpoint, Verb: Report, NamedIn: Body, BodyLimit: ReportBody, Audit: AuditAlways,
		Summary: "Report which files of checkpoints are left"}
	GetCheckpoint = Endpoint[None, GetCheckpointResponse]{Method: "GET", Path: "/checkpoints/:uuid", Access: ByBoth, Object: KindCheckpoint, Verb: View,
		Summary: "Get a checkpoint"}
	SetCheckpointMetadata = Endpoint[PostCheckpointMetadataRequest, PostCheckpointMetadataResponse]{Method: "POST", Path: "/checkpoints/:uuid/metadata", Access: ByBoth, Object: KindCheckpoint, Verb: Report, BodyLimit: ReportBody, Audit: AuditAlways,
		Summary: "Replace the metadata of a checkpoint"}
	DownloadCheckpoint = Endpoint[None, None]{Method: "GET", Path: "//checkpoints/:uuid", Access: ByBoth, Object: KindCheckpoint, Verb: View, Stream: true, Audit: AuditOthers,
		Summary: "Download the files of a checkpoint, as tar.gz or zip"}
	ListExperimentCheckpoints = Endpoint[GetCheckpointsRequest, GetExperimentCheckpointsResponse]{Method: "GET", Path: "/experiments/:id/checkpoints", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the checkpoints of an experiment"}
)

// The endpoints of garbage collections (GC).
var (
	DeleteCheckpoints = Endpoint[DeleteCheckpointsRequest, None]{Method: "DELETE", Path: "/checkpoints", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete checkpoints with all their files"}
	RemoveCheckpointFiles = Endpoint[CheckpointsRemoveFilesRequest, None]{Method: "POST", Path: "/checkpoints/rm", Access: ByUsers, Object: KindCheckpoint, Verb: Change, NamedIn: Body, BodyLimit: ReportBody,
		Summary: "Delete the files of checkpoints that match patterns; without patterns, read the list of their files from storage again"}
	RemoveTensorboardFiles = Endpoint[None, Empty]{Method: "DELETE", Path: "/experiments/:id/tensorboard-files", Access: ByUsers, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "Delete the files that TensorBoards of an experiment read, and wait until they are gone"}
	PreviewGC = Endpoint[PreviewGCRequest, PreviewGCResponse]{Method: "GET", Path: "//experiments/:id/preview_gc", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "Preview which checkpoints of an experiment a policy would delete"}
	ListGCs = Endpoint[None, GetGCsResponse]{Method: "GET", Path: "/detent/experiments/:id/collections", Access: ByBoth, Object: KindExperiment, Verb: View,
		Summary: "List the garbage collections of an experiment"}
	ReportFreed = Endpoint[FreedRequest, None]{Method: "POST", Path: "/detent/collections/:task/freed", Access: ByTasks, Object: KindTask, Verb: Report, BodyLimit: ReportBody,
		Summary: "Report which files a garbage collection deleted"}
	ListStrays = Endpoint[StraysRequest, StraysResponse]{Method: "POST", Path: "/detent/collections/:task/strays", Access: ByTasks, Object: KindTask, Verb: Report, BodyLimit: ReportBody,
		Summary: "Ask which folders of a storage belong to no checkpoint, for a sweep"}
)

type CheckpointState string

const (
	CheckpointStateActive           CheckpointState = "STATE_ACTIVE"
	CheckpointStateCompleted        CheckpointState = "STATE_COMPLETED"
	CheckpointStateError            CheckpointState = "STATE_ERROR"
	CheckpointStateDeleted          CheckpointState = "STATE_DELETED"
	CheckpointStatePartiallyDeleted CheckpointState = "STATE_PARTIALLY_DELETED"
)

type Checkpoint struct {
	Metadata     Struct                     `json:"metadata"`
	Resources    map[string]int64           `json:"resources"`
	State        CheckpointState            `json:"state"`
	Training     CheckpointTrainingMetadata `json:"training"`
	UUID         string                     `json:"uuid"`
	AllocationID string                     `json:"allocationId"`
	ReportTime   *time.Time                 `json:"reportTime"`
	StorageID    *int                       `json:"storageId"`
	TaskID       string                     `json:"taskId"`
	// Kept: it is a folder that the runner keeps (resume.path). Only the trial's own attempt can report one.
	Kept bool `json:"kept,omitempty"`
	// Logged: run, if it has the files that the run logs with MLflow's client; model, if it has those of a model that it logs.
	Logged string `json:"logged,omitempty"`
	// Removals lists the removed files; set only in the answer for one checkpoint.
	Removals []CheckpointRemoval `json:"removals,omitempty"`
}

type CheckpointTrainingMetadata struct {
	ExperimentConfig  Struct   `json:"experimentConfig,null"`
	ExperimentID      *int     `json:"experimentId"`
	HParams           Struct   `json:"hparams,null"`
	SearcherMetric    *float64 `json:"searcherMetric"`
	TrainingMetrics   *Metrics `json:"trainingMetrics"`
	TrialID           *int     `json:"trialId"`
	ValidationMetrics *Metrics `json:"validationMetrics"`
}

type CheckpointWorkload struct {
	State        CheckpointState  `json:"state"`
	TotalBatches int              `json:"totalBatches"`
	EndTime      *time.Time       `json:"endTime"`
	Metadata     Struct           `json:"metadata,null"`
	Resources    map[string]int64 `json:"resources"`
	UUID         string           `json:"uuid"`
}

type GetCheckpointResponse struct {
	Checkpoint Checkpoint `json:"checkpoint"`
}

type GetExperimentCheckpointsResponse struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	Pagination  Pagination   `json:"pagination"`
}

// Records returns the records of the page.
func (r GetExperimentCheckpointsResponse) Records() ([]Checkpoint, Pagination) {
	return r.Checkpoints, r.Pagination
}

type GetTrialCheckpointsResponse GetExperimentCheckpointsResponse

// Records returns the records of the page.
func (r GetTrialCheckpointsResponse) Records() ([]Checkpoint, Pagination) {
	return r.Checkpoints, r.Pagination
}

type PatchCheckpoint struct {
	UUID      string                            `json:"uuid"`
	Resources *PatchCheckpointOptionalResources `json:"resources,omitempty"`
}

type PatchCheckpointsRequest struct {
	Checkpoints []PatchCheckpoint `json:"checkpoints"`
}

type PostCheckpointMetadataRequest struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

type PostCheckpointMetadataResponse struct {
	Checkpoint *Checkpoint `json:"checkpoint"`
}

// Messages about the removal of files of checkpoints.

type DeleteCheckpointsRequest struct {
	CheckpointUUIDs []string `json:"checkpointUuids"`
}

// CheckpointsRemoveFilesRequest removes the files that match the globs. Without globs it
// removes nothing, and the list of files is read from storage again.
type CheckpointsRemoveFilesRequest struct {
	CheckpointUUIDs []string `json:"checkpointUuids"`
	CheckpointGlobs []string `json:"checkpointGlobs"`
}

// PreviewGCResponse lists what a policy would remove. The path is the one that Determined had
// before /api/v1. GET /experiments/{id}/preview_gc
type PreviewGCResponse struct {
	Checkpoints []PreviewGCCheckpoint `json:"checkpoints"`
	MetricName  string                `json:"metric_name"`
	// Total is the number of checkpoints that the policy would remove. Checkpoints has those of
	// one page, which begins at the query parameter offset.
	Total int `json:"total"`
}

// PreviewGCCheckpoint is a checkpoint that the policy would remove.
type PreviewGCCheckpoint struct {
	TrialID           int              `json:"TrialID"`
	StepsCompleted    int              `json:"StepsCompleted"`
	State             string           `json:"State"`
	ValidationMetrics Struct           `json:"ValidationMetrics"`
	UUID              string           `json:"UUID"`
	Resources         map[string]int64 `json:"Resources"`
	ReportTime        time.Time        `json:"ReportTime"`
	// Step is set for a checkpoint that was validated: Determined's command line lists only
	// these.
	Step *PreviewGCStep `json:"step,omitempty"`
}

// PreviewGCStep shows that there was a validation.
type PreviewGCStep struct {
	Validation Struct `json:"validation"`
}

// Collect is the part of the TaskSpec for a task that removes files.
type Collect struct {
	// Programs has the SHA-256 of the det-remover that the master serves for each platform,
	// such as linux-amd64.
	Programs    map[string]string   `json:"programs"`
	Storage     CollectStorage      `json:"storage"`
	Checkpoints []CollectCheckpoint `json:"checkpoints"`
	// Events is the folder of TensorBoard files in the storage that is also removed; "": none.
	Events string `json:"events"`
	// Sweep is set for a sweep, which removes nothing else.
	Sweep *CollectSweep `json:"sweep,omitempty"`
}

// CollectSweep says what a sweep removes: folders of the storage with a random UUID as their name,
// whose files were all stored between two times, and of which the master says that it knows no checkpoint.
type CollectSweep struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// MaxStrays is the maximum number of folders in one StraysRequest.
const MaxStrays = 1000

// StraysRequest asks which folders of a storage a sweep may remove. POST /api/v1/detent/collections/{task}/strays
type StraysRequest struct {
	UUIDs []string `json:"uuids"`
}

// StraysResponse lists those of them that the master does not know.
type StraysResponse struct {
	UUIDs []string `json:"uuids"`
}

// CollectStorage is the location of the files: a folder that the task sees, or a bucket. The
// credentials are those of the experiment's configuration; "" for Credentials.
type CollectStorage struct {
	Folder    string `json:"folder"`
	Kind      string `json:"kind"` // of the bucket: s3, gcs or azure
	Bucket    string `json:"bucket"`
	Prefix    string `json:"prefix"`
	Endpoint  string `json:"endpoint"`
	Region    string `json:"region"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`

	AccountURL       string `json:"accountUrl"`
	Credential       string `json:"credential"`
	ConnectionString string `json:"connectionString"`
}

// CollectCheckpoint lists what to remove of a checkpoint. Known is the expected number of its
// files, so that a missing storage can be distinguished from an empty one.
type CollectCheckpoint struct {
	UUID  string   `json:"uuid"`
	Globs []string `json:"globs"`
	Known int      `json:"known"` // files
}

// FreedRequest reports removed files: those of a checkpoint, or TensorBoard files or those of a whole
// sweep if it names no checkpoint. POST /api/v1/detent/collections/{task}/freed
type FreedRequest struct {
	UUID  string `json:"uuid"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
	// Left are the remaining files of the checkpoint; absent if the storage could not be read.
	Left  *PatchCheckpointOptionalResources `json:"left,omitempty"`
	Error string                            `json:"error"` // "": everything was removed
}

// CheckpointRemoval is a removal of files of a checkpoint, done or planned.
type CheckpointRemoval struct {
	TaskID     string     `json:"taskId"`
	Checkpoint string     `json:"checkpoint"`
	Reason     string     `json:"reason"` // policy, asked or deletion
	Globs      []string   `json:"globs"`
	Time       *time.Time `json:"time,omitempty"` // when it was done
	Files      int64      `json:"files"`
	Bytes      int64      `json:"bytes"`
	Error      string     `json:"error"`
	Ended      bool       `json:"ended"` // the removal is complete or has failed
}

// A GC is a garbage collection: a task that removes files of an experiment.
type GC struct {
	TaskID      string     `json:"taskId"`
	Reason      string     `json:"reason"` // policy, asked, deletion or sweep
	StartTime   time.Time  `json:"startTime"`
	EndTime     *time.Time `json:"endTime,omitempty"`
	ExitStatus  string     `json:"exitStatus"`
	Checkpoints int        `json:"checkpoints"` // number of checkpoints with files to remove
	Done        int        `json:"done"`        // how many of them are done
	Files       int64      `json:"files"`
	Bytes       int64      `json:"bytes"`
	Error       string     `json:"error"` // the first error
}

// FreedTotal is the total of removed files of an experiment.
type FreedTotal struct {
	Checkpoints int   `json:"checkpoints"` // with at least one removed file
	Files       int64 `json:"files"`
	Bytes       int64 `json:"bytes"`
}

// GetGCsResponse lists the garbage collections of an experiment, newest first. GET
// /api/v1/detent/experiments/{id}/collections
type GetGCsResponse struct {
	GCs   []GC       `json:"collections"`
	Freed FreedTotal `json:"freed"` // total
}
