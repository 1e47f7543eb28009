// Package rig starts clusters for end-to-end tests: one cluster for each package of tests,
// which its tests share, and own clusters for single tests. It has helpers that several of
// these packages use: sign in, submit experiments and wait for their states, trainings that
// record their steps (training.go), and users with Determined's own client (person.go), whose commands a
// server forks (detserver.go).
//
// Detent's programs are built from this checkout, once for all packages (programs.go).
package rig

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// Patience is how long a test waits for one condition, even on a slow and busy machine.
const Patience = 10 * time.Minute

// A Rig is a cluster with a client that is signed in.
type Rig struct {
	*local.Cluster
	local.Description
	Client *client.Client
	Bin    string                  // the folder of Detent's programs
	Dir    string                  // the folder of the cluster and its tasks
	Root   string                  // the folder of the checkout
	Trust  *tls.Config             // for a cluster with TLS; else nil
	config func(dir string) string // of its master; nil: MasterConfig
}

var shared struct {
	once sync.Once
	rig  *Rig
	err  error
}

// Main runs the tests of a package, and then removes its cluster. If tests have failed, it
// keeps the cluster's folder.
func Main(m *testing.M) {
	code := m.Run()
	if r := shared.rig; r != nil {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the cluster's folder is kept: %s\n", r.Cluster.StateDir())
			if err := r.Down(ctx, nil); err != nil {
				fmt.Fprintln(os.Stderr, "the cluster could not be taken down:", err)
			}
		} else if err := errors.Join(r.Reset(ctx, nil), os.RemoveAll(r.Dir)); err != nil {
			fmt.Fprintln(os.Stderr, "the cluster could not be removed:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Start starts the cluster that the tests of a package share, once.
func Start(t testing.TB) *Rig {
	t.Helper()
	return StartWith(t, MasterConfig)
}

// StartWith is Start for a package whose tests share a cluster with another configuration of its master.
func StartWith(t testing.TB, config func(dir string) string) *Rig {
	t.Helper()
	shared.once.Do(func() { shared.rig, shared.err = newRig(config) })
	if shared.err != nil {
		t.Fatalf("the cluster did not start: %v", shared.err)
	}
	return shared.rig
}

func newRig(config func(dir string) string) (*Rig, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	root, err := Root()
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
	r := &Rig{Root: root, Dir: dir, config: config}
	if r.Bin, err = ofCheckout(); err != nil {
		return nil, err
	}
	if err := r.Configure(ctx, ""); err != nil {
		return r, err
	}
	r.Client, err = r.SignIn(ctx, "determined")
	return r, err
}

// Configure starts the cluster, or restarts its master with another configuration: the usual one and
// what a test adds.
func (r *Rig) Configure(ctx context.Context, more string) error {
	config := MasterConfig
	if r.config != nil {
		config = r.config
	}
	c, err := local.Up(ctx, local.Options{Name: "integration", StateDir: filepath.Join(r.Dir, "cluster"), FreePorts: true,
		ConsulACL: Guarded(),
		GPUs:      local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")}, // for tests whose nodes have simulated GPUs
		Master: local.Master{Binary: filepath.Join(r.Bin, "det-master"), Runner: filepath.Join(r.Bin, "det-runner"),
			Env: map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.Root, "plugins", "harness")}, Config: config(r.Dir) + more}}, servers.NewReporter(os.Stderr))
	if c != nil {
		r.Cluster = c
	}
	if err == nil {
		r.Description = r.Describe(ctx)
	}
	return err
}

// SigningKey is the key of the cluster's requests to webhooks.
const SigningKey = "0123456789abcdef"

// MasterConfig returns a master's configuration that stores checkpoints below dir, and gives
// every node four slots on any machine.
func MasterConfig(dir string) string {
	return fmt.Sprintf(`
cluster_name: integration
webhooks: {signing_key: %s, allow: [127.0.0.0/8]}
launch_error: false
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 128}
  - {name: gpu, node_pool: gpu, driver: raw_exec, slots: device, device: nvidia/gpu, memory_mb_per_slot: 64}
  - {name: lab, node_pool: lab, driver: exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 512}
`, SigningKey, filepath.Join(dir, "checkpoints"))
}

// SignIn returns a client for a user with a blank password.
func (r *Rig) SignIn(ctx context.Context, user string) (*client.Client, error) {
	c, err := client.New(client.Options{Master: r.MasterURL, TLS: r.Trust})
	if err != nil {
		return nil, err
	}
	_, err = c.Login(ctx, user, "")
	return c, err
}

// Eventually polls until the condition holds. The first looks follow each other soon; then there are four in a second, because each look at a
// master has the processor work for milliseconds, and conditions often take many seconds.
func Eventually(t testing.TB, what string, cond func() (bool, error)) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	var last error
	for pause := 25 * time.Millisecond; time.Now().Before(deadline); pause = min(pause*3/2, 250*time.Millisecond) {
		ok, err := cond()
		if ok {
			return
		}
		last = err
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, t.Context().Err())
		case <-time.After(pause):
		}
	}
	t.Fatalf("%s did not happen within %s (last: %v)", what, Patience, last)
}

