package v1

// The endpoints of searches for which a program of the user proposes the hyperparameters (sampler: program).
var (
	GetSearchNews = Endpoint[GetSearchNewsRequest, GetSearchNewsResponse]{Method: "GET", Path: "/detent/experiments/:id/search-news", Access: ByBoth, Object: KindExperiment, Verb: Change, Waits: true,
		Summary: "Wait until something has happened in a search, and get how many proposals it wants"}
	PostSearchProposals = Endpoint[PostSearchProposalsRequest, PostSearchProposalsResponse]{Method: "POST", Path: "/detent/experiments/:id/search-proposals", Access: ByBoth, Object: KindExperiment, Verb: Change, Again: true, BodyLimit: ReportBody,
		Summary: "Propose hyperparameters for the next trials of a search"}
)

// GetSearchNewsResponse has what happened in a search since the answer before.
type GetSearchNewsResponse struct {
	// Wanted is how many further trials would begin now if they were proposed; 0 while there are more news to read.
	Wanted int `json:"wanted"`
	// Room is how many proposals the search accepts now, and Waiting how many have no trial yet.
	Room    int `json:"room"`
	Waiting int `json:"waiting"`
	// Trials are the trials that the search has created, and Results what trials reported, in the order of time.
	Trials  []ProposedTrial `json:"trials"`
	Results []SearchResult  `json:"results"`
	Next    int64           `json:"next"`
	More    bool            `json:"more"` // there are more news already
	State   ExperimentState `json:"state"`
}

// ProposedTrial is a trial of a search whose hyperparameters a program proposes.
type ProposedTrial struct {
	Number int    `json:"number"` // from 0, in the order of creation
	Key    string `json:"key"`    // of its proposal; "" if it has values of start_with
	// HParams are the values of the hyperparameters that are not constant, by their names with dots between groups.
	HParams Struct `json:"hparams"`
}

// SearchResult is a validation of a trial, that the trial waits, or its end.
type SearchResult struct {
	Trial  int      `json:"trial"`
	Key    string   `json:"key"`
	Length float64  `json:"length"` // of its training when it reported, in the unit of the searcher
	Metric *float64 `json:"metric"` // searcher.metric; null if it is not a finite number, and where this is no validation
	// Waits: the trial waits at a rung without slots, until its next validation or its end.
	Waits bool `json:"waits"`
	// Ended is how the trial ended: completed, stopped (by the search), errored, canceled or invalid_hp. It is "" before the end.
	Ended string `json:"ended"`
}

// PostSearchProposalsRequest is the body of POST /detent/experiments/{id}/search-proposals. If one proposal is invalid, none is accepted.
type PostSearchProposalsRequest struct {
	Proposals []SearchProposal `json:"proposals"`
	// Last ends the search: it accepts no further proposals, and the experiment ends after the trials that it has.
	Last bool `json:"last"`
}

// SearchProposal has the hyperparameters of one trial.
type SearchProposal struct {
	// Key names the proposal. A proposal that the search has already is not added again.
	Key     string `json:"key"`
	HParams Struct `json:"hparams"`
}

// PostSearchProposalsResponse says what the search takes next.
type PostSearchProposalsResponse struct {
	Wanted  int `json:"wanted"`
	Room    int `json:"room"`
	Waiting int `json:"waiting"`
}
