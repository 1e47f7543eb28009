package task

import "testing"

// Clients of Determined search logs for these words.
func TestTheFirstLinesOfALog(t *testing.T) {
	for _, c := range []struct {
		a    Attempt
		m    Claimed
		want string
	}{
		{Attempt{Row: Row{ID: "3.t.1", Run: 1, Type: "TRIAL", TrialID: 7, ExperimentID: 3}}, Claimed{},
			"Scheduling Trial 7 (Experiment 3) (id: 3.t.1)\nTrial 7 (Experiment 3) was assigned to an agent\nResources for Trial 7 (Experiment 3) have started"},
		{Attempt{Row: Row{ID: "c.2", Run: 2, Type: Command, Name: "Command (calm-fox)"}}, Claimed{FormerRun: 1, FormerOutcome: "lost"},
			"Scheduling Command (calm-fox) (id: c.2)\nCommand (calm-fox) was assigned to an agent\nResources for Command (calm-fox) have started\nattempt 2 begins; attempt 1 was lost"},
		{Attempt{Row: Row{ID: "g.1", TaskID: "g", Run: 1, Type: Generic, Name: "mine"}}, Claimed{},
			"Scheduling Generic Task g (id: g.1)\nGeneric Task g was assigned to an agent\nResources for Generic Task g have started"},
		{Attempt{Row: Row{ID: "r.1", Run: 1, Type: Removal, ExperimentID: 4}}, Claimed{},
			"Scheduling Checkpoint GC (Experiment 4) (id: r.1)\nCheckpoint GC (Experiment 4) was assigned to an agent\nResources for Checkpoint GC (Experiment 4) have started"},
		{Attempt{Row: Row{ID: "c.2", Run: 2, Name: "x"}}, Claimed{Rank: 1, FormerRun: 1}, ""},
	} {
		if got := opening(&c.a, &c.m); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// PostgreSQL sorts keys by their length.
func TestHyperparametersAreSorted(t *testing.T) {
	const in, want = `{"b": {"zz": 1e3, "aaa": [{"y": 1, "x": "<&"}]}, "aa": 12345678901234567890}`, `{"aa":12345678901234567890,"b":{"aaa":[{"x":"<&","y":1}],"zz":1e3}}`
	if got, err := sorted([]byte(in)); err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if got, err := sorted(nil); err != nil || string(got) != "{}" {
		t.Errorf("none: %s, %v", got, err)
	}
}
