package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

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

// The values of ResourceAllocationAggregationPeriod.
const (
	ResourceAllocationAggregationPeriodUnspecified ResourceAllocationAggregationPeriod = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_UNSPECIFIED"
	ResourceAllocationAggregationPeriodDaily       ResourceAllocationAggregationPeriod = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	ResourceAllocationAggregationPeriodMonthly     ResourceAllocationAggregationPeriod = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"
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
