package faults

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers"
)

// A neighbour is a second Detent cluster in the same Nomad namespace: a master
// with a database of its own.
type neighbour struct {
	*rig.Rig
	cmd *exec.Cmd
	env []string
	log string
}

// neighbour creates a neighbour and starts its master. The ids of its experiments begin with first.
func newNeighbour(t *testing.T, r *rig.Rig, first int) *neighbour {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := url.Parse(r.DSN)
	if err != nil {
		t.Fatal(err)
	}
	database := fmt.Sprintf("neighbour%d", port)
	dsn.Path = "/" + database
	rig.Alter(t, r, "CREATE DATABASE "+database)
	n := &neighbour{Rig: &rig.Rig{}, log: filepath.Join(filepath.Dir(r.Cluster.StateDir()), database+".log")}
	*n.Rig = *r
	n.MasterURL, n.DSN = fmt.Sprintf("http://127.0.0.1:%d", port), dsn.String()
	config := filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(config, []byte(rig.MasterConfig(filepath.Dir(n.log))), 0o600); err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(filepath.Join(r.Bin, "det-master"), "serve", "--config", config)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DET") && !strings.HasPrefix(kv, "NOMAD_") && !strings.HasPrefix(kv, "CONSUL_") {
			n.env = append(n.env, kv)
		}
	}
	n.env = append(n.env, "DETENT_LISTEN="+strings.TrimPrefix(n.MasterURL, "http://"), "DETENT_DATABASE="+n.DSN,
		"DETENT_CLUSTER_NAME=neighbour", "DETENT_NOMAD_ADDRESS="+r.NomadURL, "DETENT_CONSUL_ADDRESS="+r.ConsulURL,
		"DETENT_RUNNER_PATH="+filepath.Join(r.Bin, "det-runner"), "DETENT_HARNESS_PATH="+filepath.Join(r.Root, "plugins", "harness"))
	if _, token := r.ConsulTokens(); token != "" {
		n.env = append(n.env, "DETENT_CONSUL_TOKEN="+token)
	}
	if token := r.PolicyToken(t); token != "" {
		n.env = append(n.env, "DETENT_NOMAD_TOKEN="+token)
	}
	n.start(t)
	t.Cleanup(func() { n.stop(t) })
	rig.Eventually(t, "the neighbour answers", func() (bool, error) {
		var err error
		n.Client, err = n.SignIn(t.Context(), "determined")
		return err == nil, err
	})
	rig.Alter(t, n.Rig, fmt.Sprintf("ALTER TABLE experiments ALTER COLUMN id RESTART WITH %d", first))
	return n
}

// start starts the master's process.
func (n *neighbour) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(n.cmd.Path, n.cmd.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = n.env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.cmd = cmd
}

// restart kills the master and starts another.
func (n *neighbour) restart(t *testing.T) {
	t.Helper()
	n.kill(t)
	n.start(t)
}

func (n *neighbour) kill(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = n.cmd.Wait() // it was killed
}

// stop ends the neighbour and its tasks.
func (n *neighbour) stop(t *testing.T) {
	t.Helper()
	if t.Failed() {
		text, _ := os.ReadFile(n.log)
		t.Logf("the neighbour's log:\n%s", text)
	}
	n.kill(t)
}

// looked waits until a master has listed everything in Nomad after the start of an attempt.
func looked(t testing.TB, r *rig.Rig, at uint64) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("a full look at Nomad's index %d", at), func() (bool, error) {
		index := rig.Value[int64](t, r, `SELECT nomad_index FROM cluster`)
		return uint64(index) >= at, fmt.Errorf("the master has seen index %d", index)
	})
}

// index is Nomad's index of the newest allocation of a training.
func index(t testing.TB, k *rig.Training) uint64 {
	t.Helper()
	return uint64(rig.Value[int64](t, k.Rig, `SELECT max(m.nomad_index) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.task_id = $1`, k.TaskID))
}

// TestNeighbourIsLeftAlone: two clusters share a namespace and use the same ids of experiments. Each
// one sees and changes only its own jobs, also after a restart of its master, which lists everything.
func TestNeighbourIsLeftAlone(t *testing.T) {
	r := rig.Start(t)
	mine := r.Train(t, rig.TrainOptions{})
	n := newNeighbour(t, r, mine.Experiment)
	theirs := n.Train(t, rig.TrainOptions{})
	if mine.Experiment != theirs.Experiment {
		t.Fatalf("the experiments are %d and %d; this test wants the same number", mine.Experiment, theirs.Experiment)
	}
	r.Kill9(t, "master")
	n.restart(t)
	newest := max(index(t, mine), index(t, theirs))
	looked(t, r, newest)
	looked(t, n.Rig, newest)
	mine.Advance(t, rig.CheckpointEvery)
	theirs.Advance(t, rig.CheckpointEvery)
	mine.CheckAlone(t)
	theirs.CheckAlone(t)
	checkHides(t, mine, theirs)
	checkHides(t, theirs, mine)

	if err := client.Act(t.Context(), theirs.Client, v1.KillExperiment, theirs.Experiment); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "the neighbour's training ends", func() (bool, error) {
		e, err := client.Call(t.Context(), theirs.Client, v1.GetExperiment, theirs.Experiment)
		return err == nil && rig.Terminal(e.Experiment.State), errors.Join(err, errors.New(theirs.Attempts(t)))
	})
	mine.Advance(t, rig.CheckpointEvery)
	mine.CheckAlone(t)
	mine.Finish(t)
	mine.CheckWhole(t)
}

// checkHides tests that this cluster does not show the training of the other one.
func checkHides(t testing.TB, k *rig.Training, other *rig.Training) {
	t.Helper()
	if k.TaskID == other.TaskID {
		t.Errorf("both trainings are task %s", k.TaskID)
	}
	list, err := client.List(t.Context(), k.Client, v1.ListExperiments, client.Page{}, &v1.GetExperimentsRequest{Name: t.Name()})
	if err != nil || len(list) != 1 || list[0].ID != k.Experiment {
		t.Errorf("experiments of this name: %+v, %v; want one's own", list, err)
	}
	out, err := k.Det(t, "task", "list", "--json")
	if err != nil || !strings.Contains(out, k.TaskID) || strings.Contains(out, other.TaskID) {
		t.Errorf("det task list shows, %v: %s\nwant %s and not %s", err, out, k.TaskID, other.TaskID)
	}
}
