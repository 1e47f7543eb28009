package frameworks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
)

const (
	teamSlots  = 4 * nodeGPUs
	trialSlots = 2 // of each of their trials
)

// teamsShare: a workspace uses the idle slots of another one, is preempted with checkpoints until both have the
// slots of their weights and not further, and uses idle slots again.
func teamsShare(t *testing.T, r *rig.Rig, pool string) {
	s := r.NewTeams(t, pool, teamSlots, trialSlots)
	if p := s.State(t); p.SchedulerType != v1.SchedulerTypeFairShare || !p.Preemptible {
		t.Errorf("the pool: %+v", p)
	}
	const researchPart, productPart = 12, 4
	product := s.Train(t, "product", teamSlots/trialSlots+1)
	s.Hold(t, 0, teamSlots)
	since := time.Now()
	research := s.Train(t, "research", teamSlots/trialSlots)
	s.Hold(t, researchPart, productPart)
	t.Logf("research and product hold %d and %d slots %s after research asked for some", researchPart, productPart, time.Since(since).Round(time.Millisecond))
	oneHolderEach(t, r, teamSlots)
	const preempted = researchPart / trialSlots
	ended := rig.Value[string](t, s.Rig, `SELECT coalesce(string_agg(DISTINCT w.name || ' ' || a.outcome || ' ' || a.preempt_reason, ', '), '') || ' ' || count(*)
		FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN workspaces w ON w.id = k.workspace_id WHERE a.state = 'TERMINATED' AND a.pool = $1`, pool)
	if !strings.HasPrefix(ended, fmt.Sprintf("product preempted preempted for experiment %d of workspace research", research)) || !strings.HasSuffix(ended, fmt.Sprint(" ", preempted)) {
		t.Errorf("want %d attempts of product preempted, and no others; ended: %s", preempted, ended)
	}
	if n := rig.Value[int](t, s.Rig, `SELECT count(*) FROM checkpoints c JOIN tasks k ON k.id = c.task_id WHERE c.state = 'COMPLETED' AND k.experiment_id = $1`, product); n != preempted {
		t.Errorf("%d checkpoints were stored", n)
	}
	for experiment, want := range map[int]string{
		product:  fmt.Sprintf("workspace product holds %d of its fair %[1]d slots", productPart),
		research: fmt.Sprintf("workspace research holds %d of its fair %[1]d slots", researchPart),
	} {
		rig.Eventually(t, "a trial says: "+want, func() (bool, error) {
			var all []string
			for _, x := range s.Trials(t, experiment) {
				all = append(all, x.WaitingReason)
			}
			return strings.Contains(strings.Join(all, "\n"), want), fmt.Errorf("the waiting reasons are %q", all)
		})
	}
	s.Stop(t, "research")
	s.Hold(t, 0, teamSlots)
	s.WaitState(t, research, v1.ExperimentStateCompleted)
	s.Stop(t, "product")
	s.WaitState(t, product, v1.ExperimentStateCompleted)
	continued := 0
	for _, x := range s.Trials(t, product) {
		if x.Restarts != 0 {
			t.Errorf("trial %d counts %d restarts; being preempted is none", x.ID, x.Restarts)
		}
		if s.Continues(t, x.ID) {
			continued++
		}
	}
	if continued != preempted {
		t.Errorf("%d trials of product continued from their checkpoints, want %d", continued, preempted)
	}
}
