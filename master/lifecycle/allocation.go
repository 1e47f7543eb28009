package lifecycle

import (
	"cmp"
	"fmt"
	"time"
)

// Timing bounds how long an attempt may take over what.
type Timing struct {
	Place     time.Duration // from submission until Nomad has placed every member
	Start     time.Duration // from placement until a runner passes the gate; pulling does not count
	Pull      time.Duration // how long an image may pull
	Report    time.Duration // from Nomad's word that it is over until the runner's report is given up
	Read      time.Duration // from Nomad's word until what it has left on its node is given up; 0 where nobody reads that
	Kill      time.Duration // from the order to stop until Nomad's silence is taken for an end
	StopAfter time.Duration // stop_on_client_after of our jobs
	Margin    time.Duration // on top of StopAfter, before a lost attempt may have a successor
}

// DefaultTiming suits a local cluster and a data centre alike.
func DefaultTiming() Timing {
	return Timing{Place: time.Minute, Start: 2 * time.Minute, Pull: 30 * time.Minute, Report: 10 * time.Second,
		Kill: 5 * time.Minute, StopAfter: 2 * time.Minute, Margin: 10 * time.Second}
}

// Nomad's words for an allocation, as kept on a member.
const (
	NomadPending  = "pending"
	NomadRunning  = "running"
	NomadComplete = "complete"
	NomadFailed   = "failed"
	NomadLost     = "lost"
	NomadUnknown  = "unknown" // its client is disconnected; it may come back
	NomadGone     = "gone"    // nothing of that name any more
)

// An Allocation is one attempt as rows show it.
type Allocation struct {
	ID          string
	State       AllocationState
	SubmittedAt time.Time // zero: not yet
	AssignedAt  time.Time
	TriedAt     time.Time // when it was first tried to submit it; zero: not yet
	NoRoom      bool      // Nomad found no room for it on its nodes at the last try
	RefusedWhy  string    // Nomad's final refusal of the job; "" when there is none
	SubmitError string    // why the last try to hand it to Nomad failed
	PreemptAt   time.Time
	AckedAt     time.Time // the program acknowledged the preemption
	PreemptWait time.Duration
	KillAt      time.Time
	StoppedAt   time.Time // when Nomad took the order to stop its job
	KillReason  string
	Cause       Cause // of the kill
	Members     []Member
}

// Cause says what lies behind an order to kill, because it decides how the end
// is called.
type Cause string

// The causes.
const (
	Asked   Cause = ""        // somebody wants it, or it did not make way: killed
	Overdue Cause = "overdue" // it did not get going in time: unplaced
	Tidy    Cause = "tidy"    // its end is decided by what its members did; the rest is cleared away
)

// A Member is an attempt's part on one node.
type Member struct {
	Rank         int
	NodeID       string
	NodeName     string
	Nomad        string // Nomad's word; "" when it has none yet
	NomadDetail  string
	NomadEndedAt time.Time
	NomadExit    *int
	Pulling      bool
	Started      bool
	StartedAt    time.Time // when it was first seen started; zero when that is not known
	Replaced     bool
	ClaimedAt    time.Time
	Daemon       bool // does not count for completion
	ExitedAt     time.Time
	ExitCode     int
	ExitReason   string
	Stopped      bool      // it ended because Nomad ended its runner
	LeftReadAt   time.Time // when the master had read what it left on its node, or had given that up
	Unfit        bool      // its node was not fit to start the program, by its runner's word
}

func (m Member) claimed() bool { return !m.ClaimedAt.IsZero() }
func (m Member) exited() bool  { return !m.ExitedAt.IsZero() }

// over reports whether nothing of the member runs any more as far as we know.
func (m Member) over() bool { return m.exited() || !m.NomadEndedAt.IsZero() }

// mayReport: Nomad calls it over, and its exit may still be reported, or is being read
// on its node.
func (m Member) mayReport(now time.Time, t Timing) bool {
	if m.exited() || m.NomadEndedAt.IsZero() {
		return false
	}
	since := now.Sub(m.NomadEndedAt)
	return since < t.Report || m.claimed() && m.LeftReadAt.IsZero() && since < t.Read
}

