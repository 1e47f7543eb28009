package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// patience is how long a test may wait for one thing to happen, on a slow and
// busy machine. Nothing is measured by it.
const patience = 3 * time.Minute

// A rig is the shared cluster with a client that is signed in.
type rig struct {
	*local.Cluster
	local.Description
	client *client.Client
	bin    string
	root   string      // of the checkout
	trust  *tls.Config // of a cluster that speaks TLS
}

var shared struct {
	once sync.Once
	rig  *rig
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if r := shared.rig; r != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the cluster's folder is kept: %s\n", r.Cluster.StateDir())
			if err := r.Down(ctx, nil); err != nil {
				fmt.Fprintln(os.Stderr, "the cluster could not be taken down:", err)
			}
		} else if err := errors.Join(r.Reset(ctx, nil), os.RemoveAll(filepath.Dir(r.bin))); err != nil {
			fmt.Fprintln(os.Stderr, "the cluster could not be removed:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// start brings the shared cluster up, once.
func start(t testing.TB) *rig {
	t.Helper()
	shared.once.Do(func() { shared.rig, shared.err = newRig() })
	if shared.err != nil {
		t.Fatalf("the cluster did not start: %v", shared.err)
	}
	return shared.rig
}

func newRig() (*rig, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	root, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "detent-integration-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	r := &rig{root: root, bin: filepath.Join(dir, "bin")}
	if err := build(ctx, root, r.bin); err != nil {
		return nil, err
	}
	r.Cluster, err = local.Up(ctx, local.Options{Name: "integration", StateDir: filepath.Join(dir, "cluster"), FreePorts: true,
		ACL: guarded(), ConsulACL: guarded(),
		GPUs: local.GPUs{Binary: filepath.Join(r.bin, "det-gpu")}, // for nodes that ask for some
		Master: local.Master{Binary: filepath.Join(r.bin, "det-master"), Runner: filepath.Join(r.bin, "det-runner"),
			Env: map[string]string{"DETENT_HARNESS_PATH": filepath.Join(root, "plugins", "harness")}, Config: masterConfig(dir)}}, servers.NewReporter(os.Stderr))
	if err != nil {
		return r, err
	}
	r.Description = r.Describe(ctx)
	r.client, err = r.signIn(ctx, "determined")
	return r, err
}

// masterConfig keeps checkpoints beside the cluster, and gives every node four
// slots however small the machine is.
func masterConfig(dir string) string {
	return fmt.Sprintf(`
cluster_name: integration
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 128}
  - {name: gpu, node_pool: gpu, driver: raw_exec, slots: device, device: nvidia/gpu, memory_mb_per_slot: 64}
  - {name: lab, node_pool: lab, driver: exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 512}
`, filepath.Join(dir, "checkpoints"))
}

func build(ctx context.Context, root, bin string) error {
	for name, pkg := range map[string]string{"det-master": "./master", "det": "./cli", "det-runner": "./plugins/runner", "det-gpu": "./plugins/gpu"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(bin, name), pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// signIn makes a client for a user with a blank password.
func (r *rig) signIn(ctx context.Context, user string) (*client.Client, error) {
	c, err := client.New(client.Options{Master: r.MasterURL, TLS: r.trust})
	if err != nil {
		return nil, err
	}
	_, err = c.Login(ctx, user, "")
	return c, err
}

// eventually polls until the condition holds.
func eventually(t testing.TB, what string, cond func() (bool, error)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	var last error
	for time.Now().Before(deadline) {
		ok, err := cond()
		if ok {
			return
		}
		last = err
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%s did not happen within %s (last: %v)", what, patience, last)
}

// submit creates an experiment from a configuration and files.
func (r *rig) submit(t testing.TB, config string, files map[string]string) int {
	t.Helper()
	active := true
	req := v1.CreateExperimentRequest{Config: &config, Activate: &active}
	for path, content := range files {
		req.ModelDefinition = append(req.ModelDefinition, v1.File{Path: path, Type: 48, Mode: 0o100644, Content: []byte(content)})
	}
	resp, err := r.client.CreateExperiment(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return resp.Experiment.ID
}

// waitState waits until an experiment is in one of the states.
func (r *rig) waitState(t testing.TB, id int, states ...v1.ExperimentState) v1.ExperimentState {
	t.Helper()
	var at v1.ExperimentState
	eventually(t, fmt.Sprintf("experiment %d in %v", id, states), func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		if err != nil {
			return false, err
		}
		at = e.Experiment.State
		for _, s := range states {
			if at == s {
				return true, nil
			}
		}
		if terminal(at) {
			t.Fatalf("experiment %d ended in %s; its log:\n%s", id, at, r.log(t, id))
		}
		return false, fmt.Errorf("it is in %s", at)
	})
	return at
}

func terminal(s v1.ExperimentState) bool {
	return s == v1.ExperimentStateCompleted || s == v1.ExperimentStateCanceled || s == v1.ExperimentStateError
}

// trial is the experiment's only trial.
func (r *rig) trial(t testing.TB, id int) v1.Trial {
	t.Helper()
	var trial v1.Trial
	eventually(t, "a trial", func() (bool, error) {
		list, err := client.Collect(r.client.Trials(t.Context(), id, client.Page{}))
		if err != nil || len(list) != 1 {
			return false, fmt.Errorf("%d trials: %w", len(list), err)
		}
		trial = list[0]
		return true, nil
	})
	return trial
}

// log is what the experiment's trial has written.
func (r *rig) log(t testing.TB, id int) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range r.client.TrialLogs(t.Context(), r.trial(t, id).ID, client.LogQuery{}) {
		if err != nil {
			t.Errorf("log: %v", err)
			break
		}
		b.WriteString(rec.Message)
	}
	return b.String()
}

// det runs the command line against the cluster.
func (r *rig) det(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.bin, "det"), args...)
	cmd.Env = append(os.Environ(), "DET_MASTER="+r.MasterURL, "DET_USER=determined", "DET_PASS=", "HOME="+t.TempDir(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func itoa(n int) string { return strconv.Itoa(n) }

// script is a one-file experiment.
func script(code string) map[string]string { return map[string]string{"train.py": code} }
