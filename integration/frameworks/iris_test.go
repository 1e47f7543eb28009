package frameworks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// dataPlace is where const.yaml has its data, inside the task.
const dataPlace = "/opt/bluedata/mapr/mnt/<DataFabric-clusterName>/exthcp/tenant-<ID>/fsmount/repo/data"

// irisConfig is const.yaml as its author wrote it, comments and all, with the
// data in a folder of this machine, a number of batches, and a script in place of a Trial class.
func irisConfig(t *testing.T, data string, batches int) string {
	t.Helper()
	src, err := os.ReadFile("../../master/expconf/testdata/seeds/const.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	for from, to := range map[string]string{
		"host_path: " + dataPlace:           "host_path: " + data,
		"entrypoint: model_def:IrisTrial #": "entrypoint: python3 train.py #",
		fmt.Sprint("batches: ", irisWhole):  fmt.Sprint("batches: ", batches),
	} {
		if strings.Count(text, from) != 1 {
			t.Fatalf("const.yaml has %q %d times", from, strings.Count(text, from))
		}
		text = strings.Replace(text, from, to, 1)
	}
	return text
}

// TestIrisObeysItsConfiguration: the script receives the periods of const.yaml, and the reports have
// these periods. The task finds its data at the path in const.yaml, where this machine has no files.
func TestIrisObeysItsConfiguration(t *testing.T) {
	r := start(t)
	needsMounts(t)
	absent(t, "/opt/bluedata")
	batches := 2 * irisFifth
	if rig.Thorough() {
		batches = irisWhole
	}
	example := filepath.Join(r.Root, "plugins", "harness", "examples", "iris")
	home := t.TempDir()
	code, data := filepath.Join(home, "code"), filepath.Join(home, "data")
	config := filepath.Join(home, "const.yaml")
	copyFile(t, filepath.Join(example, "train.py"), filepath.Join(code, "train.py"))
	copyFile(t, filepath.Join(example, "network.py"), filepath.Join(code, "network.py"))
	copyFile(t, filepath.Join(example, "iris.csv"), filepath.Join(data, "iris.csv"))
	if err := os.WriteFile(config, []byte(irisConfig(t, data, batches)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.Det(t, "experiment", "create", config, code, "--follow")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "its log", out, "reporting every 100 batches, validating every 1000, saving every time training ends")
	id := rig.First(t, `Created experiment (\d+)`, out)
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	merged(t, r, id, batches)

	trial := r.Trial(t, id)
	if got := r.Steps(t, "training", trial.ID); !slices.Equal(got, rig.Multiples(100, batches)) {
		t.Errorf("training was reported at %v", got)
	}
	if got := r.Steps(t, "validation", trial.ID); !slices.Equal(got, rig.Multiples(1000, batches)) {
		t.Errorf("validation was reported at %v", got)
	}
	if trial.BestValidation == nil {
		t.Error("the trial has no best validation by val_categorical_accuracy")
	}
	if trial.TotalBatchesProcessed != batches {
		t.Errorf("the trial has processed %d batches", trial.TotalBatchesProcessed)
	}
	checkpoints, err := client.List(t.Context(), r.Client, v1.ListTrialCheckpoints, client.Page{}, nil, trial.ID)
	if err != nil || len(checkpoints) != 1 {
		t.Errorf("%d checkpoints, one at the end was due: %v", len(checkpoints), err)
	}
	unseen(t, dataPlace)
}

// unseen fails if a path that a task mounts has content on the machine; there may be the empty folder
// that was created for the mount.
func unseen(t *testing.T, place string) {
	t.Helper()
	entries, err := os.ReadDir(place)
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
		t.Errorf("the machine sees %d entries in %s: %v", len(entries), place, err)
	}
}

// absent removes a folder after the test if it does not exist before.
func absent(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
}

// merged checks the configuration that the task received, with a number of batches.
func merged(t *testing.T, r *rig.Rig, id, batches int) {
	t.Helper()
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Name     string
		Searcher struct {
			MaxLength map[string]int `json:"max_length"`
		}
		MinValidationPeriod map[string]int `json:"min_validation_period"`
		SchedulingUnit      int            `json:"scheduling_unit"`
		Hyperparameters     map[string]struct {
			Type string
			Val  float64
		}
	}
	if err := json.Unmarshal(e.Experiment.Config, &config); err != nil {
		t.Fatal(err)
	}
	if config.Name != "iris_const_testuser1" || config.Searcher.MaxLength["batches"] != batches ||
		config.MinValidationPeriod["batches"] != 1000 || config.SchedulingUnit != 100 {
		t.Errorf("the merged configuration has %+v", config)
	}
	if p := config.Hyperparameters["layer1_dense_size"]; p.Type != "const" || p.Val != 16 {
		t.Errorf("a hyperparameter became %+v", p)
	}
	rig.Holds(t, "the original configuration", e.Experiment.OriginalConfig, "# Report validation metrics to Master every 1000 batches")
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// needsMounts skips a test if tasks cannot mount folders of the machine at other paths.
func needsMounts(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a task without a container sees folders at other paths only where Nomad's agent is root")
	}
}

// TestBindMountsArePrivate: two parallel tasks mount different folders at the same path, one of them
// read-only, and the machine sees neither mount.
func TestBindMountsArePrivate(t *testing.T) {
	r := start(t)
	needsMounts(t)
	place := filepath.Join(t.TempDir(), "inside", "deep")
	var ids []int
	hosts := []string{t.TempDir(), t.TempDir()}
	for i, host := range hosts {
		if err := os.WriteFile(filepath.Join(host, "who"), []byte(fmt.Sprint("folder ", i)), 0o644); err != nil {
			t.Fatal(err)
		}
		mount := fmt.Sprintf("bind_mounts: [{host_path: %s, container_path: %s, read_only: %t}]", host, place, i == 1)
		ids = append(ids, r.Submit(t, rig.Config(mount), rig.Script(fmt.Sprintf(`
import pathlib, time
from determined import core
place = pathlib.Path(%q)
with core.init() as ctx:
    print("it is", (place / "who").read_text(), flush=True)
    try:
        (place / "result").write_text("written")
        print("wrote", flush=True)
    except OSError as e:
        print("refused:", e.strerror, flush=True)
    while not ctx.preempt.should_preempt():
        time.sleep(0.05)
`, place))))
	}
	r.WaitLog(t, ids[0], "wrote")
	r.WaitLog(t, ids[1], "refused: Read-only file system")
	for i, id := range ids {
		rig.Holds(t, "the log", r.Log(t, id), fmt.Sprint("it is folder ", i))
	}
	unseen(t, place)
	if b, err := os.ReadFile(filepath.Join(hosts[0], "result")); err != nil || string(b) != "written" {
		t.Errorf("what the task wrote is %q: %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(hosts[1], "result")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the read-only folder was written to: %v", err)
	}
	for _, id := range ids {
		if err := client.Act(t.Context(), r.Client, v1.KillExperiment, id); err != nil {
			t.Error(err)
		}
		r.WaitState(t, id, v1.ExperimentStateCanceled)
	}
}
