package v1

import "time"

// GetSearchTrialsResponse has a part of the trials of a search, by id, for pages that draw a whole
// search. GET /api/v1/detent/experiments/{id}/search-trials
type GetSearchTrialsResponse struct {
	Trials []SearchTrial `json:"trials"`
	// Next is the id after which the next part begins; 0: there is no further trial.
	Next int `json:"next"`
	// Time is when the master read the trials. A request with changedSince returns the trials
	// that can have changed since then.
	Time time.Time `json:"time"`
}

// SearchTrial is a trial of a search with its curve of one metric.
type SearchTrial struct {
	ID       int        `json:"id"`
	State    TrialState `json:"state"`
	HParams  Struct     `json:"hparams"`
	EndTime  *time.Time `json:"endTime"`
	Restarts int        `json:"restarts"`
	// Batches is how far the trial has trained.
	Batches int `json:"batches"`
	// Stopped: the search has told the trial to end.
	Stopped bool `json:"stopped"`
	// Min, Max and Last are of the whole curve, and null if the trial has reported no number.
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	Last *float64 `json:"last"`
	// Steps and Values are the points of the curve, downsampled.
	Steps  []int     `json:"steps"`
	Values []float64 `json:"values"`
}

// ListAttemptsResponse has the attempts of an experiment's trials or of a task, the newest first.
type ListAttemptsResponse struct {
	Attempts   []Attempt  `json:"attempts"`
	Pagination Pagination `json:"pagination"`
}

// Attempt is one attempt of a task with its history: when it waited, where it ran, and why it ended.
type Attempt struct {
	AllocationID string     `json:"allocationId"`
	TaskID       string     `json:"taskId"`
	TrialID      int        `json:"trialId"` // 0: of no trial
	Run          int        `json:"run"`
	Pool         string     `json:"resourcePool"`
	Slots        int        `json:"slots"`
	State        TaskState  `json:"state"`
	Outcome      string     `json:"outcome"` // completed, preempted, failed, killed, lost, refused or unplaced; "" before the end
	QueuedTime   time.Time  `json:"queuedTime"`
	AssignedTime *time.Time `json:"assignedTime"`
	StartTime    *time.Time `json:"startTime"`
	EndTime      *time.Time `json:"endTime"`
	// PreemptTime is when the attempt was asked to save a checkpoint and exit, KillTime when the
	// master killed it.
	PreemptTime   *time.Time `json:"preemptTime"`
	PreemptReason string     `json:"preemptReason"`
	KillTime      *time.Time `json:"killTime"`
	KillReason    string     `json:"killReason"`
	ExitCode      *int       `json:"exitCode"`
	ExitReason    string     `json:"exitReason"`
	WaitingReason string     `json:"waitingReason"`
	// NomadJob is the id of its job in Nomad, and NomadURL the job's page in Nomad's UI; "" if
	// nomad.ui is not configured.
	NomadJob string          `json:"nomadJob"`
	NomadURL string          `json:"nomadUrl"`
	Members  []AttemptMember `json:"members"`
}

// AttemptMember is the part of an attempt on one node.
type AttemptMember struct {
	Rank            int        `json:"rank"`
	Node            string     `json:"node"`
	SlotIDs         []int      `json:"slotIds"`
	NomadAllocation string     `json:"nomadAllocation"`
	NomadURL        string     `json:"nomadUrl"` // of the allocation's page in Nomad's UI
	EndTime         *time.Time `json:"endTime"`
	ExitCode        *int       `json:"exitCode"`
	ExitReason      string     `json:"exitReason"`
}
