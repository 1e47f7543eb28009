package experiments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// TestRunnersOfNodes: tasks start the runner that their node has, and fetch none. If the node has lost it, the first attempt does not
// start, which counts as no restart, and the next one fetches the runner.
func TestRunnersOfNodes(t *testing.T) {
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "runners"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "runners"); err != nil {
			t.Error(err)
		}
	}()
	var path string
	rig.Eventually(t, "the master knows the node's runner", func() (bool, error) {
		path = runnerOfNode(t, r)
		return path != "", nil
	})
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if artifacts := onNode(t, r, 1); artifacts != 0 {
		t.Errorf("the job fetches %d files, although its node has the runner", artifacts)
	}

	lost := filepath.Join(t.TempDir(), filepath.Base(path))
	setRunner(t, r, lost)
	rig.Eventually(t, "the master knows the other path", func() (bool, error) { return runnerOfNode(t, r) == lost, nil })
	if artifacts := onNode(t, r, 2); artifacts != 1 {
		t.Errorf("after an attempt that did not start, the job fetches %d files", artifacts)
	}
}

// runnerOfNode is the path of the node's runner, as the master knows it.
func runnerOfNode(t *testing.T, r *rig.Rig) string {
	t.Helper()
	list, err := rig.Query(t, r, pgx.RowTo[string], `SELECT coalesce(inventory->'Facts'->>$1, '') FROM nodes WHERE name = 'integration-runners' AND status = 'ready'`, pool.RunnerMeta)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// setRunner sets the path in the node's metadata.
func setRunner(t *testing.T, r *rig.Rig, path string) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := nomad.Nodes().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Name != "integration-runners" || n.Status != api.NodeStatusReady {
			continue
		}
		request := &api.NodeMetaApplyRequest{NodeID: n.ID, Meta: map[string]*string{strings.TrimPrefix(pool.RunnerMeta, "meta."): &path}}
		if _, err := nomad.Nodes().Meta().Apply(request, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// onNode runs an experiment on the node, which takes so many attempts and no restart, and returns how many files the last one's job fetched.
func onNode(t *testing.T, r *rig.Rig, attempts int) int {
	t.Helper()
	id := r.Submit(t, rig.Config(`environment: {nomad: {constraints: [{attribute: "${node.unique.name}", value: integration-runners}]}}`), rig.Script("print('it runs')"))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	type attempt struct{ ID, Reason string }
	list, err := rig.Query(t, r, pgx.RowToStructByPos[attempt], `SELECT a.id, a.exit_reason FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1 ORDER BY a.run_id`, id)
	if err != nil {
		t.Fatal(err)
	}
	if trial := r.Trial(t, id); len(list) != attempts || trial.Restarts != 0 {
		t.Errorf("%d restarts, and the attempts %+v; want no restart in %d attempts", trial.Restarts, list, attempts)
	}
	for _, a := range list[:len(list)-1] {
		if !strings.Contains(a.Reason, "did not start on node integration-runners") {
			t.Errorf("attempt %s: %s", a.ID, a.Reason)
		}
	}
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := nomad.Jobs().Info(jobspecs.JobID(list[len(list)-1].ID), nil)
	if err != nil {
		t.Fatal(fmt.Errorf("the job of the last attempt: %w", err))
	}
	return len(job.TaskGroups[0].Tasks[0].Artifacts)
}