// A Step is what should change about an attempt. The zero Step changes nothing.
type Step struct {
	State   AllocationState // "" leaves it
	Kill    string          // order Nomad to stop it, for this reason
	Cause   Cause           // with Kill
	Started bool            // the program may run from now on: set started_at
	// With State Terminated:
	Outcome    Outcome
	ExitCode   *int
	ExitReason string
	NotBefore  time.Time // no successor earlier
	Avoid      []string  // nodes that a successor should not use
	Blame      string    // the node on which its program failed
	Unstarted  bool      // no member reached its program
	Final      bool      // another attempt would end alike
}

// Advance looks at an attempt and says what comes next.
func Advance(a Allocation, now time.Time, t Timing) Step {
	switch {
	case a.State == Terminated:
		return Step{}
	case a.State == Pending:
		return advancePending(a)
	case a.RefusedWhy != "":
		return Step{State: Terminated, Outcome: Refused, ExitReason: a.RefusedWhy, Unstarted: true}
	case a.SubmittedAt.IsZero():
		return advanceUnsubmitted(a, now, t)
	}
	if s, ok := lost(a, now, t); ok {
		return s
	}
	if s, ok := ended(a, now, t); ok {
		return s
	}
	if s, ok := wanted(a, now, t); ok {
		return s
	}
	return progress(a, now, t)
}

func advancePending(a Allocation) Step {
	if a.KillAt.IsZero() && a.PreemptAt.IsZero() {
		return Step{} // the scheduler's business
	}
	return Step{State: Terminated, Outcome: Killed, ExitReason: cmp.Or(a.KillReason, "it was stopped before it started"), Unstarted: true}
}

// advanceUnsubmitted: placed, but Nomad does not have it yet. A call may be in
// flight, so an order to kill goes through Nomad once it is there; act does not
// submit what is to be killed, and says so by RefusedWhy or SubmittedAt.
func advanceUnsubmitted(a Allocation, now time.Time, t Timing) Step {
	if !a.KillAt.IsZero() || !a.PreemptAt.IsZero() {
		return Step{State: Terminated, Outcome: Killed, ExitReason: cmp.Or(a.KillReason, "it was stopped before it started"),
			Kill: cmp.Or(a.KillReason, "it is no longer wanted"), Unstarted: true}
	}
	// What waits for its turn to be tried is nobody's failure, and that Nomad does not
	// take a job is its nodes' only if it says so.
	if !a.TriedAt.IsZero() && now.Sub(a.TriedAt) > t.Place {
		s := Step{State: Terminated, Outcome: Unplaced, Unstarted: true, Kill: "Nomad did not accept its job in time", Cause: Overdue,
			ExitReason: fmt.Sprintf("Nomad did not accept its job within %s: %s", t.Place, cmp.Or(a.SubmitError, "it gave no reason"))}
		for _, m := range a.Members {
			if a.NoRoom {
				s.Avoid = append(s.Avoid, m.NodeID)
			}
		}
		return s
	}
	return Step{}
}

// lost: a node or an allocation went away under a member.
func lost(a Allocation, now time.Time, t Timing) (Step, bool) {
	for _, m := range a.Members {
		if m.exited() {
			continue // it has told us its end; what Nomad loses now was over
		}
		var why string
		switch {
		case m.Replaced:
			why = fmt.Sprintf("Nomad lost it on node %s and made another allocation in its place", m.NodeName)
		case m.Nomad == NomadLost:
			why = fmt.Sprintf("node %s was lost", m.NodeName)
		case m.Nomad == NomadGone:
			why = "Nomad no longer knows its job"
		default:
			continue
		}
		if m.Nomad == NomadGone && !a.KillAt.IsZero() {
			continue // stopped and collected: an end like any other, see ended
		}
		s := Step{State: Terminated, Outcome: Lost, ExitReason: why, Kill: why, Unstarted: !anyClaimed(a)}
		if !a.KillAt.IsZero() {
			s.Outcome, s.ExitReason = Killed, a.KillReason
		}
		if anyClaimed(a) {
			s.NotBefore = now.Add(t.StopAfter + t.Margin)
		}
		return s, true
	}
	return Step{}, false
}

// ended: all members that count are over.
func ended(a Allocation, now time.Time, t Timing) (Step, bool) {
	for _, m := range a.Members {
		if !m.exited() && !m.over() && (!m.Daemon || !countedOver(a)) && !killedSilent(a, now, t) && !a.neverRuns(m) {
			return Step{}, false
		}
		if m.claimed() && m.mayReport(now, t) {
			return Step{}, false
		}
	}
	return conclude(a), true
}

