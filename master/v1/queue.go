package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

// The endpoints of the queue.
var (
	// Jobs.
	ListJobs = Endpoint[GetJobsRequest, GetJobsV2Response]{Method: "GET", Path: "/job-queues-v2", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the order of the queue"}
	ListOldJobs = Endpoint[GetJobsRequest, GetJobsResponse]{Method: "GET", Path: "/job-queues", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "List the jobs that run or wait, in the form for older clients"}
	CountJobs = Endpoint[GetJobQueueStatsRequest, JobStatsResponse]{Method: "GET", Path: "/job-queues/stats", Access: ByBoth, Object: KindJob, Verb: View, List: true,
		Summary: "Count the jobs that run and wait in each pool"}
	ChangeJobs = Endpoint[UpdateJobQueueRequest, Empty]{Method: "POST", Path: "/job-queues", Access: ByUsers, Object: KindJob, Verb: Change, NamedIn: Body,
		Summary: "Change the priority, weight, pool or queue position of jobs"}

	// Quotas, which Determined does not have.
	ListQuotas = Endpoint[GetQuotasRequest, GetQuotasResponse]{Method: "GET", Path: "/detent/quotas", Access: ByBoth, Object: KindQuota, Verb: View, List: true,
		Summary: "List quotas and how much of each is in use"}
	PutQuota = Endpoint[PutQuotaRequest, PutQuotaResponse]{Method: "PUT", Path: "/detent/quotas", Access: ByUsers, Object: KindQuota, Verb: Change, NamedIn: Body, Again: true,
		Summary: "Set a quota of a workspace, a project or a user"}
	DeleteQuota = Endpoint[None, Empty]{Method: "DELETE", Path: "/detent/quotas/:id", Access: ByUsers, Object: KindQuota, Verb: Change,
		Summary: "Delete a quota"}

	// The recording of the queue, which Determined does not have.
	GetQueueRecording = Endpoint[GetQueueRecordingRequest, QueueRecordingResponse]{Method: "GET", Path: "/detent/queue/recording", Access: ByAdmins, Object: KindCluster, Verb: Administer, Audit: AuditAlways,
		Summary: "List what the plans of the queue were asked and what they decided, a page at a time"}

	// Accounting.
	GetRawUsage = Endpoint[GetUsageRequest, ResourceAllocationRawResponse]{Method: "GET", Path: "/resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "List what attempts held within a time"}
	GetAggregatedUsage = Endpoint[GetAggregatedUsageRequest, ResourceAllocationAggregatedResponse]{Method: "GET", Path: "/resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true,
		Summary: "Add up the slot-seconds of days or months"}
	GetRawUsageCSV = Endpoint[GetUsageRequest, None]{Method: "GET", Path: "//resources/allocation/raw", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List what attempts held within a time, as CSV"}
	GetAggregatedUsageCSV = Endpoint[GetAggregatedUsageRequest, None]{Method: "GET", Path: "//resources/allocation/aggregated", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "Add up the slot-seconds of days or months, as CSV"}
	GetAllocationsCSV = Endpoint[GetUsageRequest, None]{Method: "GET", Path: "//resources/allocation/allocations-csv", Access: ByBoth, Object: KindAllocation, Verb: View, List: true, Stream: true,
		Summary: "List the attempts in a period with their slot hours, as CSV"}
	ListDiskUse = Endpoint[GetListRequest, GetDiskUseResponse]{Method: "GET", Path: "/detent/disk-use", Access: ByUsers, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List how much disk the workspaces that you may view use"}
)

// QueueRecordingResponse is a page of the recording, the oldest frame first: each is JSON of master/sched/record. Next is the value of after for the
// next page; null at the end.
type QueueRecordingResponse struct {
	Frames []Struct `json:"frames"`
	Next   *int     `json:"next"`
}

type JobState string

const (
	JobStateQueued    JobState = "STATE_QUEUED"
	JobStateScheduled JobState = "STATE_SCHEDULED"
)

type JobType string

const JobTypeExperiment JobType = "TYPE_EXPERIMENT"

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

	ExpectedEnd *ExpectedEnd `json:"expectedEnd"` // when the first of its running attempts is expected to end; null if nobody knows; not in Determined
}

// An ExpectedEnd is when an attempt is expected to end: nine in ten end between earliest and latest, half of them before likely. Of a task about which
// only the limit of its time is known, earliest is now, and latest the limit.
type ExpectedEnd struct {
	Earliest time.Time `json:"earliest"`
	Likely   time.Time `json:"likely"`
	Latest   time.Time `json:"latest"`
	Attempts int       `json:"attempts"` // running attempts of the job of which an end is known; this is the first of them
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

// A Quota bounds a workspace, a project, a user, or a user in a workspace. Determined has no such
// message.
type Quota struct {
	ID            int          `json:"id"`
	WorkspaceID   int          `json:"workspaceId"` // 0: of a user in all workspaces; of a project: its workspace
	WorkspaceName string       `json:"workspaceName"`
	ProjectID     int          `json:"projectId"` // 0: not of a project
	ProjectName   string       `json:"projectName"`
	UserID        int          `json:"userId"` // 0: not of a user
	Username      string       `json:"username"`
	ResourcePool  string       `json:"resourcePool"` // "": all pools
	Measure       QuotaMeasure `json:"measure"`
	Period        QuotaPeriod  `json:"period"`
	Soft          *int         `json:"soft"`
	Hard          *int         `json:"hard"`
	Used          float64      `json:"used"`         // slots, processors or GiB that are held now, or slot-hours of the current period
	PeriodStart   *time.Time   `json:"periodStart"`  // of slot-hours
	PeriodEnd     *time.Time   `json:"periodEnd"`    // of slot-hours; null without end
	MeasuredTime  *time.Time   `json:"measuredTime"` // when slot-hours were counted
}

// A QuotaMeasure is what a quota bounds.
type QuotaMeasure string

// The values of QuotaMeasure.
const (
	QuotaMeasureSlots     QuotaMeasure = "slots"      // held at the same time
	QuotaMeasureCPUs      QuotaMeasure = "cpus"       // processors, held at the same time
	QuotaMeasureMemory    QuotaMeasure = "memory"     // GiB, held at the same time
	QuotaMeasureSlotHours QuotaMeasure = "slot_hours" // used in a period
)

// A QuotaPeriod is the time in which slot-hours are counted. Days, weeks (from Monday) and months
// begin at midnight UTC.
type QuotaPeriod string

// The values of QuotaPeriod.
const (
	QuotaPeriodNone  QuotaPeriod = "" // of what is held
	QuotaPeriodDay   QuotaPeriod = "day"
	QuotaPeriodWeek  QuotaPeriod = "week"
	QuotaPeriodMonth QuotaPeriod = "month"
	QuotaPeriodTotal QuotaPeriod = "total" // since the quota was created
)

// PutQuotaRequest sets a quota in place of the one for the same workspace, project, user, pool,
// measure and period.
type PutQuotaRequest struct {
	WorkspaceID  int          `json:"workspaceId"`
	ProjectID    int          `json:"projectId"`
	UserID       int          `json:"userId"`
	ResourcePool string       `json:"resourcePool"`
	Measure      QuotaMeasure `json:"measure"` // "": slots
	Period       QuotaPeriod  `json:"period"`
	Soft         *int         `json:"soft"`
	Hard         *int         `json:"hard"`
}

// PutQuotaResponse is the answer of PutQuota.
type PutQuotaResponse struct {
	Quota Quota `json:"quota"`
}

// GetQuotasResponse is the answer of ListQuotas.
type GetQuotasResponse struct {
	Quotas     []Quota     `json:"quotas"`
	Pagination *Pagination `json:"pagination,null"`
}

// Records returns the records of the page.
func (r GetQuotasResponse) Records() ([]Quota, Pagination) {
	return r.Quotas, optional.Value(r.Pagination)
}

// ResourceAllocationRawEntry is what one attempt held.
type ResourceAllocationRawEntry struct {
	Kind         string         `json:"kind"` // type of its task, in small letters
	StartTime    *time.Time     `json:"startTime"`
	EndTime      *time.Time     `json:"endTime"`
	ExperimentID int            `json:"experimentId"`
	Username     string         `json:"username"`
	UserID       int            `json:"userId"`
	Labels       []string       `json:"labels"`
	Seconds      float64        `json:"seconds"` // within the requested time
	Slots        int            `json:"slots"`
	GPUModels    map[string]int `json:"gpuModels"` // slots by the model of their GPUs; not in Determined
}

type ResourceAllocationRawResponse struct {
	ResourceEntries []ResourceAllocationRawEntry `json:"resourceEntries"`
}

// ResourceAllocationAggregationPeriod is an enum of the wire.
type ResourceAllocationAggregationPeriod string

// The values that programs name.
const (
	ResourceAllocationAggregationPeriodDaily   ResourceAllocationAggregationPeriod = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	ResourceAllocationAggregationPeriodMonthly ResourceAllocationAggregationPeriod = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"
)

// ResourceAllocationAggregatedEntry has the slot-seconds of a day or a month.
type ResourceAllocationAggregatedEntry struct {
	PeriodStart       string                              `json:"periodStart"`
	Period            ResourceAllocationAggregationPeriod `json:"period"`
	Seconds           float64                             `json:"seconds"`
	ByUsername        map[string]float64                  `json:"byUsername"`
	ByExperimentLabel map[string]float64                  `json:"byExperimentLabel"`
	ByResourcePool    map[string]float64                  `json:"byResourcePool"`
	ByWorkspace       map[string]float64                  `json:"byWorkspace"`
	ByProject         map[string]float64                  `json:"byProject"`
	ByTaskType        map[string]float64                  `json:"byTaskType"`
	ByGPUModel        map[string]float64                  `json:"byGpuModel"`
}

type ResourceAllocationAggregatedResponse struct {
	ResourceEntries []ResourceAllocationAggregatedEntry `json:"resourceEntries"`
}

// DiskUse is how much disk the things of a workspace use.
type DiskUse struct {
	WorkspaceID     int    `json:"workspaceId"`
	Workspace       string `json:"workspace"`
	Checkpoints     int    `json:"checkpoints"`     // that have files
	CheckpointBytes int64  `json:"checkpointBytes"` // of their files, in their storage
	LogBytes        int64  `json:"logBytes"`        // of the lines that are not deleted, compressed, in the database
	CodeBytes       int64  `json:"codeBytes"`       // of the code of experiments and tasks, packed, in the database; the same code counts once
	MetricBytes     int64  `json:"metricBytes"`     // of the reports of trials and their summaries, in the database
}

// UserDiskUse is what a user stores in the database.
type UserDiskUse struct {
	UserID      int    `json:"userId"`
	Username    string `json:"username"`
	CodeBytes   int64  `json:"codeBytes"`
	LogBytes    int64  `json:"logBytes"`
	MetricBytes int64  `json:"metricBytes"`
	RecordBytes int64  `json:"recordBytes"` // of experiments, trials, tasks, checkpoints, models, templates, projects and workspaces, with their configurations and metadata
}

// GetDiskUseResponse has the workspaces by their names.
type GetDiskUseResponse struct {
	Pagination *Pagination   `json:"pagination"`
	Workspaces []DiskUse     `json:"workspaces"`
	Users      []UserDiskUse `json:"users"`     // the caller; for administrators of the cluster the 100 users who store the most
	UserLimit  int64         `json:"userLimit"` // bytes that one user may store before the master rejects what the user submits; 0: no limit
}

// Records returns the records of the page.
func (r GetDiskUseResponse) Records() ([]DiskUse, Pagination) {
	return r.Workspaces, optional.Value(r.Pagination)
}
