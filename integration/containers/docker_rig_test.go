package containers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// dockerConfig is the configuration of a master whose tasks run in images, with a short list
// of what tasks may request of their nodes.
const dockerConfig = `
cluster_name: containers
checkpoint_storage: {type: shared_fs, host_path: %[1]s/checkpoints}
pull_timeout: 2m
vault: {secrets: [{name: tracker, path: teams/data/tracker, workspaces: ["*"]}]}
task_container_defaults:
  shm_size_bytes: 96m
  environment_variables: [COLOUR=blue]
resource_pools:
  - name: default
    driver: docker
    slots: cpu
    slots_per_node: 4
    memory_mb_per_slot: 128
    task_container_defaults: {image: detent-test/python:1}
    docker:
      allowed_host_paths: ['%[1]s/open:rw', '%[1]s/teams/*:rw', '%[1]s/sets/*', %[2]s]
      allowed_devices: [/dev/full]
      allowed_capabilities: [SYS_PTRACE]
  - name: tight
    driver: docker
    slots: cpu
    slots_per_node: 1
    memory_mb_per_slot: 128
    task_container_defaults: {image: detent-test/python:1}
    docker: {hard_memory_limit: true}
  - name: homes
    driver: docker
    slots: cpu
    slots_per_node: 1
    memory_mb_per_slot: 1024
    homes: %[1]s/homes
    task_container_defaults: {image: detent-test/python:1}
    docker: {allowed_host_paths: [%[2]s]}
  - name: by-node
    driver: docker
    slots: cpu
    slots_per_node: 1
    memory_mb_per_slot: 128
  - name: by-vault
    driver: docker
    slots: cpu
    slots_per_node: 1
    memory_mb_per_slot: 128
    docker: {registry_auth: {vault_path: kv/data/registry, vault_engine: kv_v2, vault_role: det-registry, server: "%[3]s"}}
`

// inContainers is a cluster whose tasks run in images. Access control is on, so the
// master has only the rights of its policy.
type inContainers struct {
	*rig.Rig
	dir     string
	docker  *dockerd.Docker
	private net.Listener // of the registry for which the pool by-vault has credentials
	logins  string       // the Docker configuration with the node's credentials of registries
	python  []byte       // the root file system of the image detent-test/python:1, as a tar
}

