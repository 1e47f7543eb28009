package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// counter is a script without any package. It saves at SIGTERM, and once it has been continued, it ends after three steps.
const counter = `
exec 2>/dev/null
mkdir -p out/deep
n=$(cat out/deep/count || echo 0)
from=$n
trap 'echo $n > out/deep/count; exit 0' TERM
echo "begins after $n"
while [ $from = 0 ] || [ $n -lt $((from+3)) ]; do
	n=$((n+1))
	echo "step $n"
	sleep 0.2
done
echo $n > out/deep/count
`

// continuesElsewhere preempts a trial whose program knows only signals by a move to the pool "other", which has a node of its own. It continues there from the
// folder that its runner keeps in the storage, and loses at most one step. there lists the files of a checkpoint in the storage.
func continuesElsewhere(t *testing.T, r *rig.Rig, config string, there func(experiment int, folder string) []string) {
	t.Helper()
	config = strings.Replace(config, "entrypoint: python3 count.sh", "entrypoint: sh count.sh", 1) +
		"preemption: {signal: SIGTERM, always: true}\nresume: {path: out}\n"
	id := r.Submit(t, config, map[string]string{"count.sh": counter})
	r.WaitLog(t, id, "step 3\n")
	if out, err := r.Det(t, "job", "update", r.Experiment(t, id).JobID, "--resource-pool", "other"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	parts := strings.SplitAfter(log, "begins after ")
	if len(parts) != 3 {
		t.Fatalf("the program began %d times; its log:\n%s", len(parts)-1, log)
	}
	steps := regexp.MustCompile(`step (\d+)\n`).FindAllStringSubmatch(parts[1], -1)
	reached, after := rig.Number(t, steps[len(steps)-1][1]), rig.First(t, `^(\d+)`, parts[2])
	if after < reached-1 || after > reached+1 { // the line of a step may be lost with the program
		t.Errorf("the program had reached step %d, and continues after step %d", reached, after)
	}
	task := r.Trial(t, id).TaskID
	if nodes := rig.Value[int](t, r, `SELECT count(DISTINCT m.node_id) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.task_id = $1`, task); nodes != 2 {
		t.Errorf("the attempts were on %d nodes, want two", nodes)
	}
	if end := rig.Value[string](t, r, `SELECT outcome || ': ' || preempt_reason FROM allocations WHERE id = $1`, task+".1"); end != "preempted: it moves to pool other" {
		t.Errorf("the first attempt was %q", end)
	}
	rig.Eventually(t, "of the two copies of the folder, the policy keeps the newest", func() (bool, error) {
		list, err := client.List(t.Context(), r.Client, v1.ListTrialCheckpoints, client.Page{}, nil, r.Trial(t, id).ID)
		var found []string
		for _, k := range list {
			found = append(found, fmt.Sprintf("%s %v", strings.TrimPrefix(string(k.State), "STATE_"), there(id, k.UUID+"/")))
		}
		slices.Sort(found)
		return slices.Equal(found, []string{"COMPLETED [deep/count]", "DELETED []"}), fmt.Errorf("the copies are %q (%w)", found, err)
	})
}
