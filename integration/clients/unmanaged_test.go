package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// laptop is a program that no cluster has started. It trains five steps in two runs: the
// first one ends with an error, the second continues from its checkpoint.
const laptop = `
import json, pathlib, sys
from determined.experimental import core_v2

folder, first = pathlib.Path(sys.argv[1]), sys.argv[2] == "first"
# Without TensorFlow and PyTorch, Determined's package writes nothing for TensorBoard.
mode = core_v2.TensorboardMode.MANUAL if sys.argv[3] == "theirs" else core_v2.TensorboardMode.AUTO
core_v2.init(tensorboard_mode=mode, config=core_v2.Config(
    name="laptop", hparams={"lr": 0.25}, labels=["mine"], searcher={"name": "single", "metric": "loss"},
    checkpoint_storage=str(folder / "checkpoints"),
    external_experiment_id="of " + sys.argv[3], external_trial_id="trial-1"))
info, step = core_v2.info, 0
if info.latest_checkpoint:
    with core_v2.checkpoint.restore_path(info.latest_checkpoint) as path:
        step = int((pathlib.Path(path) / "step").read_text())
print("lr", info.trial.hparams["lr"], "from step", step)
while step < (3 if first else 5):
    step += 1
    core_v2.train.report_training_metrics(step, {"loss": 1.0 / step})
    core_v2.train.report_validation_metrics(step, {"loss": 1.0 / step})
    core_v2.train.report_progress(step / 5)
    with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
        (pathlib.Path(path) / "step").write_text(str(step))
(folder / "trial").write_text(json.dumps([info.trial.experiment_id, info.trial.trial_id]))
if first:
    raise RuntimeError("the lid was closed")
print("trained")
`

// TestUnmanagedRuns: a program on a laptop reports with Determined's unmodified package,
// and another one with ours.
func TestUnmanagedRuns(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	ours, err := filepath.Abs("../../plugins/harness")
	if err != nil {
		t.Fatal(err)
	}
	for name, packages := range map[string]string{"theirs": "PYTHONPATH=", "ours": "PYTHONPATH=" + ours} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			script := filepath.Join(folder, "train.py")
			if err := os.WriteFile(script, []byte(laptop), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(which string) (out, errs string, code int) {
				return u.Run(t, "", "env", packages, "DET_BACKLOG_DIR="+folder, u.Python, script, folder, which, name)
			}
			out, errs, code := run("first")
			if code == 0 || !strings.Contains(errs, "the lid was closed") || !strings.Contains(out, "lr 0.25 from step 0") {
				t.Fatalf("the first run: exit %d\n%s%s", code, out, errs)
			}
			var ids [2]int
			noted, err := os.ReadFile(filepath.Join(folder, "trial"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(noted, &ids); err != nil {
				t.Fatal(err)
			}
			unmanagedEnds(t, r, ids, v1.TrialStateError, 3)
			out, errs, code = run("second")
			if code != 0 || !strings.Contains(out, "lr 0.25 from step 3") || !strings.Contains(out, "trained") {
				t.Fatalf("the second run: exit %d\n%s%s", code, out, errs)
			}
			unmanagedEnds(t, r, ids, v1.TrialStateCompleted, 5)
		})
	}
}

// unmanagedEnds checks what the master knows of a run that has ended.
func unmanagedEnds(t *testing.T, r *rig.Rig, ids [2]int, state v1.TrialState, steps int) {
	t.Helper()
	e := r.Experiment(t, ids[0])
	trial := r.Trials(t, ids[0])[0]
	if !e.Unmanaged || string(e.State) != string(state) || e.Name != "laptop" || e.NumTrials != 1 || trial.State != state || trial.ID != ids[1] {
		t.Errorf("the experiment is %+v, the trial %+v", e, trial)
	}
	if trial.TotalBatchesProcessed != steps || trial.CheckpointCount != steps || trial.SearcherMetricValue == nil || *trial.SearcherMetricValue != 1/float64(steps) {
		t.Errorf("after %d steps: %d batches, %d checkpoints, %v", steps, trial.TotalBatchesProcessed, trial.CheckpointCount, trial.SearcherMetricValue)
	}
	if log := r.Log(t, ids[0]); !strings.Contains(log, "lr 0.25 from step 0") || steps == 5 && !strings.Contains(log, "trained") {
		t.Errorf("the trial's log is %s", log)
	}
	if e.BestTrialID == nil || *e.BestTrialID != ids[1] {
		t.Errorf("the best trial is %v", e.BestTrialID)
	}
}

// TestLaptopExample runs the example of unmanaged runs as its README says: a run that is interrupted and continues, a
// search in several processes, and the same search with Ray.
func TestLaptopExample(t *testing.T) {
	r := rig.Start(t)
	folder := filepath.Join(r.Root, "plugins", "harness", "examples", "laptop_core_v2")
	run := func(t *testing.T, python string, args ...string) (string, error) {
		home := t.TempDir()
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(r.Dir, "laptop"), "DET_MASTER=" + r.MasterURL, "DET_USER=determined",
			"DET_PASS=", "DET_BACKLOG_DIR=" + home, "PYTHONPATH=" + filepath.Join(r.Root, "plugins", "harness"), "PYTHONDONTWRITEBYTECODE=1", "RAY_USAGE_STATS_ENABLED=0"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Run("laptop", func(t *testing.T) {
		out, err := run(t, "python3", "laptop.py", "lid", "--fail-at", "50")
		if err == nil || !strings.Contains(out, "the lid was closed") {
			t.Fatalf("the first run: %v\n%s", err, out)
		}
		id := rig.First(t, `/experiments/(\d+)`, out)
		r.WaitTrials(t, id, "ERROR")
		if out, err = run(t, "python3", "laptop.py", "lid"); err != nil {
			t.Fatalf("the second run: %v\n%s", err, out)
		}
		rig.Holds(t, "the second run", out, "training from step 40", fmt.Sprintf("/experiments/%d", id))
		r.WaitTrials(t, id, "COMPLETED")
		if trial := r.Trial(t, id); trial.TotalBatchesProcessed != 100 || trial.CheckpointCount != 5 {
			t.Errorf("the trial is %+v", trial)
		}
	})
	python := map[string]string{"processes.py": "python3"}
	if ray, err := pyenv.Named(t.Context(), "ray", servers.NewReporter(os.Stderr)); err != nil {
		t.Error(err)
	} else {
		python["on_ray.py"] = ray
	}
	for script, python := range python {
		t.Run(script, func(t *testing.T) {
			var out string
			rig.Eventually(t, script, func() (bool, error) {
				said, err := run(t, python, script, "search with "+script)
				// Ray gives up if it does not start within 30 seconds, as on a busy machine.
				if err != nil && !strings.Contains(said, "timed out during startup") {
					t.Fatalf("%v\n%s", err, said)
				}
				out = said
				return err == nil, err
			})
			rig.Holds(t, "the search", out, "the best learning rate is 0.3")
			list, err := client.List(t.Context(), r.Client, v1.ListExperiments, client.Page{}, &v1.GetExperimentsRequest{Name: "laptop"})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if e.ExternalExperimentID != nil && *e.ExternalExperimentID == "search with "+script {
					r.WaitTrials(t, e.ID, "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED")
					return
				}
			}
			t.Errorf("no experiment has the name that the script gave: %+v", list)
		})
	}
}
