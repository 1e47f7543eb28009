package v1

// The endpoints of branches: experiments that share the past of another search up to one of its events.
var (
	ListSearchEvents = Endpoint[ListSearchEventsRequest, ListSearchEventsResponse]{Method: "GET", Path: "/detent/experiments/:id/search-events", Access: ByBoth, Object: KindExperiment, Verb: View, Slow: true,
		Summary: "List the events of a search, with what the search decided at each of them"}
	BranchExperiment = Endpoint[BranchExperimentRequest, BranchExperimentResponse]{Method: "POST", Path: "/detent/experiments/:id/branch", Access: ByUsers, Object: KindExperiment, Verb: View, Slow: true,
		Summary: "Create an experiment that goes on from an event of a search, with other settings"}
)

// ListSearchEventsResponse has the events of a search, in their order.
type ListSearchEventsResponse struct {
	Events []SearchEvent `json:"events"`
	Next   int64         `json:"next"` // `after` for the events that follow
	More   bool          `json:"more"`
}

// SearchEvent is an event of a search.
type SearchEvent struct {
	Number int64 `json:"number"` // from 1; 0 is the beginning of the search, before its first event
	// Kind is validated, exited, left (a trial that waits has left its slots), told (by a program), learned, spent, continued or branched; "" for the beginning.
	Kind      string   `json:"kind"`
	Trial     *int     `json:"trial"` // the number of the trial in its experiment, from 0; null if the event is about none
	What      string   `json:"what"`
	Decisions []string `json:"decisions"` // what the search decided at the event
	Trials    int      `json:"trials"`    // that the search has created by then
}

// BranchExperimentRequest is the body of POST /detent/experiments/{id}/branch.
type BranchExperimentRequest struct {
	At        string   `json:"at"`        // the event at which the branch begins: its number, "end", or "trial=N" for the event that created trial N
	Set       []string `json:"set"`       // changes of the configuration, each as path=value
	ProjectID *int     `json:"projectId"` // null: that of the experiment
	Activate  *bool    `json:"activate"`
}

// BranchExperimentResponse has the new experiment.
type BranchExperimentResponse struct {
	Experiment Experiment      `json:"experiment"`
	Event      int64           `json:"event"`     // of the origin, at which the branch begins
	Shared     int             `json:"shared"`    // trials of the common past that have ended
	Resumed    int             `json:"resumed"`   // trials of the common past that go on from a checkpoint
	Restarted  int             `json:"restarted"` // trials of the common past that train again from their beginning, because they have no checkpoint
	Warnings   []LaunchWarning `json:"warnings"`
	Remarks    []string        `json:"remarks"`
}
