package lifecycle

// AllocationState is where an attempt is.
type AllocationState string

// The states of an attempt.
const (
	Pending     AllocationState = "PENDING"     // in the queue
	Assigned    AllocationState = "ASSIGNED"    // has its nodes; submitted or about to be
	Pulling     AllocationState = "PULLING"     // an image or artifact is being fetched
	Starting    AllocationState = "STARTING"    // runners start and pass the gate
	Running     AllocationState = "RUNNING"     // every member passed the gate
	Terminating AllocationState = "TERMINATING" // asked to end, or some member ended
	Terminated  AllocationState = "TERMINATED"
)

// AllocationStates lists them in their order.
var AllocationStates = [...]AllocationState{Pending, Assigned, Pulling, Starting, Running, Terminating, Terminated}

// Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	Completed Outcome = "completed" // exit 0
	Preempted Outcome = "preempted" // exit 0 after it acknowledged a request to leave
	Failed    Outcome = "failed"    // the program, or what the user asked for, failed
	Killed    Outcome = "killed"    // ended by us because somebody asked
	Lost      Outcome = "lost"      // its node or its allocation went away: nobody's failure
	Refused   Outcome = "refused"   // Nomad will never take this job
	Unplaced  Outcome = "unplaced"  // Nomad did not place or start it in time: nobody's failure
)

// State is where a trial or an experiment is.
type State string

// The states of trials and experiments; the last two are experiments' only.
const (
	Active            State = "ACTIVE"
	Paused            State = "PAUSED"
	StoppingCompleted State = "STOPPING_COMPLETED"
	StoppingCanceled  State = "STOPPING_CANCELED"
	StoppingKilled    State = "STOPPING_KILLED"
	StoppingError     State = "STOPPING_ERROR"
	Done              State = "COMPLETED"
	Canceled          State = "CANCELED"
	Errored           State = "ERROR"
	Deleting          State = "DELETING"
	DeleteFailed      State = "DELETE_FAILED"
)

// States lists those that a trial can have.
var States = [...]State{Active, Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError, Done, Canceled, Errored}

// Terminal reports whether nothing will run any more.
func (s State) Terminal() bool { return s == Done || s == Canceled || s == Errored }

// Stopping reports whether it is on its way to a terminal state.
func (s State) Stopping() bool {
	switch s {
	case StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError:
		return true
	}
	return false
}

// end is the terminal state that a stopping state leads to.
func (s State) end() State {
	switch s {
	case StoppingCompleted:
		return Done
	case StoppingCanceled, StoppingKilled:
		return Canceled
	}
	return Errored
}

// Desired is what an experiment's owner wants of it.
type Desired string

// The desired states.
const (
	WantActive   Desired = "active"
	WantPaused   Desired = "paused"
	WantCanceled Desired = "canceled"
	WantKilled   Desired = "killed"
	WantDeleted  Desired = "deleted"
)
