package integration

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// kerasPython is the Python that has TensorFlow, Keras 2 and 3, and TensorBoard.
func kerasPython(t testing.TB) string {
	t.Helper()
	python, err := pyenv.Named(t.Context(), "keras", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// startKeras starts a cluster whose slots have room for TensorFlow, with this
// Python in every task's path, as an image would have it; it goes with the test.
func startKeras(t *testing.T, python string) *rig {
	t.Helper()
	r, dir := newOwn(t, "keras")
	config := fmt.Sprintf(`
cluster_name: keras
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", TF_CPP_MIN_LOG_LEVEL=3]
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 1536}
`, dir, filepath.Dir(python))
	r.up(t, dir, local.Options{Name: "keras", Master: local.Master{Config: config}})
	return r
}

// irisFiles writes the flowers into a folder the way TensorFlow hands them out:
// every fifth for validation, the species as numbers, a first line that counts.
func irisFiles(t *testing.T, r *rig, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join(r.root, "plugins", "harness", "examples", "iris", "iris.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	species := []string{"setosa", "versicolor", "virginica"}
	var training, validation []string
	for i, row := range rows[1:] {
		line := fmt.Sprintf("%s,%d\n", strings.Join(row[:4], ","), slices.Index(species, row[4]))
		if i%5 == 4 {
			validation = append(validation, line)
		} else {
			training = append(training, line)
		}
	}
	for name, lines := range map[string][]string{"iris_training.csv": training, "iris_test.csv": validation} {
		text := fmt.Sprintf("%d,4,%s\n%s", len(lines), strings.Join(species, ","), strings.Join(lines, ""))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// placed puts values in the place of what a text has for them, each exactly once.
func placed(t *testing.T, path string, values map[string]string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	for from, to := range values {
		if strings.Count(text, from) != 1 {
			t.Fatalf("%s has %q %d times", path, from, strings.Count(text, from))
		}
		text = strings.Replace(text, from, to, 1)
	}
	return text
}

// TestIrisInKeras: the experiments of 2022 as they were written, a trial class in
// Keras 2 with its configurations; TensorBoard, and the notebook's cell that loads
// the best checkpoint and names three flowers.
func TestIrisInKeras(t *testing.T) {
	t.Parallel()
	needsMounts(t)
	absent(t, "/opt/bluedata")
	python := kerasPython(t)
	r := startKeras(t, python)
	data := t.TempDir()
	irisFiles(t, r, data)

	id, _ := r.iris(t, "const.yaml", data)
	merged(t, r, id)
	out, err := r.det(t, "experiment", "list-checkpoints", "--best", "1", itoa(id))
	uuids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(out, -1)
	if err != nil || len(uuids) != 1 {
		t.Fatalf("the best checkpoint: %v\n%s", err, out)
	}
	trial := r.trial(t, id)
	eventFiles(t, r, id, trial.ID)
	r.curves(t, id, trial.ID)
	r.flowers(t, python, id, uuids[0])
	r.flowersInANotebook(t, id)
	r.insideATask(t, id, uuids[0])

	_, log := r.iris(t, "distributed.yaml", data)
	holds(t, "the log of two slots", log, "[rank=0]", "[rank=1]")
}

// iris trains a configuration of 2022 to its end, and returns the experiment and
// what its trial wrote.
func (r *rig) iris(t *testing.T, name, data string) (id int, log string) {
	t.Helper()
	home := t.TempDir()
	config, code := filepath.Join(home, name), filepath.Join(home, "code")
	// Only where the data lies is another place than its author's.
	text := placed(t, filepath.Join("../master/expconf/testdata/seeds", name), map[string]string{"host_path: " + dataPlace: "host_path: " + data})
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "testdata/iris/model_def.py", filepath.Join(code, "model_def.py"))
	out, err := r.det(t, "experiment", "create", config, code, "--follow")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id = first(t, `Created experiment (\d+)`, out)
	r.waitState(t, id, v1.ExperimentStateCompleted)
	trial := r.trial(t, id)
	if got := r.steps(t, "training", trial.ID); !slices.Equal(got, every(100, 5000)) {
		t.Errorf("%s: training was reported at %v", name, got)
	}
	if got := r.steps(t, "validation", trial.ID); !slices.Equal(got, every(1000, 5000)) {
		t.Errorf("%s: validation was reported at %v", name, got)
	}
	if trial.BestValidation == nil || trial.TotalBatchesProcessed != 5000 {
		t.Errorf("%s: the trial is %+v", name, trial)
	}
	return id, out
}

// curves opens TensorBoard on an experiment and waits for its trial to be drawn.
func (r *rig) curves(t *testing.T, experiment, trial int) {
	t.Helper()
	out, err := r.det(t, "tensorboard", "start", "--no-browser", itoa(experiment))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := started(t, out)
	run := fmt.Sprintf("exp_%d/trial_%d", experiment, trial)
	eventually(t, "TensorBoard draws "+run, func() (bool, error) {
		code, body := r.page(t, r.client, "/proxy/"+id+"/data/plugin/scalars/tags")
		return code == 200 && strings.Contains(body, `"`+run+`"`) && strings.Contains(body, "Determined/val_categorical_accuracy"),
			fmt.Errorf("it answers %d %.300s", code, body)
	})
	if out, err := r.det(t, "tensorboard", "kill", id); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// insideATask uses the SDK where the platform has signed its user in.
func (r *rig) insideATask(t *testing.T, experiment int, best string) {
	t.Helper()
	code := fmt.Sprintf("from determined.experimental import client; import os; c = client.get_experiment(%d).top_checkpoint(); "+
		"print(client.whoami().username, 'has', c.uuid, sorted(os.listdir(c.download())))", experiment)
	out, err := r.det(t, "cmd", "run", "--config", "resources.slots=1", "python3", "-c", code)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	holds(t, "a command's output", out, "determined has "+best+" [", "'load_data.json'", "'metadata.json'")
}

// eventFiles expects what the platform and Keras's own callback drew.
func eventFiles(t *testing.T, r *rig, experiment, trial int) {
	t.Helper()
	path := filepath.Join("tensorboard", "experiment", itoa(experiment), "trial", itoa(trial))
	for _, below := range []string{"", "train", "validation"} {
		glob := filepath.Join(filepath.Dir(r.Cluster.StateDir()), "checkpoints", "*", path, below, "events.out.tfevents.*")
		if found, err := filepath.Glob(glob); err != nil || len(found) == 0 {
			t.Errorf("no event files match %s: %v", glob, err)
		}
	}
}

// notebookCell is the cell of the notebook, filled in.
func (r *rig) notebookCell(t *testing.T, experiment int) string {
	t.Helper()
	return placed(t, "testdata/iris/cell.txt", map[string]string{"”<experiment-Id>”": `"` + itoa(experiment) + `"`,
		"<DET_MASTER_URL>": `"` + r.MasterURL + `"`, "MyUsername": "determined", "MyPassword": ""})
}

// species expects three flowers to be named. An iris with such small petals as
// the first is a setosa whatever the seed was.
func species(t *testing.T, printed string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^\[0 [012] [012]\]$`).MatchString(printed) {
		t.Errorf("the cell printed\n%s", printed)
	}
}

// flowersInANotebook runs the cell where it was written for: in a notebook that
// the author's configuration starts.
func (r *rig) flowersInANotebook(t *testing.T, experiment int) {
	t.Helper()
	place := "host_path: /opt/bluedata/mapr/mnt/<DataFabric-clusterName>/exthcp/tenant-<ID>/fsmount/checkpoints"
	checkpoints := filepath.Join(filepath.Dir(r.Cluster.StateDir()), "checkpoints")
	config := filepath.Join(t.TempDir(), "notebook.yaml")
	text := placed(t, "../master/expconf/testdata/seeds/notebook.yaml", map[string]string{place: "host_path: " + checkpoints})
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.det(t, "notebook", "start", "--no-browser", "--config-file", config)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := started(t, out)
	species(t, r.cell(t, "/proxy/"+id, r.notebookCell(t, experiment)))
	if out, err := r.det(t, "notebook", "kill", id); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// flowers runs the notebook's cell in a process of its own, off the cluster.
func (r *rig) flowers(t *testing.T, python string, experiment int, best string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), python, "-c", r.notebookCell(t, experiment))
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PYTHONPATH=" + filepath.Join(r.root, "plugins", "harness"), "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the cell: %v\n%s", err, out)
	}
	species(t, string(out))
	for _, name := range []string{"metadata.json", "load_data.json", "code/model_def.py"} {
		if _, err := os.Stat(filepath.Join(home, "checkpoints", best, name)); err != nil {
			t.Errorf("the download: %v", err)
		}
	}
}
