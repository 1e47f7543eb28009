package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

const fairSlots = 8

const fairConfig = `
cluster_name: fair
checkpoint_storage: {type: shared_fs, host_path: %s}
resource_pools:
  - name: shared
    node_pool: gpu
    driver: raw_exec
    slots: device
    device: nvidia/gpu
    memory_mb_per_slot: 64
    scheduler: {type: fair_share, workspace_weights: {research: 3}, min_run_time: 1s}
`

// A sharedPool is a cluster with a node of eight simulated GPUs, for which two workspaces
// compete: research has the weight 3, and product 1.
type sharedPool struct {
	*rig.Rig
	dir string
}

func startSharedPool(t *testing.T) *sharedPool {
	t.Helper()
	r, dir := rig.NewOwn(t, "fair")
	r.StartCluster(t, dir, local.Options{Name: "fair", Ephemeral: true, GPUs: local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")},
		Master: local.Master{Config: fmt.Sprintf(fairConfig, filepath.Join(dir, "checkpoints"))}})
	if err := r.AddClient(t.Context(), local.Client{Name: "g", Pool: "gpu", GPUs: fairSlots}); err != nil {
		t.Fatal(err)
	}
	s := &sharedPool{Rig: r, dir: dir}
	rig.Eventually(t, "eight GPUs", func() (bool, error) {
		pools, err := r.Client.ResourcePools(t.Context())
		return err == nil && len(pools) == 1 && pools[0].SlotsAvailable == fairSlots, fmt.Errorf("%+v, %w", pools, err)
	})
	for _, workspace := range []string{"research", "product"} {
		for _, args := range [][]string{{"workspace", "create", workspace}, {"project", "create", workspace, "models"}} {
			if out, err := r.Det(t, args...); err != nil {
				t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, workspace), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// train submits an experiment with this number of trials of one slot, which train until the test
// stops the trials of their workspace.
func (s *sharedPool) train(t *testing.T, workspace string, trials int) int {
	t.Helper()
	return s.Submit(t, fmt.Sprintf(`
name: %[1]s
workspace: %[1]s
project: models
entrypoint: python3 train.py
max_restarts: 0
hyperparameters: {folder: %[2]s}
searcher: {name: random, metric: loss, max_trials: %[3]d, max_concurrent_trials: %[3]d, max_length: {batches: 10}}
`, workspace, filepath.Join(s.dir, workspace), trials), rig.Script(rig.Patient))
}

func (s *sharedPool) stop(t *testing.T, workspace string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, workspace, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// hold waits until programs of each workspace run on this number of slots, and none is being preempted.
func (s *sharedPool) hold(t *testing.T, research, product int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("research holds %d slots and product %d", research, product), func() (bool, error) {
		type row struct {
			Workspace       string
			Running, Placed int
			Leaving         int
		}
		list, err := rig.Query(t, s.Rig, pgx.RowToStructByPos[row], `
			SELECT w.name, count(*) FILTER (WHERE a.state = 'RUNNING'), count(*), count(a.preempt_at)
			FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN workspaces w ON w.id = k.workspace_id
			WHERE a.state NOT IN ('PENDING', 'TERMINATED') AND a.slots > 0 GROUP BY w.name`)
		have := map[string]row{}
		for _, x := range list {
			have[x.Workspace] = x
		}
		for workspace, want := range map[string]int{"research": research, "product": product} {
			if x := have[workspace]; x.Running != want || x.Placed != want || x.Leaving != 0 {
				return false, fmt.Errorf("%+v, %w", list, err)
			}
		}
		return true, nil
	})
}

// continues reports whether a trial has begun after a step of an earlier attempt.
func (s *sharedPool) continues(t *testing.T, trial int) bool {
	t.Helper()
	for line, err := range s.Client.TrialLogs(t.Context(), trial, client.LogQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, step, found := strings.Cut(strings.TrimSpace(line.Message), "begins after "); found && step != "0" {
			return true
		}
	}
	return false
}

// TestFairShare: a workspace uses the idle slots of another one, is preempted with checkpoints until
// both have the slots of their weights and not further, and uses idle slots again.
func TestFairShare(t *testing.T) {
	s := startSharedPool(t)
	if pools, err := s.Client.ResourcePools(t.Context()); err != nil || pools[0].SchedulerType != v1.SchedulerTypeFairShare || !pools[0].Preemptible {
		t.Errorf("the pool: %+v, %v", pools, err)
	}
	product := s.train(t, "product", fairSlots+2)
	s.hold(t, 0, fairSlots)
	research := s.train(t, "research", fairSlots)
	s.hold(t, 6, 2)
	ended := rig.Value[string](t, s.Rig, `SELECT coalesce(string_agg(DISTINCT w.name || ' ' || a.outcome || ' ' || a.preempt_reason, ', '), '') || ' ' || count(*)
		FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN workspaces w ON w.id = k.workspace_id WHERE a.state = 'TERMINATED'`)
	if !strings.HasPrefix(ended, fmt.Sprintf("product preempted preempted for experiment %d of workspace research", research)) || !strings.HasSuffix(ended, " 6") {
		t.Errorf("want six attempts of product preempted, and no others; ended: %s", ended)
	}
	if n := rig.Value[int](t, s.Rig, `SELECT count(*) FROM checkpoints WHERE state = 'COMPLETED'`); n != 6 {
		t.Errorf("%d checkpoints were stored", n)
	}
	for experiment, want := range map[int]string{product: "workspace product holds 2 of its fair 2 slots", research: "workspace research holds 6 of its fair 6 slots"} {
		rig.Eventually(t, "a trial says: "+want, func() (bool, error) {
			var all []string
			for _, x := range s.Trials(t, experiment) {
				all = append(all, x.WaitingReason)
			}
			return strings.Contains(strings.Join(all, "\n"), want), fmt.Errorf("the waiting reasons are %q", all)
		})
	}
	s.stop(t, "research")
	s.hold(t, 0, fairSlots)
	s.WaitState(t, research, v1.ExperimentStateCompleted)
	s.stop(t, "product")
	s.WaitState(t, product, v1.ExperimentStateCompleted)
	continued := 0
	for _, x := range s.Trials(t, product) {
		if x.Restarts != 0 {
			t.Errorf("trial %d counts %d restarts; being preempted is none", x.ID, x.Restarts)
		}
		if s.continues(t, x.ID) {
			continued++
		}
	}
	if continued != 6 {
		t.Errorf("%d trials of product continued from their checkpoints, want 6", continued)
	}
}
