package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/each"
)

// Timing has the time limits of an attempt's steps.
type Timing struct {
	Place     time.Duration // from submission until Nomad has placed every member
	Start     time.Duration // from placement until the runner's claim; pulling an image does not count
	Pull      time.Duration // for pulling an image
	Report    time.Duration // from the end of the Nomad allocation until the runner's report is no longer awaited
	Read      time.Duration // from the end of the Nomad allocation until leftovers are no longer awaited; 0: no master reads leftovers
	Kill      time.Duration // from the stop of the job until the attempt counts as ended although Nomad reports nothing
	StopAfter time.Duration // stop_on_client_after of our jobs: a node without a server stops them after this time
	Margin    time.Duration // added to StopAfter before the next attempt of a lost one may start
}

// DefaultTiming returns limits for a local cluster and for a data centre.
func DefaultTiming() Timing {
	return Timing{Place: time.Minute, Start: 2 * time.Minute, Pull: 30 * time.Minute, Report: 10 * time.Second,
		Kill: 5 * time.Minute, StopAfter: 2 * time.Minute, Margin: 10 * time.Second}
}

// Nomad's states of an allocation, as stored with a member.
const (
	NomadPending  = "pending"
	NomadRunning  = "running"
	NomadComplete = "complete"
	NomadFailed   = "failed"
	NomadLost     = "lost"
	NomadUnknown  = "unknown" // its client is disconnected, and may reconnect
	NomadGone     = "gone"    // Nomad no longer has the job (our word, not Nomad's)
)

// An Allocation has the columns of an attempt that decide about its next step.
type Allocation struct {
	ID          string
	State       AllocationState
	SubmittedAt time.Time // when Nomad accepted its job; zero: not yet
	AssignedAt  time.Time
	TriedAt     time.Time // when its first submission was tried; zero: not yet
	NoRoom      bool      // at the last try, Nomad could not place it on its nodes
	RefusedWhy  string    // why Nomad will never accept the job; else ""
	SubmitError string    // why the last submission failed
	PreemptAt   time.Time
	AckedAt     time.Time // the program acknowledged the preemption
	PreemptWait time.Duration
	BySignal    bool // its runners preempt its programs by a signal, and kill them after a grace
	KillAt      time.Time
	StoppedAt   time.Time // when Nomad accepted the stop of its job
	KillReason  string
	Cause       Cause // of the kill
	Members     []Member
}

// Cause is the cause of a kill; it decides the outcome of the attempt.
type Cause string

// The causes.
const (
	Asked   Cause = ""        // a user wants it, or the attempt did not exit after a preemption: outcome killed
	Overdue Cause = "overdue" // the attempt did not start in time: outcome unplaced
	Tidy    Cause = "tidy"    // a member has ended, which decides the outcome; the other members are stopped
)

// A Member is an attempt's part on one node.
type Member struct {
	Rank           int
	NodeID         string
	NodeName       string
	Nomad          string // Nomad's state; "" if Nomad has reported none yet
	NomadDetail    string
	NomadEndedAt   time.Time
	NomadExit      *int
	Pulling        bool
	Started        bool
	StartedAt      time.Time // when the master first saw it started; zero if unknown
	Replaced       bool
	ClaimedAt      time.Time
	Daemon         bool // does not count for completion
	ExitedAt       time.Time
	ExitCode       int
	ExitReason     string
	Stopped        bool      // it ended because Nomad stopped its runner
	Preempted      string    // how its program ended after the signal that preempted it; "": otherwise
	LeftoverReadAt time.Time // when the master had read its leftovers, or stopped trying
	Unfit          bool      // its runner reported that the node prevents its program: it lacks devices or space
}

func (m Member) claimed() bool { return !m.ClaimedAt.IsZero() }
func (m Member) exited() bool  { return !m.ExitedAt.IsZero() }

// Ends of a member's program after the signal that preempted it, as its runner reports them.
const (
	exitedAtSignal   = "exited" // within the grace
	killedAfterGrace = "killed"
)

// gaveWay reports whether the member's program exited because it was preempted by a signal.
func (m Member) gaveWay() bool { return m.exited() && m.Preempted == exitedAtSignal }

// over reports whether the member has ended, by its runner's report or in Nomad.
func (m Member) over() bool { return m.exited() || !m.NomadEndedAt.IsZero() }

// mayReport reports whether the member has ended in Nomad, and its exit may still be reported
// or read from its node.
func (m Member) mayReport(now time.Time, t Timing) bool {
	if m.exited() || m.NomadEndedAt.IsZero() {
		return false
	}
	since := now.Sub(m.NomadEndedAt)
	return since < t.Report || m.claimed() && m.LeftoverReadAt.IsZero() && since < t.Read
}

