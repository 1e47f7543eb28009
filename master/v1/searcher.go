package v1

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
