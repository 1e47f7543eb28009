package frameworks

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/images"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// imagesConfig is a cluster whose tasks run in detent-small, on two nodes for gangs.
const imagesConfig = `
cluster_name: images
checkpoint_storage: {type: shared_fs, host_path: %[1]s/checkpoints}
task_container_defaults:
  environment_variables: [TF_CPP_MIN_LOG_LEVEL=3, OMP_NUM_THREADS=1, TF_NUM_INTRAOP_THREADS=1, TF_NUM_INTEROP_THREADS=1]
resource_pools:
  - {name: default, driver: %[2]s, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 1536, homes: %[1]s/homes,
     task_container_defaults: {image: "detent-small:%[3]s"}, docker: {allowed_host_paths: [%[1]s/data, %[1]s/checkpoints]}}
  - {name: pairs, node_pool: pairs, driver: %[2]s, slots: cpu, slots_per_node: 1, memory_mb_per_slot: 1536,
     task_container_defaults: {image: "detent-small:%[3]s"}, docker: {allowed_host_paths: [%[1]s/data, %[1]s/checkpoints]}}
`

// TestTrainingImage runs what a data scientist does in the image detent-small, under Docker and under Podman: the experiments
// of 2022, a training on two nodes, a notebook, a TensorBoard, a shell, a hook that installs a package, and an image
// that begins with this one.
func TestTrainingImage(t *testing.T) {
	if os.Getenv("DETENT_IMAGES") != "1" {
		t.Skip("the image is made and loaded, which takes minutes and gigabytes; run ./justw images-test")
	}
	for _, driver := range []string{"docker", "podman"} {
		t.Run(driver, func(t *testing.T) { inTrainingImage(t, driver) })
	}
}

func inTrainingImage(t *testing.T, driver string) {
	report := servers.NewReporter(os.Stderr)
	image, err := images.Ensure(t.Context(), "detent-small", report)
	if err != nil {
		t.Fatal(err)
	}
	r, dir := rig.NewOwn(t, driver)
	for _, d := range []string{"", "checkpoints", "data", "homes", "homes/2"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, d), 0o755), os.Chmod(filepath.Join(dir, d), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	daemon, err := dockerd.Start(t.Context(), dockerd.Options{Dir: filepath.Join(dir, "cluster", driver), Podman: driver == "podman", Reporter: report})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), rig.Patience)
		defer cancel()
		if err := errors.Join(daemon.Stop(ctx), daemon.Remove()); err != nil {
			t.Error(err)
		}
	})
	file, err := os.Open(image.File)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := daemon.Load(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	containers := &local.Containers{Socket: daemon.Socket, Stop: daemon.Stop}
	o := local.Options{Name: driver, Docker: containers, Master: local.Master{Config: fmt.Sprintf(imagesConfig, dir, driver, image.Tag)}}
	if driver == "podman" {
		o.Docker, o.Podman = nil, containers
	}
	r.StartCluster(t, dir, o)
	for _, name := range []string{"left", "right"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "pairs"}); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	irisFiles(t, r, kerasPython(t), data)

	t.Run("iris", func(t *testing.T) {
		id, _ := iris(t, r, "const.yaml", data, irisWhole)
		best := bestCheckpoint(t, r, id)
		curves(t, r, id, r.Trial(t, id).ID)
		flowersInANotebook(t, r, id, setosa)
		insideATask(t, r, id, best)
	})
	t.Run("two nodes", func(t *testing.T) { irisOnTwoNodes(t, r, data) })
	t.Run("shell", func(t *testing.T) { shellInImage(t, r) })
	t.Run("hook", func(t *testing.T) { hookInstalls(t, r) })
	t.Run("image of a user", func(t *testing.T) { imageOfAUser(t, r, daemon, image) })
}

// irisOnTwoNodes trains distributed.yaml with a worker on each of two nodes.
func irisOnTwoNodes(t *testing.T, r *rig.Rig, data string) {
	t.Helper()
	text := placed(t, filepath.Join("../../master/expconf/testdata/seeds", "distributed.yaml"), map[string]string{"host_path: " + dataPlace: "host_path: " + data,
		fmt.Sprintf("batches: %d", irisWhole): fmt.Sprintf("batches: %d", irisFifth), "slots_per_trial: 2": "slots_per_trial: 2\n  resource_pool: pairs"})
	model, err := os.ReadFile(filepath.Join(examplesOf(r, "iris_keras"), "model_def.py"))
	if err != nil {
		t.Fatal(err)
	}
	id := r.Submit(t, text, map[string]string{"model_def.py": string(model)})
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	rig.Holds(t, "the log of two nodes", log, "[rank=0]", "[rank=1]")
	if nodes := rig.Value[int](t, r, `SELECT count(DISTINCT m.node_id) FROM members m JOIN allocations a ON a.id = m.allocation_id JOIN tasks k ON k.id = a.task_id
		WHERE k.experiment_id = $1`, id); nodes != 2 {
		t.Errorf("the workers were on %d nodes", nodes)
	}
}

// shellInImage runs a command over ssh.
func shellInImage(t *testing.T, r *rig.Rig) {
	t.Helper()
	out, err := r.Det(t, "shell", "start", "--config", "resources.slots=0", "--", "python -c 'import tensorflow, keras; print(\"has\", tensorflow.__version__, keras.__version__)'; git --version")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "the shell", out, "has 2.21", "git version")
}

// hookInstalls installs a package with pip before the program starts, from a wheel of its code: the tests reach no package index.
func hookInstalls(t *testing.T, r *rig.Rig) {
	t.Helper()
	id := r.Submit(t, rig.Config("environment: {environment_variables: [PIP_NO_INDEX=1]}\n"), map[string]string{
		"startup-hook.sh":      "pip install --quiet --no-build-isolation ./greeting\n",
		"greeting/setup.py":    "from setuptools import setup\nsetup(name='greeting', version='1.0', py_modules=['greeting'])\n",
		"greeting/greeting.py": "TEXT = 'installed by the hook'\n",
		"train.py": "import os, sys; sys.path.remove(os.getcwd()) if os.getcwd() in sys.path else None\nimport greeting\nprint(greeting.TEXT, greeting.__file__, flush=True)\n" +
			"from determined import core\nwith core.init() as c: c.train.report_validation_metrics(1, {'loss': 1.0})\n",
	})
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "the log", r.Log(t, id), "installed by the hook", "/usr/local/lib/python3.11/")
}

// imageOfAUser builds an image from a Dockerfile of two lines, and runs it.
func imageOfAUser(t *testing.T, r *rig.Rig, daemon *dockerd.Docker, image images.Made) {
	t.Helper()
	var context bytes.Buffer
	w := tar.NewWriter(&context)
	for name, text := range map[string]string{"Dockerfile": fmt.Sprintf("FROM %s:%s\nCOPY extra.py /usr/local/lib/python3.11/dist-packages/\n", image.Name, image.Tag), "extra.py": "TEXT = 'of our own'\n"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Build(t.Context(), "ours:1", &context); err != nil {
		t.Fatal(err)
	}
	out, err := r.Det(t, "cmd", "run", "--config", "resources.slots=0", "--config", "environment.image=ours:1", "python3", "-c", "import extra, numpy; print(extra.TEXT, numpy.__version__)")
	if err != nil || !strings.Contains(out, "of our own 2.") {
		t.Errorf("%v\n%s", err, out)
	}
}
