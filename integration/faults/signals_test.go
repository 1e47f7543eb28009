package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// gang is a script on each of two nodes. Rank 0 stores something when it gets its signal; rank 1 knows no signal.
const gang = `
exec 2>/dev/null
rank=${NOMAD_GROUP_NAME#rank-}
[ $rank = 1 ] || trap 'echo "rank $rank saved"; exit 0' USR2
echo "rank $rank begins"
while [ ! -e $1/stop ]; do sleep 0.1; done
`

// gangKnowsOnlySignals drains one of two nodes of a trial whose programs know only signals: both get theirs, both end as preempted, and
// the trial continues when it has two nodes again.
func gangKnowsOnlySignals(t *testing.T, r *rig.Rig) {
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	id := r.Submit(t, fmt.Sprintf("name: gang\nentrypoint: [sh, gang.sh, %s]\nsearcher: {name: single, metric: loss, max_length: 1}\nmax_restarts: 0\n"+
		"resources: {slots_per_trial: 8}\npreemption: {signal: SIGUSR2, grace: 60s}\n", folder), map[string]string{"gang.sh": gang})
	t.Cleanup(func() {
		if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, id); err != nil {
			t.Error(err)
		}
	})
	for _, rank := range []string{"0", "1"} {
		r.WaitLog(t, id, "rank "+rank+" begins")
	}
	task := r.Trial(t, id).TaskID
	node := rig.Value[string](t, r, `SELECT node_id FROM members WHERE allocation_id = $1 AND rank = 1`, task+".1")
	drain := func(spec *api.DrainSpec) {
		t.Helper()
		if _, err := nomad.Nodes().UpdateDrain(node, spec, spec == nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { drain(nil) })
	drain(&api.DrainSpec{Deadline: time.Hour})
	rig.Eventually(t, "the trial waits for another attempt", func() (bool, error) {
		return rig.Value[int](t, r, `SELECT count(*) FROM allocations WHERE task_id = $1 AND run_id = 2`, task) == 1, nil
	})
	ends := rig.Value[string](t, r, `SELECT a.outcome || ', ' || string_agg(format('rank %s %s with %s', m.rank, m.preempted, m.exit_code), ', ' ORDER BY m.rank)
		FROM allocations a JOIN members m ON m.allocation_id = a.id WHERE a.id = $1 GROUP BY a.id`, task+".1")
	if want := "preempted, rank 0 exited with 0, rank 1 exited with 140"; ends != want { // 128 + SIGUSR2
		t.Errorf("the attempt: %s, want %s", ends, want)
	}
	rig.Holds(t, "its log", r.Log(t, id), "rank 0 saved")
	drain(nil)
	rig.Write(t, folder, "stop", "")
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	if trial := r.Trial(t, id); trial.Restarts != 0 {
		t.Errorf("%d restarts are counted against it", trial.Restarts)
	}
}