// startDocker starts the cluster, and removes it at the end of the test. Without Docker, the
// test is skipped.
func startDocker(t *testing.T) *inContainers {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-docker-")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "open"), filepath.Join(dir, "teams", "data"), filepath.Join(dir, "sets", "words"), filepath.Join(dir, "checkpoints")} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig.Rig{Root: root, Dir: dir}
	// Start the daemon first: without it the rest of the setup is useless.
	clusterDir := filepath.Join(dir, "cluster")
	docker, err := dockerd.Start(t.Context(), dockerd.Options{Dir: filepath.Join(clusterDir, "docker"), Reporter: servers.NewReporter(os.Stderr)})
	if errors.Is(err, dockerd.ErrNone) {
		t.Skip(errors.Join(err, os.RemoveAll(dir)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
		defer cancel()
		if err := docker.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	r.Bin = rig.Programs(t)
	logins := filepath.Join(dir, "logins.json")
	if err := os.WriteFile(logins, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	private, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = private.Close() }) // a test may have closed it
	r.StartCluster(t, dir, local.Options{Name: "containers", ConsulACL: true, Docker: &local.Containers{Socket: docker.Socket, Stop: docker.Stop, Logins: logins}, Vault: true, Master: local.Master{Config: fmt.Sprintf(dockerConfig, dir, filepath.Dir(rig.PythonOf(t, "notebook")), private.Addr())}})
	d := &inContainers{Rig: r, dir: dir, docker: docker, logins: logins, private: private}
	d.images(t)
	return d
}

// images creates the images of the tests: one with a shell, and one with only Python, whose
// entrypoint does not exist and which sets a user.
func (d *inContainers) images(t *testing.T) {
	t.Helper()
	var full, bare bytes.Buffer
	if err := rig.WriteImage(t.Context(), &full, "sh", "ls", "cat", "sleep", "mkdir", "chmod", "mktemp", "tail"); err != nil {
		t.Fatal(err)
	}
	if err := rig.WriteImage(t.Context(), &bare); err != nil {
		t.Fatal(err)
	}
	d.python = full.Bytes()
	const path = "ENV PATH=/usr/local/bin:/usr/bin:/bin"
	if err := errors.Join(
		d.docker.Import(t.Context(), "detent-test/python", "1", bytes.NewReader(d.python), path, "ENV NVIDIA_VISIBLE_DEVICES=all"),
		d.docker.Import(t.Context(), "detent-test/bare", "1", &bare, path, `ENTRYPOINT ["/nonesuch", "--wrong"]`, `CMD ["wrong"]`, "USER 4321", "WORKDIR /root/closed"),
	); err != nil {
		t.Fatal(err)
	}
}

// facts is a script that prints facts about its container, stores a checkpoint and exits.
const facts = `
import getpass, json, os
import determined
from determined import core

def tried(do):
    try:
        do()
    except OSError as e:
        return e.strerror
    return ""

def status(name):
    with open("/proc/self/status") as f:
        return next(l.split()[1] for l in f if l.startswith(name + ":"))

def facts():
    shm = os.statvfs("/dev/shm")
    found = {"uid": os.getuid(), "gid": os.getgid(), "cwd": os.getcwd(), "home": os.environ.get("HOME"), "name": getpass.getuser(),
             "shm": shm.f_blocks * shm.f_frsize, "caps": int(status("CapEff"), 16), "closed": int(status("NoNewPrivs")), "bound": int(status("CapBnd"), 16),
             "env": {k: os.environ.get(k) for k in ("COLOUR", "SHAPE", "NVIDIA_VISIBLE_DEVICES", "NOMAD_TOKEN", "DET_RUN_DIR")},
             "files": sorted(os.listdir(".")), "slots": json.loads(os.environ["DET_SLOT_IDS"]),
             "first": open("/proc/1/cmdline").read().split("\0")[0],
             "processes": sum(e.isdigit() for e in os.listdir("/proc"))}
    for path in os.environ.get("WRITE", "").split():
        found["write " + path] = tried(lambda: open(path, "w").close())
    for path in os.environ.get("READ", "").split():
        with open(path) as f:
            found["read " + path] = f.read(100)
    return found

print("FACTS " + json.dumps(facts()), flush=True)
if os.environ["DET_TASK_TYPE"] == "TRIAL":
    with core.init() as context:
        context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            (path / "state").write_text("one")
        print("CHECKPOINT " + uuid, flush=True)
`

// shown has the output of the script facts.
type shown struct {
	UID, GID    int
	Cwd, Home   string
	Name        string
	Shm         int64
	Caps, Bound uint64
	Env         map[string]string
	Files       []string
	Slots       []int
	First       string
	Closed      int // 1: no file gives the program further rights
	Processes   int
	raw         map[string]any
	log         string
}

// tried returns the result of reading or writing a path, for example of "write /data/x".
func (s shown) tried(what string) string {
	text, ok := s.raw[what].(string)
	if !ok {
		return "(not tried)"
	}
	return text
}

// look runs the script facts as an experiment, and parses its output.
func (d *inContainers) look(t *testing.T, more string) shown {
	t.Helper()
	return d.lookWith(t, "facts.py", "entrypoint: [python3, facts.py]\n"+more)
}

func (d *inContainers) lookWith(t *testing.T, file, config string) shown {
	t.Helper()
	id := d.Submit(t, fmt.Sprintf("name: %s\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\nmax_restarts: 0\n%s",
		strings.ReplaceAll(t.Name(), "/", " "), config), map[string]string{file: facts})
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	return parseFacts(t, d.Log(t, id))
}

func parseFacts(t *testing.T, log string) shown {
	t.Helper()
	s := shown{log: log}
	jsonAfter(t, log, "FACTS ", &s)
	jsonAfter(t, log, "FACTS ", &s.raw)
	return s
}

// jsonAfter parses the JSON that follows a word in a log.
func jsonAfter(t *testing.T, log, word string, out any) {
	t.Helper()
	for line := range strings.Lines(log) {
		if _, text, ok := strings.Cut(line, word); ok {
			if err := json.Unmarshal([]byte(text), out); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %sin the log:\n%s", word, log)
}

// refusedWith submits an experiment that the master must reject, and returns the error.
func (d *inContainers) refusedWith(t *testing.T, more string) string {
	t.Helper()
	config := "name: refused\nentrypoint: [python3, facts.py]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n" + more
	active := false
	resp, err := d.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active}, nil)
	if err == nil {
		t.Errorf("the master accepted experiment %d with\n%s", resp.Experiment.ID, more)
		return ""
	}
	return err.Error()
}
