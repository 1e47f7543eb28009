package v1

import "time"

// Messages about searches: previews, and custom searches, which Determined had up to 0.37.

// PreviewHPSearchRequest is the body of POST /preview-hp-search.
type PreviewHPSearchRequest struct {
	Config Struct `json:"config,omitempty"`
	Seed   *int   `json:"seed,omitempty"`
}

// PreviewHPSearchResponse is the response.
type PreviewHPSearchResponse struct {
	Summary *SearchSummary `json:"summary"`
}

// SearchSummary lists the trials of a search if no trial fails or is stopped.
type SearchSummary struct {
	Config Struct         `json:"config"` // of the searcher
	Trials []TrialSummary `json:"trials"`
}

// TrialSummary is a number of trials with the same length of training.
type TrialSummary struct {
	Count int        `json:"count"`
	Unit  SearchUnit `json:"unit"`
}

// SearchUnit is the length of training; MaxLength: the whole length.
type SearchUnit struct {
	Name      *string `json:"name"`
	Value     *int    `json:"value"`
	MaxLength bool    `json:"maxLength"`
}

// GetSearcherEventsResponse is the response of GET /experiments/{id}/searcher_events.
type GetSearcherEventsResponse struct {
	SearcherEvents []SearcherEvent `json:"searcherEvents"`
}

// SearcherEvent is an event that the custom search's program answers with operations.
type SearcherEvent struct {
	ID                  int                         `json:"id"`
	InitialOperations   *InitialOperations          `json:"initialOperations,omitempty"`
	TrialCreated        *SearcherEventTrial         `json:"trialCreated,omitempty"`
	ValidationCompleted *SearcherEventValidation    `json:"validationCompleted,omitempty"`
	TrialClosed         *SearcherEventTrial         `json:"trialClosed,omitempty"`
	TrialExitedEarly    *SearcherEventExit          `json:"trialExitedEarly,omitempty"`
	TrialProgress       *SearcherEventProgress      `json:"trialProgress,omitempty"`
	ExperimentInactive  *SearcherExperimentInactive `json:"experimentInactive,omitempty"`
}

// InitialOperations requests the first operations.
type InitialOperations struct {
	Placeholder *int `json:"placeholder,omitempty"`
}

// SearcherEventTrial is an event of a trial, with the request id that the program chose.
type SearcherEventTrial struct {
	RequestID string `json:"requestId"`
}

// SearcherEventValidation reports that a trial has trained to the requested length.
type SearcherEventValidation struct {
	RequestID           string  `json:"requestId"`
	Metric              float64 `json:"metric"`
	ValidateAfterLength int64   `json:"validateAfterLength"`
}

// SearcherEventExit reports that a trial ended before the program closed it.
type SearcherEventExit struct {
	RequestID    string `json:"requestId"`
	ExitedReason string `json:"exitedReason"`
}

// SearcherEventProgress reports the progress of a trial.
type SearcherEventProgress struct {
	RequestID    string  `json:"requestId"`
	PartialUnits float64 `json:"partialUnits"`
}

// SearcherExperimentInactive reports that the experiment has ended.
type SearcherExperimentInactive struct {
	ExperimentState ExperimentState `json:"experimentState"`
}

// PostSearcherOperationsRequest is the body of POST /experiments/{id}/searcher_operations.
type PostSearcherOperationsRequest struct {
	ExperimentID       int               `json:"experimentId"`
	SearcherOperations []DriverOperation `json:"searcherOperations"`
	TriggeredByEvent   *SearcherEvent    `json:"triggeredByEvent,omitempty"`
}

// DriverOperation is one operation of a custom search.
type DriverOperation struct {
	TrialOperation      *SearcherOperation            `json:"trialOperation,omitempty"`
	CreateTrial         *CreateTrialOperation         `json:"createTrial,omitempty"`
	CloseTrial          *SearcherEventTrial           `json:"closeTrial,omitempty"`
	ShutDown            *ShutDownOperation            `json:"shutDown,omitempty"`
	SetSearcherProgress *SetSearcherProgressOperation `json:"setSearcherProgress,omitempty"`
}

// CreateTrialOperation creates a trial; its hyperparameters are JSON in a string.
type CreateTrialOperation struct {
	RequestID   string `json:"requestId"`
	Hyperparams string `json:"hyperparams"`
}

// ShutDownOperation ends the search.
type ShutDownOperation struct {
	Cancel  bool `json:"cancel"`
	Failure bool `json:"failure"`
}

// SetSearcherProgressOperation sets the progress of the search.
type SetSearcherProgressOperation struct {
	Progress float64 `json:"progress"`
}

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
