package lifecycle

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// now is the time in every script; times in scripts are durations before it.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestAdvance runs the scripts of testdata/allocation: the columns of an attempt, and its next
// step. -rewrite rewrites the steps.
func TestAdvance(t *testing.T) {
	datadriven.RunTest(t, "testdata/allocation", func(t *testing.T, d *datadriven.TestData) string {
		a := Allocation{ID: "1.t.1", PreemptWait: time.Hour}
		for _, arg := range d.CmdArgs {
			set(t, &a, arg.Key, arg.Vals)
		}
		for line := range strings.SplitSeq(d.Input, "\n") {
			if line != "" {
				a.Members = append(a.Members, member(t, len(a.Members), line))
			}
		}
		return show(Advance(a, now, DefaultTiming()))
	})
}

func set(t *testing.T, a *Allocation, key string, vals []string) {
	switch key {
	case "state":
		a.State = AllocationState(vals[0])
	case "assigned":
		a.AssignedAt = ago(t, vals[0])
	case "tried":
		a.TriedAt = ago(t, vals[0])
	case "noroom":
		a.NoRoom = true
	case "submitted":
		a.SubmittedAt = ago(t, vals[0])
	case "preempt":
		a.PreemptAt = ago(t, vals[0])
	case "acked":
		a.AckedAt = ago(t, vals[0])
	case "kill":
		a.KillAt, a.KillReason = ago(t, vals[0]), "somebody said so"
	case "accepted": // the stop of its job, by Nomad
		a.StoppedAt = ago(t, vals[0])
	case "cause":
		a.Cause = Cause(vals[0])
	case "signal":
		a.BySignal, a.PreemptWait = true, 90*time.Second
	case "refused":
		a.RefusedWhy = "no such driver"
	default:
		t.Fatalf("unknown word %q", key)
	}
}

func member(t *testing.T, rank int, line string) Member {
	m := Member{Rank: rank, NodeID: fmt.Sprintf("id%d", rank), NodeName: fmt.Sprintf("n%d", rank)}
	for word := range strings.FieldsSeq(line) {
		key, val, _ := strings.Cut(word, "=")
		switch key {
		case "nomad":
			m.Nomad = val
		case "pulling":
			m.Pulling = true
		case "started":
			m.Started = true
		case "replaced":
			m.Replaced = true
		case "stopped":
			m.Stopped = true
		case "preempted":
			m.Preempted = val
		case "unfit":
			m.Unfit, m.ExitReason = true, "it sees other GPUs than it was given"
		case "daemon":
			m.Daemon = true
		case "over":
			m.NomadEndedAt = ago(t, val)
		case "claimed":
			m.ClaimedAt = ago(t, val)
		case "exited":
			m.ExitedAt = ago(t, val)
		case "code":
			code, err := strconv.Atoi(val)
			if err != nil {
				t.Fatal(err)
			}
			m.ExitCode = code
		case "-":
		default:
			t.Fatalf("unknown word %q", key)
		}
	}
	return m
}

func ago(t *testing.T, s string) time.Time {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return now.Add(-d)
}

func show(s Step) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.State != "" {
		add("→ %s", s.State)
	}
	if s.Outcome != "" {
		add("%s", s.Outcome)
	}
	if s.ExitCode != nil {
		add("code %d", *s.ExitCode)
	}
	if s.Unstarted {
		add("unstarted")
	}
	if s.Started {
		add("started")
	}
	if s.Cause != "" {
		add("%s", s.Cause)
	}
	if s.ExitReason != "" {
		add("because %q", s.ExitReason)
	}
	if s.Kill != "" {
		add("stop it: %q", s.Kill)
	}
	if !s.NotBefore.IsZero() {
		add("successor after %s", s.NotBefore.Sub(now))
	}
	if len(s.Avoid) > 0 {
		add("avoid %v", s.Avoid)
	}
	if len(parts) == 0 {
		return "nothing\n"
	}
	return strings.Join(parts, ", ") + "\n"
}

// TestStatesOnlyGoForward tests in many situations that no step leads to an earlier state, and
// that an ended attempt does not change.
func TestStatesOnlyGoForward(t *testing.T) {
	lines := []string{"-", "nomad=pending", "nomad=pending pulling", "nomad=running started", "nomad=running claimed=5s",
		"nomad=unknown claimed=5s", "nomad=lost claimed=5s", "nomad=gone", "nomad=running replaced claimed=9s",
		"nomad=complete over=1s claimed=5s", "nomad=failed over=60s claimed=90s", "nomad=failed over=60s",
		"nomad=running claimed=9s exited=1s", "nomad=complete claimed=9s exited=1s code=3"}
	orders := []func(*Allocation){func(*Allocation) {}, func(a *Allocation) { a.PreemptAt = now.Add(-time.Minute) },
		func(a *Allocation) { a.PreemptAt, a.AckedAt = now.Add(-time.Minute), now },
		func(a *Allocation) { a.KillAt, a.KillReason = now.Add(-time.Minute), "x" },
		func(a *Allocation) { a.KillAt, a.KillReason = now.Add(-time.Hour), "x" }}
	for _, state := range AllocationStates {
		for _, order := range orders {
			for _, x := range lines {
				for _, y := range lines {
					a := Allocation{State: state, SubmittedAt: now.Add(-2 * time.Minute), PreemptWait: time.Hour,
						Members: []Member{member(t, 0, x), member(t, 1, y)}}
					order(&a)
					s := Advance(a, now, DefaultTiming())
					if s.State != "" && rank(s.State) <= rank(state) && (s.State != state || state == Terminated) {
						t.Errorf("%s with %q and %q goes back to %s", state, x, y, s.State)
					}
					if state == Terminated && show(s) != "nothing\n" {
						t.Errorf("an ended attempt changed: %s", show(s))
					}
					if (s.State == Terminated) != (s.Outcome != "") {
						t.Errorf("%s with %q and %q: state %q with outcome %q", state, x, y, s.State, s.Outcome)
					}
					if s.Outcome == Completed && (a.Members[0].ExitCode != 0 || a.Members[1].ExitCode != 0 ||
						!a.Members[0].exited() || !a.Members[1].exited()) {
						t.Errorf("%q and %q completed without two reports of success", x, y)
					}
				}
			}
		}
	}
}
