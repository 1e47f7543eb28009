package frameworks

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// loadsShapes is a program that loads a downloaded checkpoint and classifies an image with a row.
const loadsShapes = `
import sys, torch
from determined import pytorch
trial = pytorch.load_trial_from_checkpoint_path(sys.argv[1])
image = torch.zeros(1, 1, 8, 8)
image[0, 0, 3, :] = 1
print("it shows", trial.model(image).argmax(1).item())
`

// TestPyTorch: the examples that need PyTorch, on one slot and on two, and the porting guide.
func TestPyTorch(t *testing.T) {
	t.Parallel()
	needsMounts(t)
	python := rig.PythonOf(t, "torch")
	r := start(t)
	// Experiments that need no other's result are submitted first, because subtests may run one by one.
	letters := bothOf(t, r, "sentences_core_ddp")
	// Each process of this search imports Transformers and MLflow, for eight seconds: two trials show that one stops and the other one continues.
	ringTrials := 2
	if rig.Thorough() {
		ringTrials = 4
	}
	script := submitted(t, r, "shapes_pytorch", "distributed.yaml")
	rings := submitted(t, r, "rings_mlflow", "adaptive.yaml", "--config", fmt.Sprint("searcher.max_trials=", ringTrials))
	parts := map[string]func(*testing.T){
		"search for rings": func(t *testing.T) { searched(t, r, rings, ringTrials, 200) },
		"shapes":           func(t *testing.T) { shapes(t, r, python) },
		"porting":          func(t *testing.T) { porting(t, r, python) },
		"script":           func(t *testing.T) { learns(t, ends(t, r, script)) },
		"sentences":        func(t *testing.T) { sentences(t, r, letters) },
	}
	for name, a := range autologs {
		if name == "scikit-learn" || rig.Thorough() {
			id := a.submit(t, r)
			parts["autologging of "+name] = func(t *testing.T) { a.ends(t, r, id) }
		}
	}
	if rig.Thorough() { // Transformers and Lightning themselves are tested with the Python package
		kinds, lightning := submitted(t, r, "shapes_pytorch", "adaptive.yaml"), submitted(t, r, "rings_mlflow", "lightning.yaml")
		parts["search for shapes"] = func(t *testing.T) { searched(t, r, kinds, 4, 4*32) } // an epoch has 32 batches
		parts["rings by MLflow"] = func(t *testing.T) { loggedToMLflow(t, r, lightning) }
		food, signals := submitted(t, r, "reviews_transformers", "distributed.yaml"), submitted(t, r, "waves_lightning", "distributed.yaml")
		parts["reviews"] = func(t *testing.T) { learns(t, onTwoSlots(t, r, food)) }
		parts["waves"] = func(t *testing.T) { learns(t, onTwoSlots(t, r, signals)) }
		foods := submitted(t, r, "reviews_transformers", "adaptive.yaml", "--config", "searcher.max_trials=4")
		waves := submitted(t, r, "waves_lightning", "adaptive.yaml", "--config", "searcher.max_trials=4", "--config", "hyperparameters.global_batch_size=32")
		language := submitted(t, r, "sentences_core_ddp", "adaptive.yaml")
		parts["search for sentences"] = func(t *testing.T) { searched(t, r, language, 4, 300) }
		parts["search for reviews"] = func(t *testing.T) { searched(t, r, foods, 4, 200) }
		parts["search for waves"] = func(t *testing.T) { searched(t, r, waves, 4, 4*63) } // an epoch has 63 batches
	}
	for name, run := range parts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}

// loggedToMLflow: a Lightning program that logs to MLflow, and knows nothing of Detent, has its metrics and parameters in its trial.
func loggedToMLflow(t *testing.T, r *rig.Rig, id int) {
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trial := r.Trial(t, id)
	if trial.SearcherMetricValue == nil || *trial.SearcherMetricValue > 0.4 || trial.TotalBatchesProcessed < 190 {
		t.Errorf("the trial has %+v\n%s", trial, r.Log(t, id))
	}
	if got := r.Steps(t, "validation", trial.ID); len(got) != 4 {
		t.Errorf("val_loss was logged at %v", got)
	}
	meta, err := client.Call(t.Context(), r.Client, v1.GetRunMetadata, trial.ID)
	if err != nil || !strings.Contains(string(meta.Metadata), `"learning_rate":"0.01"`) && !strings.Contains(string(meta.Metadata), `"learning_rate": "0.01"`) {
		t.Errorf("the metadata are %+v %v", meta, err)
	}
}

// shapes: the example with its class as the entrypoint, on one slot and on two, paused in the middle of
// training and activated; each epoch is validated once, and the checkpoint is loaded elsewhere.
func shapes(t *testing.T, r *rig.Rig, python string) {
	code := examplesOf(r, "shapes_pytorch")
	const epochs, batches = 60, 32
	counts := []int{1} // two train in distributed.yaml, too
	if rig.Thorough() {
		counts = append(counts, 2)
	}
	for _, slots := range counts {
		out, err := r.Det(t, "experiment", "create", filepath.Join(code, "const.yaml"), code,
			"--config", fmt.Sprintf("resources.slots_per_trial=%d", slots),
			"--config", fmt.Sprintf("searcher.max_length.epochs=%d", epochs), "--config", "scheduling_unit=8",
			"--config", "resources.priority=1") // before the trials of the searches, of which more wait than there are slots
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		id := rig.First(t, `Created experiment (\d+)`, out)
		rig.Eventually(t, "the trial trains", func() (bool, error) {
			e := r.Experiment(t, id)
			if rig.Terminal(e.State) {
				t.Fatalf("experiment %d ended in %s; its log:\n%s", id, e.State, r.Log(t, id))
			}
			done := r.Trial(t, id).TotalBatchesProcessed
			return done > 0, fmt.Errorf("%d batches done", done)
		})
		if out, err := r.Det(t, "experiment", "pause", strconv.Itoa(id)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.WaitState(t, id, v1.ExperimentStatePaused)
		r.WaitLog(t, id, "the trial resumes later")
		if out, err := r.Det(t, "experiment", "activate", strconv.Itoa(id)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.WaitState(t, id, v1.ExperimentStateCompleted)
		trial := r.Trial(t, id)
		if got := r.Steps(t, "validation", trial.ID); !slices.Equal(got, rig.Multiples(batches, epochs*batches)) {
			t.Errorf("%d slots: validation was reported at %v", slots, got)
		}
		rig.Holds(t, "the log", r.Log(t, id), "continuing from checkpoint")
		if slots > 1 {
			rig.Holds(t, "the log", r.Log(t, id), "[rank=1]")
		}
		folder := filepath.Join(t.TempDir(), "checkpoint")
		if out, err := r.Det(t, "trial", "download", strconv.Itoa(trial.ID), "--best", "-o", folder); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(python, "python"), "-c", loadsShapes, folder)
		cmd.Env = append(cmd.Environ(), "PYTHONPATH="+filepath.Join(r.Root, "plugins", "harness")+":"+rig.Lean(t))
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "it shows 0") {
			t.Errorf("%d slots: loading the checkpoint: %v\n%s", slots, err, said)
		}
		if slots == 1 {
			predictions(t, r, id)
		}
	}
}
