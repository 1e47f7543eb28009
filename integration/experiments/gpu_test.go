package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// A gpuNode is a node of the shared cluster with four simulated GPUs, the only one
// of the pool gpu. It ends with the test.
type gpuNode struct {
	*rig.Rig
	name  string // in Nomad
	file  string // that says how its GPUs are
	state simulated.State
	ends  string // a trial of this test ends when it finds a file of its experiment's name here
}

// startGPUs adds a node. Each test has a name of its own for it, because a name that two nodes of a cluster have is no name.
func startGPUs(t *testing.T, name string) *gpuNode {
	t.Helper()
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "gpu", GPUs: 4}); err != nil {
		t.Fatal(err)
	}
	g := &gpuNode{Rig: r, name: r.Name + "-" + name, file: r.GPUState(name), ends: t.TempDir()}
	t.Cleanup(func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
	var err error
	if g.state, err = simulated.Read(g.file); err != nil {
		t.Fatal(err)
	}
	return g
}

// id is the id of one of the node's GPUs.
func (g *gpuNode) id(i int) string { return g.state.GPUs[i].ID }

// write changes the state of the simulated GPUs.
func (g *gpuNode) write(t testing.TB, change func([]simulated.GPU)) {
	t.Helper()
	state := g.state
	state.GPUs = slices.Clone(g.state.GPUs)
	change(state.GPUs)
	if err := simulated.Write(g.file, state); err != nil {
		t.Fatal(err)
	}
}

// train submits a trial with this number of GPUs. The trial prints the GPUs that it sees, and trains
// until end is called.
func (g *gpuNode) train(t testing.TB, name string, gpus int) int {
	t.Helper()
	return g.Submit(t, fmt.Sprintf(`
name: %s
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 0
resources: {slots_per_trial: %d, resource_pool: gpu}
environment: {environment_variables: ["END=%s"]}
`, name, gpus, filepath.Join(g.ends, name)), rig.Script(`
import os, time
import determined
print("sees", os.environ["CUDA_VISIBLE_DEVICES"])
print("told", ",".join(determined.get_cluster_info().gpu_uuids), os.environ["DET_SLOT_IDS"])
while not os.path.exists(os.environ["END"]):
    time.sleep(0.05)
`))
}

// end makes a trial end.
func (g *gpuNode) end(t testing.TB, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.ends, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sees waits until an experiment's program has printed the GPUs that it sees, in each of the places
// that name them.
func (g *gpuNode) sees(t testing.TB, id int) []string {
	t.Helper()
	g.WaitLog(t, id, "told ")
	var env, info string
	for line := range strings.Lines(g.Log(t, id)) {
		line = strings.TrimSpace(line)
		if _, rest, ok := strings.Cut(line, "|| sees "); ok {
			env = rest
		}
		if _, rest, ok := strings.Cut(line, "|| told "); ok {
			info = rest
		}
	}
	uuids, slots, _ := strings.Cut(info, " ")
	var ids []int
	if err := json.Unmarshal([]byte(slots), &ids); err != nil || uuids != env || len(ids) != len(strings.Split(env, ",")) {
		t.Errorf("experiment %d sees the GPUs %s, its variables name %s, and its slots are %s", id, env, uuids, slots)
	}
	return strings.Split(env, ",")
}

// waits waits until the reason why an experiment's trial waits contains a text.
func (g *gpuNode) waits(t testing.TB, id int, text string) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d waits because it %s", id, text), func() (bool, error) {
		trial := g.Trial(t, id)
		return strings.Contains(trial.WaitingReason, text), fmt.Errorf("the waiting reason is %q", trial.WaitingReason)
	})
}

// slots returns the rows of det slot list by the ids of the GPUs.
func (g *gpuNode) slots(t testing.TB) map[string]map[string]any {
	t.Helper()
	out, err := g.Det(t, "slot", "list", "--json")
	var list []map[string]any
	if err = errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil {
		t.Fatalf("det slot list: %v\n%s", err, out)
	}
	byID := map[string]map[string]any{}
	for _, s := range list {
		if id, _ := s["uuid"].(string); id != "" {
			byID[id] = s
		}
	}
	return byID
}

// theirSlots counts slots of the node in the table of Determined's own client.
func (g *gpuNode) theirSlots(t testing.TB, which func(map[string]string) bool) int {
	t.Helper()
	n := 0
	for _, s := range g.Person(t, "determined", "").Table(t, "slot", "list") {
		if s["Agent ID"] == g.name && which(s) {
			n++
		}
	}
	return n
}

