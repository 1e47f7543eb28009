package frameworks

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

// examplesOf is the folder of the examples.
func examplesOf(r *rig.Rig, folder string) string {
	return filepath.Join(r.Root, "plugins", "harness", "examples", folder)
}

// submitted submits a configuration of an example as its README says.
func submitted(t *testing.T, r *rig.Rig, folder, config string, more ...string) int {
	t.Helper()
	code := examplesOf(r, folder)
	out, err := r.Det(t, append([]string{"experiment", "create", filepath.Join(code, config), code}, more...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return rig.First(t, `Created experiment (\d+)`, out)
}

// ends waits for an experiment of one trial, and returns the best value of its metric.
func ends(t *testing.T, r *rig.Rig, id int) float64 {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trial := r.Trial(t, id)
	if trial.SearcherMetricValue == nil || trial.CheckpointCount == 0 {
		t.Fatalf("experiment %d has no metric or no checkpoint: %+v\n%s", id, trial, r.Log(t, id))
	}
	return *trial.SearcherMetricValue
}

// bothOf submits the configurations of an example for one slot and for two.
func bothOf(t *testing.T, r *rig.Rig, folder string) [2]int {
	t.Helper()
	return [2]int{submitted(t, r, folder, "const.yaml"), submitted(t, r, folder, "distributed.yaml")}
}

// trained waits for the experiments on one slot and on two, and returns the best values of their metrics.
func trained(t *testing.T, r *rig.Rig, ids [2]int) []float64 {
	t.Helper()
	return []float64{ends(t, r, ids[0]), onTwoSlots(t, r, ids[1])}
}

// onTwoSlots waits for an experiment on two slots, and returns the best value of its metric.
func onTwoSlots(t *testing.T, r *rig.Rig, id int) float64 {
	t.Helper()
	best := ends(t, r, id)
	rig.Holds(t, "the log of two slots", r.Log(t, id), "[rank=0]", "[rank=1]")
	return best
}

// learns checks that accuracies are better than guessing.
func learns(t *testing.T, accuracies ...float64) {
	t.Helper()
	if slices.Min(accuracies) < 0.9 {
		t.Errorf("the shares of right answers are %v", accuracies)
	}
}

// searched waits for a search: all of its trials end, the best has trained to the end, and others have not.
func searched(t *testing.T, r *rig.Rig, id, trials, length int) {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	list := r.Trials(t, id)
	var lengths []int
	for _, trial := range list {
		if trial.State != v1.TrialStateCompleted {
			t.Errorf("trial %d is %s: %s", trial.ID, trial.State, trial.Error)
		}
		lengths = append(lengths, trial.TotalBatchesProcessed)
	}
	if len(list) != trials || slices.Max(lengths) != length {
		t.Errorf("the search has %d trials, and they trained %v", len(list), lengths)
	}
	if e := r.Experiment(t, id); e.BestTrialID == nil {
		t.Error("the search has no best trial")
	}
}

// sentences: two slots train with the same batches as one, and the losses differ only by rounding.
func sentences(t *testing.T, r *rig.Rig, ids [2]int) {
	t.Helper()
	perplexities := trained(t, r, ids)
	one, two := perplexities[0], perplexities[1]
	if one > 1.6 || two > one*1.05 || two < one/1.05 {
		t.Errorf("the perplexities are %v and %v", one, two)
	}
}

// bestCheckpoint returns the checkpoint that det lists as the best of an experiment.
func bestCheckpoint(t *testing.T, r *rig.Rig, experiment int) string {
	t.Helper()
	out, err := r.Det(t, "experiment", "list-checkpoints", "--best", "1", strconv.Itoa(experiment))
	uuids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(out, -1)
	if err != nil || len(uuids) != 1 {
		t.Fatalf("the best checkpoint: %v\n%s", err, out)
	}
	return uuids[0]
}

// predictions classifies a thousand images with the best checkpoint of an experiment.
func predictions(t *testing.T, r *rig.Rig, trained int) {
	t.Helper()
	id := submitted(t, r, "shapes_pytorch", "predict.yaml", "--config", "hyperparameters.checkpoint="+bestCheckpoint(t, r, trained))
	if accuracy := ends(t, r, id); accuracy < 0.9 {
		t.Errorf("the share of right answers is %v", accuracy)
	}
	log := r.Log(t, id)
	rig.Holds(t, "the log of two slots", log, "[rank=1]", "the output is in checkpoint storage, below ")
	answers := 0
	files, err := filepath.Glob(filepath.Join(filepath.Dir(r.Cluster.StateDir()), "checkpoints", "*", "rank_[01]", "batch-*.jsonl"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answers += bytes.Count(text, []byte(`{"shows": "a `))
	}
	if err != nil || len(files) != 20 || answers != 1000 {
		t.Errorf("%d answers in %d files: %v", answers, len(files), err)
	}
}
