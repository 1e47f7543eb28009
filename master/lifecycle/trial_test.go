package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = func() *bool {
	if f := flag.Lookup("rewrite"); f != nil { // datadriven has defined it
		b := false
		return &b
	}
	return flag.Bool("rewrite", false, "write the goldens anew")
}()

// golden compares a table with its file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if f := flag.Lookup("rewrite"); *rewrite || f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; run the test with -rewrite and read the diff", path)
	}
}

// TestAfterExit compares the table of AfterExit, for all states of a trial and all ends of an
// attempt, with testdata.
func TestAfterExit(t *testing.T) {
	three := 3
	ends := []Step{{Outcome: Completed}, {Outcome: Preempted}, {Outcome: Failed, ExitCode: &three, ExitReason: "exit code 3"},
		{Outcome: Killed, ExitReason: "x"}, {Outcome: Lost, ExitReason: "node gone"}, {Outcome: Refused, ExitReason: "no driver"},
		{Outcome: Unplaced, ExitReason: "no room", Unstarted: true}}
	variants := []struct {
		name string
		with func(*Trial)
	}{
		{"", func(*Trial) {}},
		{"out of restarts", func(t *Trial) { t.Restarts = 5 }},
		{"search stopped it", func(t *Trial) { t.StopWanted = true }},
		{"killed by its owner", func(t *Trial) { t.KillWanted = true }},
		{"invalid hyperparameters", func(t *Trial) { t.EarlyExit = "INVALID_HP" }},
		{"asked to stop itself", func(t *Trial) { t.EarlyExit = "USER_REQUESTED_STOP" }},
		{"waits in its search", func(t *Trial) { t.Held = true }},
		{"cannot be judged", func(t *Trial) { t.Fail = "no metric" }},
		{"log policy", func(t *Trial) { t.NoRetry = "CUDA OOM" }},
		{"log policies leave no node", func(t *Trial) { t.NoNodes = "no other node" }},
		{"never starts", func(t *Trial) { t.Unstarted = 4 }},
		{"has run for its time", func(t *Trial) { t.Expired = "4h are over" }},
	}
	var b strings.Builder
	for _, state := range States {
		if state.Terminal() {
			continue
		}
		for _, v := range variants {
			for _, end := range ends {
				tr := Trial{State: state, MaxRestarts: 5, Restarts: 1}
				v.with(&tr)
				s := AfterExit(tr, end)
				fmt.Fprintf(&b, "%-18s %-24s %-10s → %-18s restarts %d", state, v.name, end.Outcome, s.State, s.Restarts)
				if s.Again {
					b.WriteString(" again")
				}
				if s.Exit != "" {
					fmt.Fprintf(&b, " search hears %s", s.Exit)
				}
				if s.Error != "" {
					fmt.Fprintf(&b, " (%s)", s.Error)
				}
				b.WriteByte('\n')
				if s.State.Terminal() != (s.Exit != "") || s.Again && s.State.Terminal() {
					t.Errorf("%s %s %s: %+v is at odds with itself", state, v.name, end.Outcome, s)
				}
			}
		}
	}
	golden(t, "testdata/after_exit.txt", b.String())
}

// TestFollow compares the table of Follow, for all states of a trial and of its experiment,
// with testdata.
func TestFollow(t *testing.T) {
	var b strings.Builder
	for _, e := range []State{Active, Paused, StoppingCompleted, StoppingCanceled, StoppingKilled, StoppingError} {
		for _, state := range States {
			for _, wanted := range []string{"", "stop", "kill", "invalid", "hold", "fail", "expired"} {
				tr := Trial{State: state, StopWanted: wanted == "stop", KillWanted: wanted == "kill", Held: wanted == "hold"}
				if wanted == "fail" {
					tr.Fail = "it has no metric"
				}
				if wanted == "expired" {
					tr.Expired = "4h are over"
				}
				if wanted == "invalid" {
					tr.EarlyExit = "INVALID_HP"
				}
				s, action, why := Follow(tr, e)
				fmt.Fprintf(&b, "experiment %-18s trial %-18s %-7s → %-18s %-7s %s\n", e, state, wanted, s, action, why)
				if state.Terminal() && s != state {
					t.Errorf("an ended trial moved from %s to %s", state, s)
				}
			}
		}
	}
	golden(t, "testdata/follow.txt", strings.ReplaceAll(b.String(), " \n", "\n"))
}

// TestExperimentStep compares the table of Experiment.Step, for all states, requests and
// statuses of a search, with testdata.
func TestExperimentStep(t *testing.T) {
	var b strings.Builder
	all := append(States[:], Deleting, DeleteFailed)
	for _, state := range all {
		for _, want := range []Desired{WantActive, WantPaused, WantCanceled, WantKilled, WantDeleted} {
			for _, search := range []SearchStatus{Searching, SearchDone, SearchFailed, SearchCancel, SearchBroken} {
				for _, live := range []int{0, 1} {
					e := Experiment{State: state, Desired: want, Search: search, Why: "why", Live: live}
					s := e.Step()
					fmt.Fprintf(&b, "%-18s wanted %-8s search %-8s live %d → %s", state, want, search, live, s.State)
					if s.Remove {
						b.WriteString("remove")
					}
					if s.Error != "" {
						fmt.Fprintf(&b, " (%s)", s.Error)
					}
					b.WriteByte('\n')
					if s.State.Terminal() && live > 0 {
						t.Errorf("%+v ended while a trial lives", e)
					}
					if state.Terminal() && s.State != "" && s.State != Deleting {
						t.Errorf("an ended experiment moved from %s to %s", state, s.State)
					}
				}
			}
		}
	}
	golden(t, "testdata/experiment.txt", b.String())
}

// TestDeletion compares the table of the deletion of experiments with testdata: files are
// removed before rows.
func TestDeletion(t *testing.T) {
	var b strings.Builder
	for _, state := range append(States[:], Deleting, DeleteFailed) {
		for _, want := range []Desired{WantActive, WantDeleted} {
			for _, files := range []Files{FilesThere, FilesRemoved, FilesStuck} {
				for _, again := range []bool{false, true} {
					e := Experiment{State: state, Desired: want, Files: files, Again: again, Why: "no access"}
					s := e.Step()
					if s.Remove != (state == Deleting && files == FilesRemoved) {
						t.Errorf("%+v: rows go %v", e, s.Remove)
					}
					if (s.State == Deleting || s.State == DeleteFailed || s.Remove) && !state.Terminal() && state != Deleting && state != DeleteFailed {
						t.Errorf("%+v is deleted while it may run", e)
					}
					if !state.Terminal() && state != Deleting && state != DeleteFailed {
						continue
					}
					fmt.Fprintf(&b, "%-13s wanted %-7s files %-5s again %-5v → %s", state, want, files, again, s.State)
					if s.Remove {
						b.WriteString("remove")
					}
					if s.Error != "" {
						fmt.Fprintf(&b, " (%s)", s.Error)
					}
					b.WriteByte('\n')
				}
			}
		}
	}
	golden(t, "testdata/deletion.txt", b.String())
}
