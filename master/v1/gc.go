package v1

import "time"

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
