package control

import (
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
)

func TestExplanation(t *testing.T) {
	ended := rows.AllocationChange{ID: "1.t.3", Ended: true, Unstarted: true, Outcome: string(lifecycle.Failed), ExitReason: "no such image"}
	b, ok := explanation(ended)
	if !ok || b.TaskID != "1.t" || b.Origin.AllocationID != "1.t.3" || len(b.Lines) != 1 || b.Lines[0].Text != "attempt 3 did not start: no such image" {
		t.Errorf("an attempt that never started is explained by %+v", b)
	}
	full := ended
	full.Outcome, full.ExitReason = string(lifecycle.Unplaced), "it could not run on node n1: its disk is full"
	if b, ok := explanation(full); !ok || b.Lines[0].Text != "attempt 3 could not run on node n1: its disk is full" {
		t.Errorf("an attempt that ran until the disk was full is explained by %+v", b)
	}
	unhealthy := ended
	unhealthy.Unstarted, unhealthy.ExitReason, unhealthy.Unhealthy = false, "exit code 1", "GPU-2 of node n1 is out of use: it smells"
	if b, ok := explanation(unhealthy); !ok || b.Lines[0].Text != "attempt 3 failed (exit code 1) with an unhealthy device: GPU-2 of node n1 is out of use: it smells" {
		t.Errorf("an attempt that failed on an unhealthy device is explained by %+v", b)
	}
	final := unhealthy
	final.Unhealthy, final.Final = "", []string{"a", "b"}
	if b, ok := explanation(final); !ok || len(b.Lines) != 2 || b.Lines[0].Text != "a" || b.Lines[1].Text != "b" {
		t.Errorf("an attempt that is the last is explained by %+v", b)
	}
	for name, change := range map[string]func(*rows.AllocationChange){
		"one that runs":         func(a *rows.AllocationChange) { a.Ended = false },
		"one that had started":  func(a *rows.AllocationChange) { a.Unstarted = false },
		"one that was killed":   func(a *rows.AllocationChange) { a.Outcome = string(lifecycle.Killed) },
		"one without a reason":  func(a *rows.AllocationChange) { a.ExitReason = "" },
		"one that is completed": func(a *rows.AllocationChange) { a.Outcome = string(lifecycle.Completed) },
	} {
		a := ended
		change(&a)
		if b, ok := explanation(a); ok {
			t.Errorf("%s is explained by %+v", name, b)
		}
	}
}

// Nomad's reason follows in the line about an attempt that it did not place, and in no other.
func TestReasonsOfNomad(t *testing.T) {
	b := newBench(t, "n1")
	b.nomad.full = map[string]string{"1.t.3": "Nomad has no room for rank-0: cpu is exhausted", "1.t.4": "an older reason"}
	var lines []logs.Batch
	for id, why := range map[string]string{"1.t.3": lifecycle.NotPlaced + " n1 within 1m0s", "1.t.4": "its image was not fetched", "1.t.5": lifecycle.NotPlaced + " n2 within 1m0s"} {
		line, ok := explanation(rows.AllocationChange{ID: id, Ended: true, Unstarted: true, Outcome: string(lifecycle.Unplaced), ExitReason: why})
		if !ok {
			t.Fatalf("%s has no line", id)
		}
		lines = append(lines, line)
	}
	b.term.addReasons(t.Context(), lines)
	want := map[string]string{
		"1.t.3": "attempt 3 did not start: Nomad did not place it on node n1 within 1m0s: Nomad has no room for rank-0: cpu is exhausted",
		"1.t.4": "attempt 4 did not start: its image was not fetched",
		"1.t.5": "attempt 5 did not start: Nomad did not place it on node n2 within 1m0s",
	}
	for _, line := range lines {
		if id := line.Origin.AllocationID; line.Lines[0].Text != want[id] {
			t.Errorf("the line about %s is %q, want %q", id, line.Lines[0].Text, want[id])
		}
	}
}
