package integration

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

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/nomad/servers"
)

// A neighbour is a second Detent cluster in the same Nomad namespace: a master
// with a database of its own.
type neighbour struct {
	*rig
	cmd *exec.Cmd
	env []string
	log string
}

// neighbour makes one and starts its master. Its experiments are numbered from
// first on.
func (r *rig) neighbour(t *testing.T, first int) *neighbour {
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
	alter(t, r, "CREATE DATABASE "+database)
	n := &neighbour{rig: &rig{}, log: filepath.Join(filepath.Dir(r.Cluster.StateDir()), database+".log")}
	*n.rig = *r
	n.MasterURL, n.DSN = fmt.Sprintf("http://127.0.0.1:%d", port), dsn.String()
	config := filepath.Join(t.TempDir(), "master.yaml")
	if err := os.WriteFile(config, []byte(masterConfig(filepath.Dir(n.log))), 0o600); err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(filepath.Join(r.bin, "det-master"), "serve", "--config", config)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DET") && !strings.HasPrefix(kv, "NOMAD_") && !strings.HasPrefix(kv, "CONSUL_") {
			n.env = append(n.env, kv)
		}
	}
	n.env = append(n.env, "DETENT_LISTEN="+strings.TrimPrefix(n.MasterURL, "http://"), "DETENT_DATABASE="+n.DSN,
		"DETENT_CLUSTER_NAME=neighbour", "DETENT_NOMAD_ADDRESS="+r.NomadURL, "DETENT_CONSUL_ADDRESS="+r.ConsulURL,
		"DETENT_RUNNER_PATH="+filepath.Join(r.bin, "det-runner"), "DETENT_HARNESS_PATH="+filepath.Join(r.root, "plugins", "harness"))
	if _, token := r.ConsulTokens(); token != "" {
		n.env = append(n.env, "DETENT_CONSUL_TOKEN="+token)
	}
	if token := r.policyToken(t); token != "" {
		n.env = append(n.env, "DETENT_NOMAD_TOKEN="+token)
	}
	n.start(t)
	t.Cleanup(func() { n.stop(t) })
	eventually(t, "the neighbour answers", func() (bool, error) {
		var err error
		n.client, err = n.signIn(t.Context(), "determined")
		return err == nil, err
	})
	alter(t, n.rig, fmt.Sprintf("ALTER TABLE experiments ALTER COLUMN id RESTART WITH %d", first))
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

// stop ends the neighbour with all that it runs.
func (n *neighbour) stop(t *testing.T) {
	t.Helper()
	if t.Failed() {
		text, _ := os.ReadFile(n.log)
		t.Logf("the neighbour's log:\n%s", text)
	}
	n.kill(t)
}

// looked waits until a master has read all there is in Nomad, later than the
// start of an attempt of somebody's.
func looked(t testing.TB, r *rig, at uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("a full look at Nomad's index %d", at), func() (bool, error) {
		index := value[int64](t, r, `SELECT nomad_index FROM cluster`)
		return uint64(index) >= at, fmt.Errorf("it has seen %d", index)
	})
}

// index is Nomad's index of the newest allocation of a training.
func (k *training) index(t testing.TB) uint64 {
	t.Helper()
	return uint64(value[int64](t, k.rig, `SELECT max(m.nomad_index) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.task_id = $1`, k.taskID))
}

// TestNeighbourIsLeftAlone: two clusters share a namespace, and even the numbers
// of their experiments. Each sees and touches its own jobs only, also when its
// master starts anew and looks at everything for the first time.
func TestNeighbourIsLeftAlone(t *testing.T) {
	r := start(t)
	mine := r.train(t, trainOptions{})
	n := r.neighbour(t, mine.experiment)
	theirs := n.train(t, trainOptions{})
	if mine.experiment != theirs.experiment {
		t.Fatalf("the experiments are %d and %d; this test wants the same number", mine.experiment, theirs.experiment)
	}
	r.kill9(t, "master")
	n.restart(t)
	newest := max(mine.index(t), theirs.index(t))
	looked(t, r, newest)
	looked(t, n.rig, newest)
	mine.advance(t, checkpointEvery)
	theirs.advance(t, checkpointEvery)
	mine.checkAlone(t)
	theirs.checkAlone(t)
	mine.checkHides(t, theirs)
	theirs.checkHides(t, mine)

	if err := theirs.client.KillExperiment(t.Context(), theirs.experiment); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the neighbour's training ends", func() (bool, error) {
		e, err := theirs.client.Experiment(t.Context(), theirs.experiment)
		return err == nil && terminal(e.Experiment.State), errors.Join(err, errors.New(theirs.attempts(t)))
	})
	mine.advance(t, checkpointEvery)
	mine.checkAlone(t)
	mine.finish(t)
	mine.checkWhole(t)
}

// checkHides: nothing of the other's training is shown on this cluster.
func (k *training) checkHides(t testing.TB, other *training) {
	t.Helper()
	if k.taskID == other.taskID {
		t.Errorf("both trainings are task %s", k.taskID)
	}
	list, err := client.Collect(k.client.Experiments(t.Context(), client.ExperimentQuery{Name: t.Name()}))
	if err != nil || len(list) != 1 || list[0].ID != k.experiment {
		t.Errorf("experiments of this name: %+v, %v; want one's own", list, err)
	}
	out, err := k.det(t, "task", "list", "--json")
	if err != nil || !strings.Contains(out, k.taskID) || strings.Contains(out, other.taskID) {
		t.Errorf("det task list shows, %v: %s\nwant %s and not %s", err, out, k.taskID, other.taskID)
	}
}
