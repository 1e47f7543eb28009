package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// digitsSearch varies what decides how well the example digits_numpy learns. A tenth of the example's length is enough to see that.
const digitsSearch = `
name: digits
entrypoint: python3 train.py
max_restarts: 0
reproducibility: {experiment_seed: 7}
hyperparameters:
  learning_rate: {type: log, base: 10, minval: -4, maxval: 0}
  momentum: {type: double, minval: 0, maxval: 0.95}
  hidden_size: {type: int, minval: 4, maxval: 128}
  global_batch_size: {type: categorical, vals: [16, 32, 64, 128]}
searcher: {name: %s, metric: validation_accuracy, smaller_is_better: false, max_trials: %d, max_concurrent_trials: 4, max_length: {batches: %d}}
scheduling_unit: 500
min_validation_period: {batches: 100}
checkpoint_storage: {save_experiment_best: 1, save_trial_best: 0, save_trial_latest: 0}
environment: {environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin"]}
resources: {memory: 512M}
`

// Of the search of hundreds.
const (
	digitsTrials = 300
	digitsLength = 2000 // batches
)

// A found is what a search has found, and what it cost.
type found struct {
	best    float64 // accuracy
	batches int     // of all trials
	stopped int     // trials that ended before the whole length
}

func (f found) String() string {
	return fmt.Sprintf("best accuracy %.4f, %d batches, %d of %d trials stopped early", f.best, f.batches, f.stopped, digitsTrials)
}

// digitsFound runs a search of hundreds of trials to its end, on four slots.
func digitsFound(t *testing.T, r *rig.Rig, searcher string) (f found) {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"train.py", "model.py", "digits.txt"} {
		text, err := os.ReadFile(filepath.Join(examplesOf(r, "digits_numpy"), name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	id := r.Submit(t, fmt.Sprintf(digitsSearch, searcher, digitsTrials, digitsLength, rig.PythonOf(t, "tasks")), files)
	for done := 25; done <= digitsTrials; done += 25 { // the whole takes longer than one condition may
		rig.Eventually(t, fmt.Sprintf("%d trials have ended", done), func() (bool, error) {
			return rig.Value[int](t, r, `SELECT count(*) FROM trials WHERE experiment_id = $1 AND ended_at IS NOT NULL`, id) >= done, nil
		})
	}
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	list := r.Trials(t, id)
	if len(list) != digitsTrials {
		t.Errorf("%s made %d trials", searcher, len(list))
	}
	for _, trial := range list {
		if trial.State != v1.TrialStateCompleted || trial.Restarts != 0 {
			t.Errorf("trial %d is %s after %d restarts: %s", trial.ID, trial.State, trial.Restarts, trial.Error)
		}
		f.batches += trial.TotalBatchesProcessed
		if trial.TotalBatchesProcessed < digitsLength {
			f.stopped++
		}
	}
	f.best = rig.Value[float64](t, r, `SELECT best_metric FROM experiments WHERE id = $1`, id)
	return f
}

// TestSearchesOfTheDocumentsSize: what the documents say about hundreds of trials, with real ones.
func TestSearchesOfTheDocumentsSize(t *testing.T) {
	rig.Long(t)
	r := rig.Start(t)
	t.Run("hundreds of trials", func(t *testing.T) { hundredsOfTrials(t, r) })
	t.Run("a population", func(t *testing.T) { population(t, r) })
}

// hundredsOfTrials: a search that stops the bad ones finds as good a network as one that trains all of them to the end, and trains less than half of it.
func hundredsOfTrials(t *testing.T, r *rig.Rig) {
	whole, adaptive := digitsFound(t, r, "random"), digitsFound(t, r, "adaptive_asha")
	t.Logf("random: %s", whole)
	t.Logf("adaptive_asha: %s", adaptive)
	if whole.stopped != 0 || adaptive.stopped < digitsTrials/2 || adaptive.batches*2 > whole.batches {
		t.Errorf("random trained %s, adaptive_asha %s", whole, adaptive)
	}
	if adaptive.best < whole.best-0.005 {
		t.Errorf("adaptive_asha found %.4f, and random %.4f", adaptive.best, whole.best)
	}
}

// climbs learns the faster the nearer its rate is to 1, from where its parent has come to.
const climbs = `
import determined
from determined import core

info = determined.get_cluster_info()
rate = info.trial.hparams["rate"]
with core.init() as ctx:
    step, height = 0, 0.0
    if info.latest_checkpoint:
        with ctx.checkpoint.restore_path(info.latest_checkpoint) as path:
            trial, step, height = (path / "state").read_text().split()
            height = float(height)
            # The search counts the steps of a copy from its own start.
            step = int(step) if int(trial) == info.trial.trial_id else 0
            print(f"begins at step {step} and height {height:.6f}", flush=True)
    for op in ctx.searcher.operations():
        while step < op.length:
            step += 1
            height += 1 - abs(rate - 1)
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"height": height})
        with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(f"{info.trial.trial_id} {step} {height}")
        op.report_completed(height)
`

// population: pbt trains a population in rounds; the worst end, and copies of the best go on from their checkpoints with other values.
func population(t *testing.T, r *rig.Rig) {
	const members, rounds, steps = 8, 4, 10
	id := r.Submit(t, fmt.Sprintf(`
name: population
entrypoint: python3 train.py
max_restarts: 0
reproducibility: {experiment_seed: 11}
hyperparameters: {rate: {type: double, minval: 0, maxval: 2}}
searcher: {name: pbt, metric: height, smaller_is_better: false, population_size: %d, num_rounds: %d, length_per_round: {batches: %d},
  replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}}
`, members, rounds, steps), rig.Script(climbs))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	list := r.Trials(t, id)
	if want := members + (rounds-1)*members/4; len(list) != want {
		t.Errorf("%d trials, want %d: two of the eight are replaced after each round but the last", len(list), want)
	}
	trained := 0
	for _, trial := range list {
		if trial.State != v1.TrialStateCompleted {
			t.Errorf("trial %d is %s: %s", trial.ID, trial.State, trial.Error)
		}
		trained += trial.TotalBatchesProcessed
	}
	if want := members * rounds * steps; trained != want {
		t.Errorf("all trained for %d steps, want %d", trained, want)
	}
	first := rig.Value[float64](t, r, `SELECT max((avg->>'height')::float8) FROM metrics WHERE trial_id IN (SELECT id FROM trials WHERE experiment_id = $1 AND number < $2) AND steps = $3`, id, members, steps)
	best := rig.Value[float64](t, r, `SELECT best_metric FROM experiments WHERE id = $1`, id)
	t.Logf("the best of the first round had climbed to %.2f of %d, the best of all to %.2f of %d", first, steps, best, rounds*steps)
	if best <= first*rounds {
		t.Errorf("copies with other values came to %.3f; the best of the first round alone would have come to %.3f", best, first*rounds)
	}
}
