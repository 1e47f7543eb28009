package experiments

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

const quotaSlots = 8

const quotaConfig = `
cluster_name: quotas
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

// A sharedPool is a cluster with a node of eight simulated GPUs, for which two workspaces compete.
type sharedPool struct{ *rig.Teams }

func startSharedPool(t *testing.T) sharedPool {
	t.Helper()
	r, dir := rig.NewOwn(t, "quotas")
	r.StartCluster(t, dir, local.Options{Name: "quotas", Ephemeral: true, GPUs: local.GPUs{Binary: filepath.Join(r.Bin, "det-gpu")},
		Master: local.Master{Config: fmt.Sprintf(quotaConfig, filepath.Join(dir, "checkpoints"))}})
	if err := r.AddClient(t.Context(), local.Client{Name: "g", Pool: "gpu", GPUs: quotaSlots}); err != nil {
		t.Fatal(err)
	}
	return sharedPool{r.NewTeams(t, "shared", quotaSlots, 1)}
}

// det runs a command as an administrator, which must succeed.
func (s sharedPool) det(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.Det(t, append([]string{"-u", "admin"}, args...)...)
	if err != nil {
		t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// says waits until a trial of an experiment waits for this reason.
func (s sharedPool) says(t *testing.T, experiment int, want string) {
	t.Helper()
	rig.Eventually(t, "a trial says: "+want, func() (bool, error) {
		var all []string
		for _, x := range s.Trials(t, experiment) {
			all = append(all, x.WaitingReason)
		}
		return strings.Contains(strings.Join(all, "\n"), want), fmt.Errorf("they say %q", all)
	})
}

// TestQuotasOnACluster: a workspace uses idle slots up to its hard bound and no further, gives back
// with checkpoints what is over its soft bound, and starts nothing when its slot-hours are used up.
func TestQuotasOnACluster(t *testing.T) {
	turn.First(t)
	s := startSharedPool(t)
	s.det(t, "quota", "set", "-w", "product", "--resource-pool", "shared", "--soft", "4", "--hard", "6")
	product := s.Train(t, "product", quotaSlots)
	s.Hold(t, 0, 6)
	s.says(t, product, "needs 1 slot; workspace product holds 6 of the 6 slots of its quota in pool shared, and administrators of the cluster can raise it")
	rig.Holds(t, "quota list", s.det(t, "quota", "list", "--csv"), ",product,,,shared,slots,6,4,6,used up")

	research := s.Train(t, "research", 4)
	s.Hold(t, 4, 4)
	if why := rig.Value[string](t, s.Rig, `SELECT string_agg(a.outcome || ': ' || a.preempt_reason, ', ' ORDER BY a.id) FROM allocations a WHERE a.state = 'TERMINATED'`); strings.Count(why, "preempted: preempted for experiment") != 2 ||
		strings.Count(why, "over a soft quota") != 2 {
		t.Errorf("two attempts of product were to leave: %s", why)
	}
	if n := rig.Value[int](t, s.Rig, `SELECT count(*) FROM checkpoints WHERE state = 'COMPLETED'`); n != 2 {
		t.Errorf("%d checkpoints were stored", n)
	}
	s.says(t, product, "workspace product holds 4 slots in pool shared, and over its soft quota of 4 it gets only slots that others leave idle")

	s.det(t, "quota", "set", "-w", "research", "--slot-hours-per", "day", "--hard", "0")
	s.Stop(t, "research")
	s.WaitState(t, research, v1.ExperimentStateCompleted)
	s.Hold(t, 0, 6)
	again := s.Train(t, "research", 1)
	s.says(t, again, "slot-hours of its quota of this day in all pools")
	s.det(t, "quota", "unset", "-w", "research", "--slot-hours-per", "day")
	s.WaitState(t, again, v1.ExperimentStateCompleted)
	s.Stop(t, "product")
	s.WaitState(t, product, v1.ExperimentStateCompleted)
}