// killedSilent: told to stop long ago, and no word from anybody since. Of one that
// Nomad never placed no word will come; should it place it yet, the gate refuses
// its runner. A node that lost Nomad before it was told to stop the program runs it
// for StopAfter: a successor that starts earlier would be a second one.
func killedSilent(a Allocation, now time.Time, t Timing) bool {
	if a.KillAt.IsZero() {
		return false
	}
	since := now.Sub(a.KillAt)
	return since > max(t.Kill, t.StopAfter+t.Margin) || since > t.Report && neverPlaced(a)
}

// neverRuns: somebody wants the attempt killed, Nomad stops its job, and the member
// has not passed the gate, which refuses it from now on. Its program does not start,
// however long Nomad takes to clear its allocation away. Of one that is overdue
// Nomad's word is waited for, because it tells which node to avoid.
func (a Allocation) neverRuns(m Member) bool {
	return !a.KillAt.IsZero() && a.Cause != Overdue && !a.StoppedAt.IsZero() && !m.claimed()
}

// neverPlaced: Nomad has not said a word of any member, nor has its runner.
func neverPlaced(a Allocation) bool {
	for _, m := range a.Members {
		if m.Nomad != "" || m.Started || m.claimed() {
			return false
		}
	}
	return true
}

func allOver(a Allocation) bool {
	for _, m := range a.Members {
		if !m.over() {
			return false
		}
	}
	return true
}

func countedOver(a Allocation) bool {
	for _, m := range a.Members {
		if !m.Daemon && !m.over() {
			return false
		}
	}
	return true
}

// conclude words the end of an attempt whose members are over.
func conclude(a Allocation) Step {
	s := Step{State: Terminated, Unstarted: !anyClaimed(a)}
	if !allOver(a) {
		s.Kill, s.Cause = "it is over", Tidy
	}
	bad, silent := firstFailure(a)
	switch {
	case bad == nil && a.PreemptAt.IsZero(), bad == nil && a.AckedAt.IsZero():
		zero := 0
		s.Outcome, s.ExitCode = Completed, &zero
	case bad == nil:
		zero := 0
		s.Outcome, s.ExitCode, s.ExitReason = Preempted, &zero, "it was preempted after a checkpoint"
	case a.Cause == Overdue && !bad.claimed():
		s.Outcome, s.ExitReason, s.Avoid = Unplaced, a.KillReason, []string{bad.NodeID}
	case !a.KillAt.IsZero() && a.Cause == Asked && !failedBeforeKill(a, bad):
		s.Outcome, s.ExitReason = Killed, a.KillReason
		if bad.exited() {
			s.ExitCode = &bad.ExitCode
		}
	case bad.Unfit:
		s.Outcome, s.Avoid, s.Unstarted = Unplaced, []string{bad.NodeID}, true
		s.ExitReason = fmt.Sprintf("it could not start on node %s: %s", bad.NodeName, bad.ExitReason)
	case bad.Stopped && a.Cause == Asked:
		s.Outcome, s.ExitReason = Lost, fmt.Sprintf("Nomad stopped it on node %s: %s", bad.NodeName, cmp.Or(bad.NomadDetail, "its job was stopped, or its node was drained"))
	case silent && !bad.claimed() && hopelessImage(bad.NomadDetail):
		s.Outcome, s.Final = Failed, true
		s.ExitReason = fmt.Sprintf("it did not start on node %s, and would not on another: %s", bad.NodeName, bad.NomadDetail)
	case silent && !bad.claimed():
		s.Outcome, s.Avoid = Unplaced, []string{bad.NodeID}
		s.ExitReason = fmt.Sprintf("it did not start on node %s: %s", bad.NodeName, cmp.Or(bad.NomadDetail, "Nomad gave no reason"))
	case silent:
		s.Outcome, s.ExitCode, s.Blame = Failed, bad.NomadExit, bad.NodeID
		s.ExitReason = fmt.Sprintf("its runner on node %s ended without a report: %s", bad.NodeName, cmp.Or(bad.NomadDetail, "it may have been killed because memory ran out"))
	default:
		s.Outcome, s.ExitCode, s.Blame = Failed, &bad.ExitCode, bad.NodeID
		s.ExitReason = cmp.Or(bad.ExitReason, fmt.Sprintf("exit code %d", bad.ExitCode))
		if len(a.Members) > 1 {
			s.ExitReason = fmt.Sprintf("rank %d on node %s: %s", bad.Rank, bad.NodeName, s.ExitReason)
		}
	}
	return s
}