// measured returns what the API says about what a GPU measures.
func (g *gpuNode) measured(t testing.TB, id string) (v1.DeviceMeasurement, error) {
	t.Helper()
	list, err := client.Call(t.Context(), g.Client, v1.MeasureNode, g.name)
	for _, d := range list.Devices {
		if d.UUID == id {
			return d, err
		}
	}
	return v1.DeviceMeasurement{}, err
}

// health returns the health of the node's GPUs in Nomad, by their ids.
func (g *gpuNode) health(t testing.TB) map[string]*api.NodeDevice {
	t.Helper()
	c, err := g.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := c.Nodes().List(&api.QueryOptions{Params: map[string]string{"resources": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*api.NodeDevice{}
	for _, n := range nodes {
		if n.Name != g.name {
			continue
		}
		for _, group := range n.NodeResources.Devices {
			for _, d := range group.Instances {
				all[d.ID] = d
			}
		}
	}
	return all
}

// pool returns the pool gpu from the API.
func (g *gpuNode) pool(t testing.TB) v1.ResourcePool {
	t.Helper()
	resp, err := client.Send(t.Context(), g.Client, v1.ListPools, v1.GetListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(resp.ResourcePools, func(p v1.ResourcePool) bool { return p.Name == "gpu" })
	if i < 0 {
		t.Fatalf("no pool gpu in %+v", resp.ResourcePools)
	}
	return resp.ResourcePools[i]
}

// offers waits until the pool has this number of slots.
func (g *gpuNode) offers(t testing.TB, want int) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("pool gpu of %d slots", want), func() (bool, error) {
		have := g.pool(t).SlotsAvailable
		return have == want, fmt.Errorf("the pool has %d slots", have)
	})
}

// TestGPUs tests trials on a node with four GPUs.
func TestGPUs(t *testing.T) {
	g := startGPUs(t, "g")
	g.offers(t, 4)
	for name, test := range map[string]func(*gpuNode, *testing.T){
		"exactly those that were given": (*gpuNode).areGiven, "a model that is asked for": (*gpuNode).areAskedFor, "an unhealthy one": (*gpuNode).fallUnhealthy,
		"linked ones":              (*gpuNode).areLinked,
		"one that fails its trial": (*gpuNode).failTheirTrial, "on Nomad's pages": (*gpuNode).onNomadsPages, "somebody else's": (*gpuNode).areSomebodyElses,
	} {
		t.Run(name, func(t *testing.T) { test(g, t) })
	}
}

// areGiven: two trials of two GPUs each use all four, exactly those that the tables name. A third
// trial waits with a reason, and starts when GPUs are free.
func (g *gpuNode) areGiven(t *testing.T) {
	first, second := g.train(t, "first", 2), g.train(t, "second", 2)
	seen := append(g.sees(t, first), g.sees(t, second)...)
	want := []string{g.id(0), g.id(1), g.id(2), g.id(3)}
	slices.Sort(seen)
	if slices.Sort(want); !slices.Equal(seen, want) {
		t.Errorf("two trials see %v; the node has %v", seen, want)
	}
	third := g.train(t, "third", 2)
	g.waits(t, third, "needs 2 slots on one node; all 4 of pool gpu are in use")

	for id, owner := range map[int][]string{first: g.sees(t, first), second: g.sees(t, second)} {
		task := g.Trial(t, id).TaskID
		for _, uuid := range owner {
			if s := g.slots(t)[uuid]; s["allocation_id"] != task+".1" || s["type"] != "cuda" || s["resource_pools"] != "gpu" || s["health"] != "healthy" || s["agent_id"] != g.name {
				t.Errorf("slot %s of task %s: %v", uuid, task, s)
			}
		}
	}
	if held := g.theirSlots(t, func(s map[string]string) bool { return s["Type"] == "cuda" && s["Allocation ID"] != "FREE" }); held != 4 {
		t.Errorf("Determined's own client shows %d GPUs that are held", held)
	}
	jobs, err := g.Det(t, "job", "list", "-p", "gpu")
	if err != nil || strings.Count(jobs, "2/2") != 2 || strings.Count(jobs, "0/2") != 1 || !strings.Contains(jobs, "QUEUED") {
		t.Errorf("det job list: %v\n%s", err, jobs)
	}
	pools, err := g.Det(t, "rp", "list")
	if err != nil || !strings.Contains(pools, "gpu") || !strings.Contains(pools, "cuda") {
		t.Errorf("det rp list: %v\n%s", err, pools)
	}
	if p := g.pool(t); p.SlotsUsed != 4 || p.SlotType != v1.DeviceTypeCuda || p.Accelerator != simulated.Model || p.NumAgents != 1 {
		t.Errorf("the pool: %+v", p)
	}
	agents, err := g.Det(t, "agent", "list")
	if err != nil || !strings.Contains(agents, g.name) {
		t.Errorf("det agent list: %v\n%s", err, agents)
	}

	g.write(t, func(all []simulated.GPU) {
		all[1].Sample = simulated.Sample{Utilization: 83, MemoryUsedMiB: 2048, PowerW: 120, TemperatureC: 71}
	})
	rig.Eventually(t, "what a GPU measures", func() (bool, error) {
		d, err := g.measured(t, g.id(1))
		is := func(n *int, want int) bool { return n != nil && *n == want }
		return is(d.TemperatureC, 71) && is(d.Utilization, 83) && is(d.MemoryUsedMiB, 2048) && is(d.MemoryTotalMiB, simulated.MemoryMiB) && d.PowerWatts != nil && *d.PowerWatts == 120,
			errors.Join(err, fmt.Errorf("%+v", d))
	})

	g.end(t, "first")
	g.WaitState(t, first, v1.ExperimentStateCompleted)
	if got := g.sees(t, third); len(got) != 2 {
		t.Errorf("the third trial sees %v", got)
	}
	g.end(t, "second")
	g.end(t, "third")
	g.WaitState(t, second, v1.ExperimentStateCompleted)
	g.WaitState(t, third, v1.ExperimentStateCompleted)
}

// areAskedFor: of a node with two models, a trial gets GPUs of the model that it asks for, which the node's plugin
// reports to Nomad; a request for a model that does not exist gets an error.
func (g *gpuNode) areAskedFor(t *testing.T) {
	const a100 = "NVIDIA A100-SXM4-40GB"
	g.write(t, func(all []simulated.GPU) {
		for i := range all[2:] {
			all[2+i].Model, all[2+i].MemoryMiB = a100, 40960
		}
	})
	defer func() {
		g.write(t, func([]simulated.GPU) {})
		rig.Eventually(t, "one model again", func() (bool, error) { return g.slots(t)[g.id(3)]["device"] == simulated.Model, nil })
	}()
	rig.Eventually(t, "two models", func() (bool, error) {
		s := g.slots(t)[g.id(3)]
		return s["device"] == a100, fmt.Errorf("%v", s)
	})
	ask := func(name string, gpus int, gpu string) int {
		return g.Submit(t, fmt.Sprintf("\nname: %s\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 10}}\nresources: {slots_per_trial: %d, resource_pool: gpu, gpu: %s}\n",
			name, gpus, gpu), rig.Script(`
import os, determined
print("sees", os.environ["CUDA_VISIBLE_DEVICES"])
print("told", ",".join(determined.get_cluster_info().gpu_uuids), os.environ["DET_SLOT_IDS"])
`))
	}
	both, small := ask("both", 2, "{model: A100, memory_gb: 40}"), ask("small", 1, "{model: ['H200', 'A100*'], memory_gb: 30, compute_capability: 8.0}")
	want := []string{g.id(2), g.id(3)}
	seen := g.sees(t, both)
	slices.Sort(seen)
	if slices.Sort(want); !slices.Equal(seen, want) {
		t.Errorf("the trial sees %v; the GPUs of the model are %v", seen, want)
	}
	if seen := g.sees(t, small); len(seen) != 1 {
		t.Errorf("the trial of one GPU sees %v", seen)
	}
	none, more := ask("none", 1, "{model: B200}"), ask("more", 3, "{model: A100}")
	g.waits(t, none, "no node of pool gpu has a GPU whose model matches B200; there is ")
	g.waits(t, more, "needs 3 slots; the nodes of pool gpu that it may use have 2")
	g.WaitState(t, both, v1.ExperimentStateCompleted)
	g.WaitState(t, small, v1.ExperimentStateCompleted)
	g.End(t, none)
	g.End(t, more)
}

// areLinked: while a trial holds one GPU of a pair, a trial of two GPUs gets the other pair, and a second trial of one GPU the
// other GPU of the first pair. det slot list names the pairs.
func (g *gpuNode) areLinked(t *testing.T) {
	pairs := map[string]string{}
	g.write(t, func(all []simulated.GPU) {
		for i := range all {
			all[i].Linked = []string{"x", "y", "y", "x"}[i]
			pairs[all[i].ID] = all[i].Linked
		}
	})
	group := func() any { return g.slots(t)[g.id(0)]["link_group"] }
	defer func() {
		g.write(t, func([]simulated.GPU) {})
		rig.Eventually(t, "no pairs again", func() (bool, error) { return group() == nil, fmt.Errorf("group %v", group()) })
	}()
	rig.Eventually(t, "two pairs", func() (bool, error) { return group() != nil, nil })
	slots := g.slots(t)
	for id, s := range slots {
		for other, x := range slots {
			if (s["link_group"] == x["link_group"]) != (pairs[id] == pairs[other]) {
				t.Errorf("det slot list: %v and %v, of the pairs %s and %s", s, x, pairs[id], pairs[other])
			}
		}
	}
	table, err := g.Det(t, "slot", "list")
	if err != nil || !strings.Contains(table, "Link Group") {
		t.Errorf("det slot list: %v\n%s", err, table)
	}

	one := g.train(t, "half", 1)
	held := g.sees(t, one)[0]
	two := g.train(t, "pair", 2)
	for _, id := range g.sees(t, two) {
		if pairs[id] == pairs[held] {
			t.Errorf("%s, of which the trial of one GPU has %s, and the trial of two has %s", pairs[held], held, id)
		}
	}
	rest := g.train(t, "rest", 1)
	if got := g.sees(t, rest)[0]; pairs[got] != pairs[held] || got == held {
		t.Errorf("the second trial of one GPU has %s, the first one %s", got, held)
	}
	for name, id := range map[string]int{"half": one, "pair": two, "rest": rest} {
		g.end(t, name)
		g.WaitState(t, id, v1.ExperimentStateCompleted)
	}
}

// fallUnhealthy: an unhealthy GPU is not used for new trials, and det, the API and Nomad show the
// reason; the trial on it continues. A GPU that is healthy again is used again.
func (g *gpuNode) fallUnhealthy(t *testing.T) {
	running := g.train(t, "running", 1)
	held := g.sees(t, running)[0]
	unhealthy := slices.IndexFunc(g.state.GPUs, func(x simulated.GPU) bool { return x.ID != held })
	id := g.id(unhealthy)
	g.write(t, func(all []simulated.GPU) {
		for i := range all {
			if all[i].ID == id {
				all[i].Uncorrected = 3
			}
			if all[i].ID == held {
				all[i].Unhealthy = "its fan has stopped"
			}
		}
	})
	const reason = "3 uncorrectable memory errors since the last reset"
	g.offers(t, 2)
	if d := g.health(t)[id]; d == nil || d.Healthy || !strings.Contains(d.HealthDescription, reason) {
		t.Errorf("the unhealthy GPU in Nomad: %+v", d)
	}
	slots := g.slots(t)
	if s := slots[id]; s["enabled"] != false || !strings.Contains(fmt.Sprint(s["health"]), reason) || s["allocation_id"] != "FREE" {
		t.Errorf("the unhealthy GPU in det slot list: %v", s)
	}
	if s := slots[held]; s["health"] != "its fan has stopped" || s["allocation_id"] == "FREE" {
		t.Errorf("the unhealthy GPU with a running program in det slot list: %v", s)
	}
	table, err := g.Det(t, "slot", "list")
	if err != nil || !strings.Contains(table, reason) {
		t.Errorf("det slot list: %v\n%s", err, table)
	}
	waiting := g.train(t, "waiting", 3)
	g.waits(t, waiting, reason)

	g.write(t, func([]simulated.GPU) {})
	g.offers(t, 4)
	got := g.sees(t, waiting)
	if len(got) != 3 || slices.Contains(got, held) || !slices.Contains(got, id) {
		t.Errorf("three GPUs beside %s are %v", held, got)
	}
	if e, err := client.Call(t.Context(), g.Client, v1.GetExperiment, running); err != nil || e.Experiment.State != v1.ExperimentStateRunning {
		t.Errorf("what ran on an unhealthy GPU is %s, %v", e.Experiment.State, err)
	}
	g.end(t, "running")
	g.end(t, "waiting")
	g.WaitState(t, running, v1.ExperimentStateCompleted)
	g.WaitState(t, waiting, v1.ExperimentStateCompleted)
}

// breaking is a trial that fails on request as with an error of CUDA; its next attempt continues from
// the checkpoint.
const breaking = `
import os, pathlib, time
import determined
from determined import core

with core.init() as context:
    mine = os.environ["CUDA_VISIBLE_DEVICES"]
    latest = determined.get_cluster_info().latest_checkpoint
    if latest is None:
        with context.checkpoint.store_path({"steps_completed": 7}) as (path, uuid):
            (path / "gpu").write_text(mine)
        print("begins on", mine, flush=True)
        while not os.path.exists(os.environ["BREAK"]):
            time.sleep(0.05)
        raise RuntimeError("CUDA error: device-side failure")
    with context.checkpoint.restore_path(latest) as path:
        print("goes on from", (path / "gpu").read_text(), "on", mine, flush=True)
    context.train.report_validation_metrics(steps_completed=8, metrics={"loss": 1.0})
`

// failTheirTrial: a GPU falls off the bus, and its trial fails. The next attempt continues on another
// GPU from the checkpoint, and the log names the cause.
func (g *gpuNode) failTheirTrial(t *testing.T) {
	stop := filepath.Join(g.ends, "break")
	id := g.Submit(t, fmt.Sprintf(`
name: let down
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 8}}
max_restarts: 1
resources: {slots_per_trial: 1, resource_pool: gpu}
environment: {environment_variables: ["BREAK=%s"]}
`, stop), rig.Script(breaking))
	g.WaitLog(t, id, "begins on ")
	_, rest, _ := strings.Cut(g.Log(t, id), "begins on ")
	held, _, _ := strings.Cut(rest, "\n")
	g.write(t, func(all []simulated.GPU) {
		for i := range all {
			all[i].Lost = all[i].ID == held
		}
	})
	g.offers(t, 3)
	if s := g.slots(t)[held]; !strings.Contains(fmt.Sprint(s["health"]), "fell off the bus") || s["allocation_id"] == "FREE" {
		t.Errorf("the lost GPU in det slot list: %v", s)
	}
	if err := os.WriteFile(stop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g.WaitState(t, id, v1.ExperimentStateCompleted)
	log := g.Log(t, id)
	rig.Holds(t, "its log", log, "CUDA error: device-side failure", "attempt 1 failed (", held+" of node "+g.name+" is out of use: it fell off the bus",
		"goes on from "+held+" on GPU-")
	if strings.Contains(log, "goes on from "+held+" on "+held) {
		t.Errorf("the trial continued on the node on which it had failed:\n%s", log)
	}
	if trial := g.Trial(t, id); trial.Restarts != 1 {
		t.Errorf("the trial was started %d times again", trial.Restarts)
	}
	g.write(t, func([]simulated.GPU) {})
	g.offers(t, 4)
}

// areSomebodyElses: a GPU that another job of Nomad holds is not available in the pool.
func (g *gpuNode) areSomebodyElses(t *testing.T) {
	leave := g.TakeGPUs(t, "neighbours-web", "gpu", map[string]int{g.name: 3})
	g.offers(t, 1)
	theirs := 0
	for _, s := range g.slots(t) {
		if s["task_name"] == "Non-Determined Task: neighbours-web" {
			theirs++
		}
	}
	if theirs != 3 {
		t.Errorf("det slot list shows %d slots of somebody else's: %v", theirs, g.slots(t))
	}
	if n := g.theirSlots(t, func(s map[string]string) bool { return strings.Contains(s["Task Name"], "neighbours-web") }); n != 3 {
		t.Errorf("Determined's own client shows %d slots of somebody else's", n)
	}
	one, two := g.train(t, "one", 1), g.train(t, "two", 2)
	if got := g.sees(t, one); len(got) != 1 {
		t.Errorf("sees %v", got)
	}
	g.waits(t, two, "needs 2 slots")
	if err := client.Act(t.Context(), g.Client, v1.KillExperiment, two); err != nil {
		t.Fatal(err)
	}
	g.end(t, "one")
	g.WaitState(t, one, v1.ExperimentStateCompleted)
	g.WaitState(t, two, v1.ExperimentStateCanceled)
	leave()
	g.offers(t, 4)
}