// Submit creates an experiment from a configuration and files.
func (r *Rig) Submit(t testing.TB, config string, files map[string]string) int {
	t.Helper()
	active := true
	req := v1.CreateExperimentRequest{Config: &config, Activate: &active}
	for path, content := range files {
		req.ModelDefinition = append(req.ModelDefinition, v1.File{Path: path, Type: 48, Mode: 0o100644, Content: []byte(content)})
	}
	resp, err := r.Client.CreateExperiment(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return resp.Experiment.ID
}

// WaitState waits until an experiment is in one of the states.
func (r *Rig) WaitState(t testing.TB, id int, states ...v1.ExperimentState) v1.ExperimentState {
	t.Helper()
	var at v1.ExperimentState
	Eventually(t, fmt.Sprintf("experiment %d in %v", id, states), func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil {
			return false, err
		}
		at = e.Experiment.State
		for _, s := range states {
			if at == s {
				return true, nil
			}
		}
		if Terminal(at) {
			t.Fatalf("experiment %d ended in %s; its log:\n%s", id, at, r.Log(t, id))
		}
		return false, fmt.Errorf("the experiment is in %s", at)
	})
	return at
}

// Terminal reports whether an experiment in this state has ended.
func Terminal(s v1.ExperimentState) bool {
	return s == v1.ExperimentStateCompleted || s == v1.ExperimentStateCanceled || s == v1.ExperimentStateError
}

// Trial returns the experiment's only trial.
func (r *Rig) Trial(t testing.TB, id int) v1.Trial {
	t.Helper()
	var trial v1.Trial
	Eventually(t, "a trial", func() (bool, error) {
		list, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
		if err != nil || len(list) != 1 {
			return false, fmt.Errorf("%d trials: %w", len(list), err)
		}
		trial = list[0]
		return true, nil
	})
	return trial
}

// Log returns the log of the experiment's only trial.
func (r *Rig) Log(t testing.TB, id int) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range r.Client.TrialLogs(t.Context(), r.Trial(t, id).ID, client.LogQuery{}) {
		if err != nil {
			t.Errorf("log: %v", err)
			break
		}
		b.WriteString(rec.Message)
	}
	return b.String()
}

// Det runs det against the cluster.
func (r *Rig) Det(t testing.TB, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), args...)
	cmd.Env = append(os.Environ(), "DET_MASTER="+r.MasterURL, "DET_USER=determined", "DET_PASS=", "HOME="+t.TempDir(), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Script returns the files of an experiment with a single script.
func Script(code string) map[string]string { return map[string]string{"train.py": code} }

// Run runs det with additional environment variables and an empty home folder.
func (r *Rig) Run(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "DET_MASTER=" + r.MasterURL, "DET_USER=determined", "DET_PASS=", "HOME=" + t.TempDir()}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("det %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// NewUser creates a user with a password, and signs in.
func (r *Rig) NewUser(t testing.TB, name, password string) *client.Client {
	t.Helper()
	admin, err := r.SignIn(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateUser(t.Context(), v1.User{Username: name, Active: true}, password); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Master: r.MasterURL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Login(t.Context(), name, password); err != nil {
		t.Fatal(err)
	}
	return c
}
