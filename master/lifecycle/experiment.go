package lifecycle

// SearchStatus is the status of an experiment's search.
type SearchStatus string

// The states of a search.
const (
	Searching    SearchStatus = ""
	SearchDone   SearchStatus = "done"
	SearchFailed SearchStatus = "failed"   // every trial failed
	SearchCancel SearchStatus = "canceled" // every trial was canceled
	SearchBroken SearchStatus = "broken"   // the search itself cannot continue
)

// An Experiment has what decides about its next step.
type Experiment struct {
	State     State
	Desired   Desired
	Search    SearchStatus
	Why       string // the reason of SearchFailed and SearchBroken
	Live      int    // trials that are not terminal
	Unmanaged bool   // its trials run outside of the cluster, and it has no search
	Files     Files  // the state of its files, if it is being deleted
	Again     bool   // its deletion failed, and a user requested it again
}

// Files is the state of the removal of an experiment's files.
type Files string

// The states. Rows are deleted only after the files, because they have the files' places.
const (
	FilesThere   Files = ""        // the removal runs or will run
	FilesRemoved Files = "removed" // all files are removed
	FilesStuck   Files = "stuck"   // files could not be removed; Why has the reason
)

// An ExperimentStep is the change of an experiment. The zero step changes nothing.
type ExperimentStep struct {
	State  State // the new state; "": unchanged
	Error  string
	Remove bool // delete its rows
}

// Step returns the next step of an experiment, from its owner's request and its search's status.
func (e Experiment) Step() ExperimentStep {
	if e.State == Deleting || e.State == DeleteFailed || e.State.Terminal() {
		return e.deleting()
	}
	if e.State.Stopping() {
		return e.stopping()
	}
	switch {
	case e.Desired == WantKilled:
		return e.to(StoppingKilled, "")
	case e.Desired == WantCanceled:
		return e.to(StoppingCanceled, "")
	case e.Unmanaged:
	case e.Search == SearchBroken:
		return e.to(StoppingError, e.Why)
	case e.Search == SearchFailed:
		return e.to(StoppingError, e.Why)
	case e.Search == SearchCancel:
		return e.to(StoppingCanceled, "")
	case e.Search == SearchDone:
		return e.to(StoppingCompleted, "")
	}
	want := Active
	if e.Desired == WantPaused {
		want = Paused
	}
	if want != e.State {
		return ExperimentStep{State: want}
	}
	return ExperimentStep{}
}

// deleting returns the step of an experiment that is being deleted: first its files are
// removed, then its rows. After a failure it waits until a user requests the deletion again.
func (e Experiment) deleting() ExperimentStep {
	switch {
	case e.State == Deleting && e.Files == FilesRemoved:
		return ExperimentStep{Remove: true}
	case e.State == Deleting && e.Files == FilesStuck:
		return ExperimentStep{State: DeleteFailed, Error: e.Why}
	case e.Desired == WantDeleted && (e.State.Terminal() || e.State == DeleteFailed && e.Again):
		return ExperimentStep{State: Deleting}
	}
	return ExperimentStep{}
}

// to returns the step to a stopping state, or to its end state if no trial is live.
func (e Experiment) to(s State, why string) ExperimentStep {
	if e.Live == 0 {
		s = s.end()
	}
	return ExperimentStep{State: s, Error: why}
}

// stopping returns the step of a stopping experiment: a kill overrides a cancel, and the
// experiment ends when no trial is live.
func (e Experiment) stopping() ExperimentStep {
	if e.Desired == WantKilled && e.State != StoppingKilled && e.State != StoppingError {
		return e.to(StoppingKilled, "")
	}
	if e.Live == 0 {
		return ExperimentStep{State: e.State.end(), Error: e.Why}
	}
	return ExperimentStep{}
}