// A Step is the change of an attempt. The zero Step changes nothing.
type Step struct {
	State   AllocationState // the new state; "": unchanged
	Kill    string          // the reason to stop its job in Nomad; "": do not
	Cause   Cause           // with Kill
	Started bool            // the program may run from now on: set started_at
	// With State Terminated:
	Outcome    Outcome
	ExitCode   *int
	ExitReason string
	NotBefore  time.Time // earliest start of the next attempt
	Avoid      []string  // nodes that the next attempt should avoid
	Blame      string    // the node on which its program failed first
	Unstarted  bool      // no member started its program, or a node prevented it
	Final      bool      // another attempt would end in the same way
}

// Advance returns the next step of an attempt.
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
	if s, ok := stop(a, now, t); ok {
		return s
	}
	return progress(a, now, t)
}

func advancePending(a Allocation) Step {
	if a.KillAt.IsZero() && a.PreemptAt.IsZero() {
		return Step{} // the scheduler decides
	}
	return Step{State: Terminated, Outcome: Killed, ExitReason: cmp.Or(a.KillReason, "it was stopped before it started"), Unstarted: true}
}

// advanceUnsubmitted is the step of an attempt that is placed, and whose job Nomad has not
// accepted yet. A submission may be in flight, so a kill must also stop the job in Nomad;
// the loop does not submit an attempt that is to be killed.
func advanceUnsubmitted(a Allocation, now time.Time, t Timing) Step {
	if !a.KillAt.IsZero() || !a.PreemptAt.IsZero() {
		return Step{State: Terminated, Outcome: Killed, ExitReason: cmp.Or(a.KillReason, "it was stopped before it started"),
			Kill: cmp.Or(a.KillReason, "it is no longer wanted"), Unstarted: true}
	}
	// The time before the first try does not count, and the next attempt avoids the nodes only
	// if Nomad could not place the job on them.
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

// lost returns the step of an attempt with a member whose node or Nomad allocation was lost.
func lost(a Allocation, now time.Time, t Timing) (Step, bool) {
	for _, m := range a.Members {
		if m.exited() {
			continue // it has reported its exit, so the loss does not matter
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
			continue // its job was stopped and then removed by Nomad: not a loss, see ended
		}
		s := Step{State: Terminated, Outcome: Lost, ExitReason: why, Kill: why, Unstarted: !anyClaimed(a)}
		if !a.KillAt.IsZero() {
			s.Outcome, s.ExitReason = Killed, a.KillReason
		}
		switch {
		case anyClaimed(a):
			s.NotBefore = now.Add(t.StopAfter + t.Margin) // by then the node is known to be away, or it is back
		case m.Nomad != NomadGone:
			s.Avoid = []string{m.NodeID} // it may not be known everywhere yet that the node is away
		}
		return s, true
	}
	return Step{}, false
}

// ended returns the step of an attempt whose members, without daemons, have all ended.
func ended(a Allocation, now time.Time, t Timing) (Step, bool) {
	for _, m := range a.Members {
		if !m.exited() && !m.over() && (!m.Daemon || !countedOver(a)) && !killedSilent(a, now, t) && !a.neverRuns(m, now, t) {
			return Step{}, false
		}
		if m.claimed() && m.mayReport(now, t) {
			return Step{}, false
		}
	}
	return conclude(a), true
}

// killedSilent reports whether a job was stopped so long ago that the attempt counts as ended
// without a report of Nomad or a runner. If Nomad never placed the job, there will be no
// report, and if it places it later, the gate rejects the runner's claim. A node that was
// disconnected before the stop runs the program for StopAfter more; an earlier next attempt
// would run at the same time.
func killedSilent(a Allocation, now time.Time, t Timing) bool {
	if a.KillAt.IsZero() {
		return false
	}
	since := now.Sub(a.KillAt)
	return since > max(t.Kill, t.StopAfter+t.Margin) || since > t.Report && neverPlaced(a)
}

// neverRuns reports whether a member will never run its program: the attempt is killed, Nomad
// has accepted the stop of its job, and the member's runner has not claimed; the gate rejects
// its claim from now on. If the attempt is overdue, Nomad's report is awaited first, because it
// shows which node to avoid; for a member that Nomad has not placed, there will be none.
func (a Allocation) neverRuns(m Member, now time.Time, t Timing) bool {
	if a.KillAt.IsZero() || a.StoppedAt.IsZero() || m.claimed() {
		return false
	}
	return a.Cause != Overdue || m.Nomad == "" && !m.Started && now.Sub(a.StoppedAt) > t.Report
}

// unclaimed returns the nodes of the members whose runners have not claimed.
func unclaimed(a Allocation) (nodes []string) {
	for _, m := range a.Members {
		if !m.Daemon && !m.claimed() {
			nodes = append(nodes, m.NodeID)
		}
	}
	return nodes
}

// neverPlaced reports whether neither Nomad nor a runner has reported any member.
func neverPlaced(a Allocation) bool {
	return !slices.ContainsFunc(a.Members, func(m Member) bool { return m.Nomad != "" || m.Started || m.claimed() })
}

func allOver(a Allocation) bool {
	return !slices.ContainsFunc(a.Members, func(m Member) bool { return !m.over() })
}

func countedOver(a Allocation) bool {
	return !slices.ContainsFunc(a.Members, func(m Member) bool { return !m.Daemon && !m.over() })
}

// conclude returns the last step of an attempt whose members have ended, with its outcome.
func conclude(a Allocation) Step {
	s := Step{State: Terminated, Unstarted: !anyClaimed(a)}
	if !allOver(a) {
		s.Kill, s.Cause = "it is over", Tidy
	}
	bad, silent := firstFailure(a)
	zero := 0
	first := each.Find(a.Members, func(m *Member) bool { return !m.Daemon && m.gaveWay() })
	if chief := failedChief(a); chief != nil && first != nil && afterPreemption(a, bad) {
		bad, first = chief, nil // the chief stores the checkpoint, so no other member can make up for it
	}
	switch {
	case first != nil && (bad == nil || afterPreemption(a, bad)):
		s.Outcome, s.ExitCode, s.ExitReason = Preempted, &first.ExitCode, cmp.Or(first.ExitReason, "it was preempted by a signal")
		if bad != nil {
			s.ExitReason += "; after it, rank " + strconv.Itoa(bad.Rank) + " failed: " + failureOf(bad)
		}
	case bad == nil && a.AckedAt.IsZero() && endedByUs(a):
		s.Outcome, s.ExitCode, s.ExitReason = Killed, &zero, a.KillReason
	case bad == nil && a.AckedAt.IsZero() && a.KillAt.IsZero() && stoppedMember(a) != nil:
		m := stoppedMember(a)
		s.Outcome, s.ExitReason = Lost, fmt.Sprintf("Nomad stopped it on node %s: %s", m.NodeName, cmp.Or(m.NomadDetail, "its job was stopped, or its node was drained"))
	case bad == nil && a.PreemptAt.IsZero(), bad == nil && a.AckedAt.IsZero():
		s.Outcome, s.ExitCode = Completed, &zero
	case bad == nil:
		s.Outcome, s.ExitCode, s.ExitReason = Preempted, &zero, "it was preempted after a checkpoint"
	case a.Cause == Overdue && !bad.claimed():
		s.Outcome, s.ExitReason, s.Avoid, s.Unstarted = Unplaced, a.KillReason, []string{bad.NodeID}, true
	case a.Cause == Overdue && !allClaimed(a) && !failedBeforeKill(a, bad): // stopped while it waited for the others
		s.Outcome, s.ExitReason, s.Avoid, s.Unstarted = Unplaced, a.KillReason, unclaimed(a), true
	case !a.KillAt.IsZero() && a.Cause == Asked && !failedBeforeKill(a, bad):
		s.Outcome, s.ExitReason = Killed, a.KillReason
		if bad.exited() {
			s.ExitCode = &bad.ExitCode
		}
	case bad.exited() && bad.Preempted == killedAfterGrace:
		s.Outcome, s.ExitCode, s.ExitReason = Killed, &bad.ExitCode, bad.ExitReason
	case bad.Unfit:
		s.Outcome, s.Avoid, s.Unstarted = Unplaced, []string{bad.NodeID}, true
		s.ExitReason = fmt.Sprintf("it could not run on node %s: %s", bad.NodeName, bad.ExitReason)
	case bad.Stopped && a.Cause == Asked:
		s.Outcome, s.ExitReason = Lost, fmt.Sprintf("Nomad stopped it on node %s: %s", bad.NodeName, cmp.Or(bad.NomadDetail, "its job was stopped, or its node was drained"))
	case silent && !bad.claimed() && hopelessImage(bad.NomadDetail):
		s.Outcome, s.Final = Failed, true
		s.ExitReason = fmt.Sprintf("it did not start on node %s, and would not on another: %s", bad.NodeName, withHint(bad.NomadDetail))
	case silent && !bad.claimed():
		s.Outcome, s.Avoid = Unplaced, []string{bad.NodeID}
		s.ExitReason = fmt.Sprintf("it did not start on node %s: %s", bad.NodeName, withHint(cmp.Or(bad.NomadDetail, "Nomad gave no reason")))
	case silent:
		s.Outcome, s.ExitCode, s.Blame = Failed, bad.NomadExit, bad.NodeID
		s.ExitReason = fmt.Sprintf("its runner on node %s ended without a report: %s", bad.NodeName, cmp.Or(bad.NomadDetail, "it may have been killed because memory ran out"))
	default:
		s.Outcome, s.ExitCode, s.Blame = Failed, &bad.ExitCode, bad.NodeID
		s.ExitReason = failureOf(bad)
		if len(a.Members) > 1 {
			s.ExitReason = fmt.Sprintf("rank %d on node %s: %s", bad.Rank, bad.NodeName, s.ExitReason)
		}
	}
	return s
}

// endedByUs reports whether a program without a failure ended because it was killed: a program may exit with code 0
// at SIGTERM without having finished its work. If the program was asked to pause before, this holds only if Nomad
// stopped it.
func endedByUs(a Allocation) bool {
	if a.KillAt.IsZero() || a.Cause != Asked {
		return false
	}
	return slices.ContainsFunc(a.Members, func(m Member) bool {
		return !m.Daemon && m.exited() && !m.ExitedAt.Before(a.KillAt) && (m.Stopped || a.PreemptAt.IsZero())
	})
}

// stoppedMember returns the first member that Nomad stopped, and that exited with code 0; nil if none.
func stoppedMember(a Allocation) *Member {
	return each.Find(a.Members, func(m *Member) bool { return !m.Daemon && m.exited() && m.Stopped })
}

// firstFailure finds the member that failed first: by its report, or in Nomad if it has not
// reported. Daemons do not count. A program that was killed after its grace has failed whatever its exit code is.
func firstFailure(a Allocation) (bad *Member, silent bool) {
	var first time.Time
	for i := range a.Members {
		m := &a.Members[i]
		if m.Daemon || m.exited() && (m.ExitCode == 0 && m.Preempted != killedAfterGrace || m.gaveWay()) {
			continue
		}
		when := m.ExitedAt
		if !m.exited() {
			when = m.NomadEndedAt // zero if there is no report: then the member counts as the last
		}
		if bad == nil || !when.IsZero() && (first.IsZero() || when.Before(first)) {
			bad, first = m, when
		}
	}
	return bad, bad != nil && !bad.exited()
}

// afterPreemption reports whether the program of a member failed after its attempt was preempted by a signal. If a program
// of another member gave way, the failure is a result of that: it lost its peer.
func afterPreemption(a Allocation, bad *Member) bool {
	return a.BySignal && !a.PreemptAt.IsZero() && bad.exited() && !bad.Stopped && !bad.Unfit && bad.ExitedAt.After(a.PreemptAt) && bad.Preempted != killedAfterGrace
}

// failedChief returns the member of rank 0 if its program failed; else nil.
func failedChief(a Allocation) *Member {
	return each.Find(a.Members, func(m *Member) bool {
		return m.Rank == 0 && !m.Daemon && m.exited() && m.ExitCode != 0 && !m.gaveWay()
	})
}

// failureOf is why a member failed, as its runner reported it.
func failureOf(m *Member) string {
	return cmp.Or(m.ExitReason, fmt.Sprintf("exit code %d", m.ExitCode))
}

// failedBeforeKill reports whether the member had failed before the kill.
func failedBeforeKill(a Allocation, bad *Member) bool {
	return bad.exited() && bad.ExitedAt.Before(a.KillAt)
}

// progress returns the step of an attempt that starts or runs.
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

// stage returns the state of the slowest member.
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

// NotPlaced is the beginning of the reason for an attempt that Nomad accepted and did not place.
const NotPlaced = "Nomad did not place it on node"

// overdue returns which step exceeded its time limit; "" if none.
func overdue(a Allocation, now time.Time, t Timing) string {
	since := now.Sub(a.SubmittedAt)
	for _, m := range a.Members {
		switch {
		case m.claimed():
		case m.Nomad == "" && since > t.Place:
			return fmt.Sprintf("%s %s within %s", NotPlaced, m.NodeName, t.Place)
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
	return len(a.Members) > 0 && !slices.ContainsFunc(a.Members, func(m Member) bool { return !m.claimed() })
}

func anyClaimed(a Allocation) bool {
	return slices.ContainsFunc(a.Members, Member.claimed)
}
