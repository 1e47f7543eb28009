package v1

import "time"

type JobState string

const (
	JobStateUnspecified         JobState = "STATE_UNSPECIFIED"
	JobStateQueued              JobState = "STATE_QUEUED"
	JobStateScheduled           JobState = "STATE_SCHEDULED"
	JobStateScheduledBackfilled JobState = "STATE_SCHEDULED_BACKFILLED"
)

type JobType string

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

type GetJobsV2Response struct {
	Jobs       []RBACJob  `json:"jobs"`
	Pagination Pagination `json:"pagination"`
}

// Records returns the records of the page.
func (r GetJobsV2Response) Records() ([]RBACJob, Pagination) { return r.Jobs, r.Pagination }

// GetJobsResponse is a message of the wire.
type GetJobsResponse struct {
	Jobs       []Job      `json:"jobs"`
	Pagination Pagination `json:"pagination"`
}

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
	WaitingReason  string      `json:"waitingReason"`  // why it waits, in a sentence; not in Determined
	EstimatedStart *time.Time  `json:"estimatedStart"` // when it may start, if it waits and that can be said; not in Determined
	StartUnknown   string      `json:"startUnknown"`   // else why not, as the end of a sentence; not in Determined
}

type JobSummary struct {
	JobsAhead int      `json:"jobsAhead"`
	State     JobState `json:"state"`
}

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

type RBACJob struct {
	Full    *Job        `json:"full,omitempty"`
	Limited *LimitedJob `json:"limited,omitempty"`
}

// QueueControl changes one job. A pointer that is nil changes nothing.
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

// JobStatsResponse counts jobs by pool.
type JobStatsResponse struct {
	Results []JobStatsOfPool `json:"results"`
}

type JobStatsOfPool struct {
	ResourcePool string                `json:"resourcePool"`
	Stats        QueueStats            `json:"stats"`
	Aggregates   []AggregateQueueStats `json:"aggregates"`
}

// AggregateQueueStats is how long requests waited on average that left a queue on a day.
type AggregateQueueStats struct {
	PeriodStart string  `json:"periodStart"`
	Seconds     float64 `json:"seconds"`
}
