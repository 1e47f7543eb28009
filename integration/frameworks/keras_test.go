package frameworks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
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
// Python in every task's PATH, as in an image. The cluster ends with the test.
func startKeras(t *testing.T, python string) *rig.Rig {
	t.Helper()
	r, dir := rig.NewOwn(t, "keras")
	config := fmt.Sprintf(`
cluster_name: keras
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", TF_CPP_MIN_LOG_LEVEL=3, OMP_NUM_THREADS=1, TF_NUM_INTRAOP_THREADS=1, TF_NUM_INTEROP_THREADS=1]
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 1536}
`, dir, filepath.Dir(python))
	r.StartCluster(t, dir, local.Options{Name: "keras", Master: local.Master{Config: config}})
	return r
}

// irisFiles writes the data set into a folder as the example does.
func irisFiles(t *testing.T, r *rig.Rig, python, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, filepath.Join(examplesOf(r, "iris_keras"), "make_data.py"), dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// placed replaces texts in a configuration, each of which must occur exactly once.
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

// TestIrisInKeras: the experiments of 2022 without changes, a trial class in
// Keras 2 with its configurations: const.yaml, its best checkpoint, TensorBoard, the
// notebook's cell that downloads the checkpoint and names three flowers, and distributed.yaml
// on two slots. just nightly trains all for the author's number of batches, runs the cell off the cluster too, and
// adaptive.yaml with six trials.
func TestIrisInKeras(t *testing.T) {
	t.Parallel()
	needsMounts(t)
	absent(t, "/opt/bluedata")
	python := kerasPython(t)
	r := startKeras(t, python)
	data := t.TempDir()
	irisFiles(t, r, python, data)

	batches, first := irisFifth, anySpecies
	if rig.Thorough() {
		batches, first = irisWhole, setosa
	}
	id, _ := iris(t, r, "const.yaml", data, batches)
	merged(t, r, id, batches)
	best := bestCheckpoint(t, r, id)
	trial := r.Trial(t, id)
	eventFiles(t, r, id, trial.ID)
	curves(t, r, id, trial.ID)
	flowersInANotebook(t, r, id, first)
	insideATask(t, r, id, best)

	_, log := iris(t, r, "distributed.yaml", data, batches)
	rig.Holds(t, "the log of two slots", log, "[rank=0]", "[rank=1]")
	if rig.Thorough() {
		flowers(t, r, python, id, best, setosa)
		importsEventFiles(t, r, python)
		irisSearch(t, r, python, data)
	}
}

// TestIrisExample: the configurations of the example are those of 2022, except for the folder with
// the data.
func TestIrisExample(t *testing.T) {
	for _, name := range []string{"const.yaml", "distributed.yaml", "adaptive.yaml"} {
		seed, err := os.ReadFile(filepath.Join("../../master/expconf/testdata/seeds", name))
		if err != nil {
			t.Fatal(err)
		}
		example, err := os.ReadFile(filepath.Join("../../plugins/harness/examples/iris_keras", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.ReplaceAll(string(seed), dataPlace, "/srv/iris") != string(example) {
			t.Errorf("%s of the example is another text", name)
		}
	}
}

// Numbers of batches. Models that begin badly take the first flower for another species after 2,000 and after 3,000 batches, so
// const.yaml trains for its author's number.
const (
	irisWhole = 5000 // const.yaml, as its author wrote it
	irisFifth = 1000 // what is checked besides
)

// irisSearch runs adaptive.yaml: six trials of which the good ones train to the end, and the best one's checkpoint
// names three flowers.
func irisSearch(t *testing.T, r *rig.Rig, python, data string) {
	t.Helper()
	id, _ := irisCreated(t, r, "adaptive.yaml", data, irisWhole)
	searched(t, r, id, 6, irisWhole)
	best := bestCheckpoint(t, r, id)
	e := r.Experiment(t, id)
	if e.BestTrialID == nil {
		t.Fatalf("the search has no best trial: %+v", e)
	}
	out, err := r.Det(t, "trial", "describe", strconv.Itoa(*e.BestTrialID))
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rig.Holds(t, "the best trial", out, "COMPLETED", "layer1_dense_size", "learning_rate")
	flowers(t, r, python, id, best, anySpecies)
}

// irisCreated trains a configuration of 2022 to its end with the commands of its author, and returns the experiment
// and what its first trial wrote.
func irisCreated(t *testing.T, r *rig.Rig, name, data string, batches int) (id int, log string) {
	t.Helper()
	home := t.TempDir()
	config, code := filepath.Join(home, name), filepath.Join(home, "code")
	// Only the folder of the data and the number of batches differ from the author's.
	text := placed(t, filepath.Join("../../master/expconf/testdata/seeds", name), map[string]string{"host_path: " + dataPlace: "host_path: " + data,
		fmt.Sprintf("batches: %d", irisWhole): fmt.Sprintf("batches: %d", batches)})
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(examplesOf(r, "iris_keras"), "model_def.py"), filepath.Join(code, "model_def.py"))
	out, err := r.Det(t, "experiment", "create", config, code, "--follow")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id = rig.First(t, `Created experiment (\d+)`, out)
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	for _, args := range [][]string{{"experiment", "list"}, {"experiment", "describe", strconv.Itoa(id)}} {
		said, err := r.Det(t, args...)
		if err != nil {
			t.Errorf("%v\n%s", err, said)
		}
		rig.Holds(t, strings.Join(args, " "), said, "iris_", "COMPLETED")
	}
	return id, out
}

// iris trains a configuration with one trial, and checks the reports of the trial.
func iris(t *testing.T, r *rig.Rig, name, data string, batches int) (id int, log string) {
	t.Helper()
	id, log = irisCreated(t, r, name, data, batches)
	trial := r.Trial(t, id)
	if got := r.Steps(t, "training", trial.ID); !slices.Equal(got, rig.Multiples(100, batches)) {
		t.Errorf("%s: training was reported at %v", name, got)
	}
	if got := r.Steps(t, "validation", trial.ID); !slices.Equal(got, rig.Multiples(1000, batches)) {
		t.Errorf("%s: validation was reported at %v", name, got)
	}
	if trial.BestValidation == nil || trial.TotalBatchesProcessed != batches {
		t.Errorf("%s: the trial is %+v", name, trial)
	}
	return id, log
}

// curves opens TensorBoard on an experiment and waits until it shows the trial.
func curves(t *testing.T, r *rig.Rig, experiment, trial int) {
	t.Helper()
	out, err := r.Det(t, "tensorboard", "start", "--no-browser", strconv.Itoa(experiment))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	run := fmt.Sprintf("exp_%d/trial_%d", experiment, trial)
	rig.Eventually(t, "TensorBoard draws "+run, func() (bool, error) {
		code, body := r.Page(t, r.Client, "/proxy/"+id+"/data/plugin/scalars/tags")
		return code == 200 && strings.Contains(body, `"`+run+`"`) && strings.Contains(body, "Determined/val_categorical_accuracy"),
			fmt.Errorf("TensorBoard answers %d %.300s", code, body)
	})
	if out, err := r.Det(t, "tensorboard", "kill", id); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// insideATask uses the SDK in a task, where the user is signed in already.
func insideATask(t *testing.T, r *rig.Rig, experiment int, best string) {
	t.Helper()
	code := fmt.Sprintf("from determined.experimental import client; import os; c = client.get_experiment(%d).top_checkpoint(); "+
		"print(client.whoami().username, 'has', c.uuid, sorted(os.listdir(c.download())))", experiment)
	out, err := r.Det(t, "cmd", "run", "--config", "resources.slots=1", "python3", "-c", code)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "a command's output", out, "determined has "+best+" [", "'load_data.json'", "'metadata.json'")
}

// eventFiles checks the event files of the platform and of Keras's own callback.
func eventFiles(t *testing.T, r *rig.Rig, experiment, trial int) {
	t.Helper()
	path := filepath.Join("tensorboard", "experiment", strconv.Itoa(experiment), "trial", strconv.Itoa(trial))
	for _, below := range []string{"", "train", "validation"} {
		glob := filepath.Join(filepath.Dir(r.Cluster.StateDir()), "checkpoints", "*", path, below, "events.out.tfevents.*")
		if found, err := filepath.Glob(glob); err != nil || len(found) == 0 {
			t.Errorf("no event files match %s: %v", glob, err)
		}
	}
}

// notebookCell is the cell of the notebook, filled in.
func notebookCell(t *testing.T, r *rig.Rig, experiment int) string {
	t.Helper()
	return placed(t, filepath.Join(examplesOf(r, "iris_keras"), "cell.txt"), map[string]string{"”<experiment-Id>”": `"` + strconv.Itoa(experiment) + `"`,
		"<DET_MASTER_URL>": `"` + r.MasterURL + `"`, "MyUsername": "determined", "MyPassword": ""})
}

// The species of the first flower. Its petals are so small that it is a setosa for each model that has learned with the
// author's hyperparameters for his number of batches. The six trials of a search may all have a learning rate with which a model learns little.
const (
	setosa     = "0"
	anySpecies = "[012]"
)

// species checks that the output names three species, and that of the first flower.
func species(t *testing.T, printed, first string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^\[` + first + ` [012] [012]\]$`).MatchString(printed) {
		t.Errorf("the cell printed\n%s", printed)
	}
}

// flowersInANotebook runs the cell in a notebook that the author's configuration starts.
func flowersInANotebook(t *testing.T, r *rig.Rig, experiment int, first string) {
	t.Helper()
	place := "host_path: /opt/bluedata/mapr/mnt/<DataFabric-clusterName>/exthcp/tenant-<ID>/fsmount/checkpoints"
	checkpoints := filepath.Join(filepath.Dir(r.Cluster.StateDir()), "checkpoints")
	config := filepath.Join(t.TempDir(), "notebook.yaml")
	text := placed(t, "../../master/expconf/testdata/seeds/notebook.yaml", map[string]string{place: "host_path: " + checkpoints})
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config-file", config)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	species(t, r.Cell(t, "/proxy/"+id, notebookCell(t, r, experiment)), first)
	if out, err := r.Det(t, "notebook", "kill", id); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// flowers runs the notebook's cell in a process of its own, off the cluster.
func flowers(t *testing.T, r *rig.Rig, python string, experiment int, best, first string) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), python, "-c", notebookCell(t, r, experiment))
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PYTHONPATH=" + filepath.Join(r.Root, "plugins", "harness"), "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the cell: %v\n%s", err, out)
	}
	species(t, string(out), first)
	for _, name := range []string{"metadata.json", "load_data.json", "code/model_def.py"} {
		if _, err := os.Stat(filepath.Join(home, "checkpoints", best, name)); err != nil {
			t.Errorf("the download: %v", err)
		}
	}
}
