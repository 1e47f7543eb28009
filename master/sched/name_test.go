package sched

import "testing"

func TestNameOf(t *testing.T) {
	for want, of := range map[string][2]string{
		"experiment 12": {"experiment 12", "12.1"},
		"task 2eea30fc-26a5-4a8b-8f32-90f6a1a8b0a1":   {"2eea30fc-26a5-4a8b-8f32-90f6a1a8b0a1", "2eea30fc-26a5-4a8b-8f32-90f6a1a8b0a1.1"},
		"task 2eea30fc-26a5-4a8b-8f32-90f6a1a8b0a1.1": {"", "2eea30fc-26a5-4a8b-8f32-90f6a1a8b0a1.1"},
	} {
		if got := nameOf(of[0], of[1]); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
}
