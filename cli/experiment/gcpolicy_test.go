package experiment

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/server/servertest"
)

// kept are checkpoints of two trials, of which the policy of the test deletes the later
// trial's first one, which was stored before all others, and the earlier trial's first two.
func kept(ctx context.Context, a *servertest.Attempt) int {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	store := func(steps, hour int) {
		a.Checkpoint(ctx, servertest.CheckpointOf(a.TrialID, steps), steps, noon.Add(time.Duration(hour)*time.Hour), map[string]string{"a": "1", "b": "22"})
	}
	if a.HParam("x") == 1 {
		a.Metrics(ctx, "validation", 10, map[string]float64{"loss": 3})
		a.Metrics(ctx, "validation", 40, map[string]float64{"loss": 0.1})
		for i := range 4 {
			store(10*(i+1), i+1)
		}
		return 0
	}
	a.Metrics(ctx, "validation", 10, map[string]float64{"loss": 0.25})
	for i := range 3 {
		store(10*(i+1), i)
	}
	return 0
}

const twoTrials = `
name: two
entrypoint: x
hyperparameters: {x: {type: categorical, vals: [1, 2]}}
searcher: {name: grid, metric: loss, max_length: {batches: 100}, max_concurrent_trials: 1}
checkpoint_storage: {type: shared_fs, host_path: %s, save_trial_latest: 100}
`

func setGCPolicy(t *testing.T, m *world) {
	t.Helper()
	a, _, _ := m.app(t)
	id := submitted(t, a, fmt.Sprintf(twoTrials, m.Storage), createOptions{})
	m.Ended(id)
	trial, err := lowestTrial(t.Context(), m.Client("determined"), id)
	if err != nil {
		t.Fatal(err)
	}
	const before, after = "0 1 100", "1 0 2"
	for _, c := range []struct {
		name, input string
		yes, fails  bool
		policy      string
	}{
		{"not after all", "n\n", false, true, before}, {"asked", "y\n", false, false, after}, {"not asked", "", true, false, after},
	} {
		t.Run(c.name, func(t *testing.T) {
			streams, out, _ := term.Buffers(c.input)
			err := runSetGCPolicy(t.Context(), appOf(t, m.Master, streams), m.Client("determined"), id, gcPolicyOptions{experimentBest: 1, trialLatest: 2, yes: c.yes})
			if (err != nil) != c.fails {
				t.Error(err)
			}
			var config struct {
				Storage struct {
					ExperimentBest int `json:"save_experiment_best"`
					TrialBest      int `json:"save_trial_best"`
					TrialLatest    int `json:"save_trial_latest"`
				} `json:"checkpoint_storage"`
			}
			if err := experiment(t, m, id).Config.Into(&config); err != nil {
				t.Fatal(err)
			}
			if s := config.Storage; fmt.Sprint(s.ExperimentBest, s.TrialBest, s.TrialLatest) != c.policy {
				t.Errorf("the policy is %+v, want %s", s, c.policy)
			}
			said := out.String()
			if !c.yes {
				first, later := strings.Index(said, servertest.CheckpointOf(trial, 10)), strings.Index(said, servertest.CheckpointOf(trial+1, 10))
				if first < 0 || later < first || strings.Contains(said, servertest.CheckpointOf(trial, 20)) ||
					!strings.Contains(said, "This policy will delete 2 checkpoints with validations and 1 checkpoints without validations.") {
					t.Errorf("det printed\n%s", said)
				}
			}
			if !c.fails && !strings.Contains(said, fmt.Sprintf("Set GC policy of experiment %d to\n{'save_experiment_best': 1, 'save_trial_best': 0, 'save_trial_latest': 2}\n", id)) {
				t.Errorf("det printed\n%s", said)
			}
		})
	}
}
