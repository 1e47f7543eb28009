package task

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

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
		{Attempt{Row: Row{ID: "3.t.2", Run: 2, Type: "TRIAL", TrialID: 7, ExperimentID: 3}, Experiment: secretConfig(t)}, Claimed{NomadAllocID: "a1", NodeName: "n1", FormerRun: 1, FormerOutcome: "lost"},
			"Scheduling Trial 7 (Experiment 3) (id: 3.t.2)\nTrial 7 (Experiment 3) was assigned to an agent\nResources for Trial 7 (Experiment 3) have started\nattempt 2 begins; attempt 1 was lost\n" +
				"New trial runner in (container a1) on agent n1: CONFIG\nValidating checkpoint storage ..."},
	} {
		got := opening(&c.a, &c.m)
		if i := strings.Index(got, "{"); i >= 0 {
			end := strings.Index(got[i:], "\n")
			config := got[i : i+end]
			if !json.Valid([]byte(config)) || !strings.Contains(config, `"max_restarts":5`) || strings.Contains(config, "hunter2") {
				t.Errorf("the configuration in the log is %s", config)
			}
			got = strings.Replace(got, config, "CONFIG", 1)
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func secretConfig(t *testing.T) *expconf.Config {
	t.Helper()
	cfg, err := expconf.ParseConfigJSON([]byte(`{"name":"n","reproducibility":{"experiment_seed":1},"max_restarts":5,"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"key","secret_key":"hunter2"},"environment":{"environment_variables":{"cpu":["TOKEN=hunter2"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &cfg
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