// firstFailure finds the member that failed first: by its own report, or by
// Nomad's word about one that reported nothing. Daemons do not count.
func firstFailure(a Allocation) (bad *Member, silent bool) {
	var first time.Time
	for i := range a.Members {
		m := &a.Members[i]
		if m.Daemon || m.exited() && m.ExitCode == 0 {
			continue
		}
		when := m.ExitedAt
		if !m.exited() {
			when = m.NomadEndedAt // zero when nobody has said anything: that one fails last
		}
		if bad == nil || !when.IsZero() && (first.IsZero() || when.Before(first)) {
			bad, first = m, when
		}
	}
	return bad, bad != nil && !bad.exited()
}

// failedBeforeKill: it had failed when somebody wanted it killed.
func failedBeforeKill(a Allocation, bad *Member) bool {
	return bad.exited() && bad.ExitedAt.Before(a.KillAt)
}

// wanted: somebody wants it to end.
func wanted(a Allocation, now time.Time, t Timing) (Step, bool) {
	if !a.KillAt.IsZero() {
		if a.State != Terminating {
			return Step{State: Terminating}, true
		}
		return Step{}, true
	}
	if bad, silent := firstFailure(a); bad != nil && !silent {
		return tidy("rank %d failed with exit code %d", bad.Rank, bad.ExitCode), true
	}
	for _, m := range a.Members {
		if !m.exited() && !m.Daemon && !m.NomadEndedAt.IsZero() {
			if m.mayReport(now, t) {
				return Step{}, true
			}
			return tidy("rank %d ended without a report", m.Rank), true
		}
	}
	if a.PreemptAt.IsZero() {
		return Step{}, false
	}
	if !allClaimed(a) {
		return Step{State: Terminating, Kill: "it was preempted before it started"}, true
	}
	if now.Sub(a.PreemptAt) > a.PreemptWait {
		return Step{State: Terminating, Kill: fmt.Sprintf("it did not exit within %s of its preemption", a.PreemptWait)}, true
	}
	return Step{}, false
}

// tidy clears the rest of an attempt away whose end is decided.
func tidy(format string, args ...any) Step {
	return Step{State: Terminating, Kill: fmt.Sprintf(format, args...), Cause: Tidy}
}

// progress: on the way up.
func progress(a Allocation, now time.Time, t Timing) Step {
	next := stage(a)
	if rank(next) > rank(a.State) {
		return Step{State: next, Started: next == Running}
	}
	if a.State == Running || a.State == Terminating {
		return Step{}
	}
	if why := overdue(a, now, t); why != "" {
		return Step{State: Terminating, Kill: why, Cause: Overdue}
	}
	return Step{}
}

func rank(s AllocationState) int {
	for i, x := range AllocationStates {
		if x == s {
			return i
		}
	}
	return -1
}

// stage is how far the slowest member is.
func stage(a Allocation) AllocationState {
	if allClaimed(a) {
		return Running
	}
	s := Starting
	for _, m := range a.Members {
		switch {
		case m.claimed(), m.Started:
		case m.Pulling:
			return Pulling
		default:
			s = Assigned
		}
	}
	return s
}

// overdue says what took too long.
func overdue(a Allocation, now time.Time, t Timing) string {
	since := now.Sub(a.SubmittedAt)
	for _, m := range a.Members {
		switch {
		case m.claimed():
		case m.Nomad == "" && since > t.Place:
			return fmt.Sprintf("Nomad did not place it on node %s within %s", m.NodeName, t.Place)
		case m.Pulling && since > t.Pull:
			return fmt.Sprintf("its image or runner was not fetched on node %s within %s", m.NodeName, t.Pull)
		case m.Started && !m.StartedAt.IsZero():
			if now.Sub(m.StartedAt) > t.Start {
				return fmt.Sprintf("its runner on node %s did not report within %s", m.NodeName, t.Start)
			}
		case m.Nomad != "" && !m.Pulling && since > t.Place+t.Start:
			why := fmt.Sprintf("its runner on node %s did not report within %s", m.NodeName, t.Place+t.Start)
			if m.NomadDetail != "" {
				why += ": " + m.NomadDetail
			}
			return why
		}
	}
	return ""
}

func allClaimed(a Allocation) bool {
	for _, m := range a.Members {
		if !m.claimed() {
			return false
		}
	}
	return len(a.Members) > 0
}

func anyClaimed(a Allocation) bool {
	for _, m := range a.Members {
		if m.claimed() {
			return true
		}
	}
	return false
}
