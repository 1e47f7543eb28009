package lifecycle

// SearchStatus is what a search concludes of itself.
type SearchStatus string

// The states of a search.
const (
	Searching    SearchStatus = ""
	SearchDone   SearchStatus = "done"
	SearchFailed SearchStatus = "failed"   // every trial failed
	SearchCancel SearchStatus = "canceled" // every trial was canceled
	SearchBroken SearchStatus = "broken"   // the search itself cannot go on
)

// An Experiment as its decisions need it.
type Experiment struct {
	State     State
	Desired   Desired
	Search    SearchStatus
	Why       string // of SearchFailed and SearchBroken
	Live      int    // trials that are not terminal
	Unmanaged bool   // its trials run elsewhere: no search drives it
	Files     Files  // what has become of its files, of one that is deleted
	Again     bool   // its deletion failed, and was asked for once more
}

// Files says how far the removal of an experiment's files is.
type Files string

// How far it may be. Rows go only when the files have: they say where files lie.
const (
	FilesThere Files = ""      // somebody is at it, or will be
	FilesGone  Files = "gone"  // none is left
	FilesStuck Files = "stuck" // they could not be removed, and Why says why
)

// An ExperimentStep is what should change. The zero step changes nothing.
type ExperimentStep struct {
	State  State // "" leaves it
	Error  string
	Remove bool // delete its rows
}

// Step moves an experiment towards what is desired and what its search says.
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

// deleting: the files go first, then the rows. What failed stays as it is until
// somebody asks again.
func (e Experiment) deleting() ExperimentStep {
	switch {
	case e.State == Deleting && e.Files == FilesGone:
		return ExperimentStep{Remove: true}
	case e.State == Deleting && e.Files == FilesStuck:
		return ExperimentStep{State: DeleteFailed, Error: e.Why}
	case e.Desired == WantDeleted && (e.State.Terminal() || e.State == DeleteFailed && e.Again):
		return ExperimentStep{State: Deleting}
	}
	return ExperimentStep{}
}

// to begins to stop, and is there at once when nothing runs.
func (e Experiment) to(s State, why string) ExperimentStep {
	if e.Live == 0 {
		s = s.end()
	}
	return ExperimentStep{State: s, Error: why}
}

// stopping: a kill overrides a cancel; the end comes when nothing lives.
func (e Experiment) stopping() ExperimentStep {
	if e.Desired == WantKilled && e.State != StoppingKilled && e.State != StoppingError {
		return e.to(StoppingKilled, "")
	}
	if e.Live == 0 {
		return ExperimentStep{State: e.State.end(), Error: e.Why}
	}
	return ExperimentStep{}
}
