package v1

// Messages about searches: previews, and the conversation with a program that
// drives one, which Determined had up to 0.37.

// PreviewHPSearchRequest: POST /preview-hp-search.
type PreviewHPSearchRequest struct {
	Config Struct `json:"config,omitempty"`
	Seed   *int   `json:"seed,omitempty"`
}

// PreviewHPSearchResponse answers it.
type PreviewHPSearchResponse struct {
	Summary *SearchSummary `json:"summary"`
}

// SearchSummary is what a search will do if all goes well.
type SearchSummary struct {
	Config Struct         `json:"config"`
	Trials []TrialSummary `json:"trials"`
}

// TrialSummary is a number of trials that train equally long.
type TrialSummary struct {
	Count int        `json:"count"`
	Unit  SearchUnit `json:"unit"`
}

// SearchUnit is how long they train; MaxLength where that is the whole length.
type SearchUnit struct {
	Name      *string `json:"name"`
	Value     *int    `json:"value"`
	MaxLength bool    `json:"maxLength"`
}

// GetSearcherEventsResponse: GET /experiments/{id}/searcher_events.
type GetSearcherEventsResponse struct {
	SearcherEvents []SearcherEvent `json:"searcherEvents"`
}

// SearcherEvent is something that the driving program answers with operations.
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

// InitialOperations asks for the first operations.
type InitialOperations struct {
	Placeholder *int `json:"placeholder,omitempty"`
}

// SearcherEventTrial is about a trial, by the program's own name for it.
type SearcherEventTrial struct {
	RequestID string `json:"requestId"`
}

// SearcherEventValidation says that a trial has trained as long as it was told to.
type SearcherEventValidation struct {
	RequestID           string  `json:"requestId"`
	Metric              float64 `json:"metric"`
	ValidateAfterLength int64   `json:"validateAfterLength"`
}

// SearcherEventExit says that a trial ended before it was closed.
type SearcherEventExit struct {
	RequestID    string `json:"requestId"`
	ExitedReason string `json:"exitedReason"`
}

// SearcherEventProgress says how far a trial has trained.
type SearcherEventProgress struct {
	RequestID    string  `json:"requestId"`
	PartialUnits float64 `json:"partialUnits"`
}

// SearcherExperimentInactive says that the experiment has ended.
type SearcherExperimentInactive struct {
	ExperimentState ExperimentState `json:"experimentState"`
}

// PostSearcherOperationsRequest: POST /experiments/{id}/searcher_operations.
type PostSearcherOperationsRequest struct {
	ExperimentID       int               `json:"experimentId"`
	SearcherOperations []DriverOperation `json:"searcherOperations"`
	TriggeredByEvent   *SearcherEvent    `json:"triggeredByEvent,omitempty"`
}

// DriverOperation is one thing that the driving program wants.
type DriverOperation struct {
	TrialOperation      *SearcherOperation            `json:"trialOperation,omitempty"`
	CreateTrial         *CreateTrialOperation         `json:"createTrial,omitempty"`
	CloseTrial          *SearcherEventTrial           `json:"closeTrial,omitempty"`
	ShutDown            *ShutDownOperation            `json:"shutDown,omitempty"`
	SetSearcherProgress *SetSearcherProgressOperation `json:"setSearcherProgress,omitempty"`
}

// CreateTrialOperation makes a trial; its hyperparameters are JSON in a string.
type CreateTrialOperation struct {
	RequestID   string `json:"requestId"`
	Hyperparams string `json:"hyperparams"`
}

// ShutDownOperation ends the search.
type ShutDownOperation struct {
	Cancel  bool `json:"cancel"`
	Failure bool `json:"failure"`
}

// SetSearcherProgressOperation says how far the search is.
type SetSearcherProgressOperation struct {
	Progress float64 `json:"progress"`
}
