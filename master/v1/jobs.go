package v1

import "time"

// JobState is an enum of the wire.
type JobState string

// The values of JobState.
const (
	JobStateUnspecified         JobState = "STATE_UNSPECIFIED"
	JobStateQueued              JobState = "STATE_QUEUED"
	JobStateScheduled           JobState = "STATE_SCHEDULED"
	JobStateScheduledBackfilled JobState = "STATE_SCHEDULED_BACKFILLED"
)

// JobType is an enum of the wire.
type JobType string

// The values of JobType.
const (
	JobTypeUnspecified  JobType = "TYPE_UNSPECIFIED"
	JobTypeExperiment   JobType = "TYPE_EXPERIMENT"
	JobTypeNotebook     JobType = "TYPE_NOTEBOOK"
	JobTypeTensorboard  JobType = "TYPE_TENSORBOARD"
	JobTypeShell        JobType = "TYPE_SHELL"
	JobTypeCommand      JobType = "TYPE_COMMAND"
	JobTypeCheckpointGc JobType = "TYPE_CHECKPOINT_GC"
	JobTypeExternal     JobType = "TYPE_EXTERNAL"
	JobTypeGeneric      JobType = "TYPE_GENERIC"
)

// GetJobsV2Response is a message of the wire.
type GetJobsV2Response struct {
	Jobs       []RBACJob  `json:"jobs"`
	Pagination Pagination `json:"pagination"`
}

// Job is a message of the wire.
type Job struct {
	AllocatedSlots int         `json:"allocatedSlots"`
	EntityID       string      `json:"entityId"`
	IsPreemptible  bool        `json:"isPreemptible"`
	JobID          string      `json:"jobId"`
	Name           string      `json:"name"`
	RequestedSlots int         `json:"requestedSlots"`
	ResourcePool   string      `json:"resourcePool"`
	SubmissionTime time.Time   `json:"submissionTime"`
	Type           JobType     `json:"type"`
	Username       string      `json:"username"`
	WorkspaceID    int         `json:"workspaceId"`
	Priority       int         `json:"priority"`
	Progress       float64     `json:"progress"`
	Summary        *JobSummary `json:"summary"`
	UserID         int         `json:"userId"`
	Weight         float64     `json:"weight"`
	WaitingReason  string      `json:"waitingReason"` // why it waits, in a sentence; ours, not Determined's
}

// JobSummary is a message of the wire.
type JobSummary struct {
	JobsAhead int      `json:"jobsAhead"`
	State     JobState `json:"state"`
}

// LimitedJob is a message of the wire.
type LimitedJob struct {
	AllocatedSlots int         `json:"allocatedSlots"`
	IsPreemptible  bool        `json:"isPreemptible"`
	JobID          string      `json:"jobId"`
	RequestedSlots int         `json:"requestedSlots"`
	ResourcePool   string      `json:"resourcePool"`
	Type           JobType     `json:"type"`
	WorkspaceID    int         `json:"workspaceId"`
	Priority       int         `json:"priority"`
	Progress       float64     `json:"progress"`
	Summary        *JobSummary `json:"summary"`
	Weight         float64     `json:"weight"`
}

// RBACJob is a message of the wire.
type RBACJob struct {
	Full    *Job        `json:"full,omitempty"`
	Limited *LimitedJob `json:"limited,omitempty"`
}

// QueueControl changes one job. The pointers that are nil leave as it is.
type QueueControl struct {
	JobID        string   `json:"jobId"`
	AheadOf      *string  `json:"aheadOf,omitempty"`
	BehindOf     *string  `json:"behindOf,omitempty"`
	Priority     *int     `json:"priority,omitempty"`
	ResourcePool *string  `json:"resourcePool,omitempty"`
	Weight       *float64 `json:"weight,omitempty"`
}

// UpdateJobQueueRequest changes jobs, in order.
type UpdateJobQueueRequest struct {
	Updates []QueueControl `json:"updates"`
}

// JobStatsResponse counts by pool.
type JobStatsResponse struct {
	Results []JobStatsOfPool `json:"results"`
}

type JobStatsOfPool struct {
	ResourcePool string     `json:"resourcePool"`
	Stats        QueueStats `json:"stats"`
}
