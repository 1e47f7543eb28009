package experiments

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	v1 "github.com/detent-ml/detent/master/v1"
)

// trainIn is train for a trial with one GPU that asks for something.
func (g *gpuNode) trainIn(t testing.TB, name, asks string) int {
	t.Helper()
	return g.Submit(t, fmt.Sprintf(`
name: %s
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 0
resources: {slots_per_trial: 1, resource_pool: gpu%s}
environment: {environment_variables: ["END=%s"]}
`, name, asks, filepath.Join(g.ends, name)), rig.Script(`
import os, time
print("runs")
while not os.path.exists(os.environ["END"]):
    time.sleep(0.05)
`))
}

// blocked lists the jobs of these experiments' trials of which Nomad has evaluations that it could not carry out.
func (g *gpuNode) blocked(t testing.TB, nomad *api.Client, experiments ...int) (jobs []string) {
	t.Helper()
	list, _, err := nomad.Evaluations().List(&api.QueryOptions{Namespace: "*", Filter: `Status == "blocked"`})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range experiments {
		of := jobspecs.JobID(g.Trial(t, id).TaskID + ".")
		for _, e := range list {
			if strings.HasPrefix(e.JobID, of) {
				jobs = append(jobs, e.JobID)
			}
		}
	}
	return jobs
}

// TestMemoryOfANodeIsCounted: of two trials that each ask for 60 % of a node's memory, the second waits in the master's queue with the
// reason, and Nomad never gets a job for which it has no room. A trial that leaves the second one's memory free starts meanwhile. What the
// scheduler has counted is what Nomad counts.
func TestMemoryOfANodeIsCounted(t *testing.T) {
	g := startGPUs(t, "amounts")
	nomad, err := g.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	var node *api.Node
	rig.Eventually(t, "Nomad lists the node", func() (bool, error) {
		list, _, err := nomad.Nodes().List(&api.QueryOptions{Filter: fmt.Sprintf("Name == %q and Status == `ready`", g.name)})
		if err != nil || len(list) != 1 {
			return false, err
		}
		node, _, err = nomad.Nodes().Info(list[0].ID, nil)
		return err == nil, err
	})
	free := int(node.NodeResources.Memory.MemoryMB) - int(node.ReservedResources.Memory.MemoryMB)
	asks := free * 6 / 10
	first := g.trainIn(t, "first", fmt.Sprintf(", memory: %dMiB", asks))
	g.WaitLog(t, first, "runs")
	second := g.trainIn(t, "second", fmt.Sprintf(", memory: %dMiB", asks))
	g.waits(t, second, fmt.Sprintf("needs 1 slot; node %s has 3 slots free, but %d MiB of memory; the task needs %d MiB", g.name, free-asks, asks))
	third := g.trainIn(t, "third", "")
	g.WaitLog(t, third, "runs")
	for _, id := range []int{first, third} {
		attempt := g.Allocation(t, id)
		counted := rig.Value[string](t, g.Rig, fmt.Sprintf(`SELECT mhz || ' MHz, ' || memory_mb || ' MB' FROM members WHERE allocation_id = '%s'`, attempt))
		if got := nomadCounts(t, nomad, jobspecs.JobID(attempt)); got != counted {
			t.Errorf("the scheduler has counted %s of experiment %d, and Nomad %s", counted, id, got)
		}
	}
	if jobs := g.blocked(t, nomad, first, second, third); len(jobs) > 0 {
		t.Errorf("Nomad has no room for %q", jobs)
	}
	g.end(t, "first")
	g.WaitLog(t, second, "runs")
	g.end(t, "second")
	g.end(t, "third")
	for _, id := range []int{first, second, third} {
		g.WaitState(t, id, v1.ExperimentStateCompleted)
	}
	if n := rig.Value[int](t, g.Rig, fmt.Sprintf(`SELECT count(*) FROM allocations a JOIN trials t ON t.task_id = a.task_id WHERE t.experiment_id = %d`, second)); n != 1 {
		t.Errorf("the second trial had %d attempts", n)
	}
	if jobs := g.blocked(t, nomad, first, second, third); len(jobs) > 0 {
		t.Errorf("Nomad had no room for %q", jobs)
	}
}

// nomadCounts adds up what Nomad counts for the tasks of a job's allocation.
func nomadCounts(t testing.TB, nomad *api.Client, job string) string {
	t.Helper()
	list, _, err := nomad.Jobs().Allocations(job, false, nil)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d allocations: %v", len(list), err)
	}
	a, _, err := nomad.Allocations().Info(list[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mhz, memory int64
	for _, task := range a.AllocatedResources.Tasks {
		mhz, memory = mhz+task.Cpu.CpuShares, memory+task.Memory.MemoryMB
	}
	return fmt.Sprintf("%d MHz, %d MB", mhz, memory)
}
