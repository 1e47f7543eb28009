package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// TestChoices tests that environment.nomad and the affinities of a pool's job decide where
// tasks are placed, and that a task whose constraints no node meets waits with this reason.
func TestChoices(t *testing.T) {
	s := newStage(t, 0)
	weight := int8(50)
	job := &api.Job{NodePool: new(string), Affinities: []*api.Affinity{{LTarget: "${meta.rack}", Operand: "=", RTarget: "r3", Weight: &weight}},
		TaskGroups: []*api.TaskGroup{{Tasks: []*api.Task{{Driver: "exec"}},
			Volumes: map[string]*api.VolumeRequest{"data": {Type: "host", Source: "datasets"}}}}}
	drawn := pool.Pool{Name: "drawn", Slots: pool.Slots{CoresPerSlot: 1}, MaxAux: 10}.WithJob(job)
	drawn.NodePool = ""
	s.p.Pools = append(s.p.Pools, drawn)
	for i := 1; i <= 3; i++ {
		n := cluster.Node{Node: sched.Node{ID: fmt.Sprintf("id%d", i)}, Drivers: []string{"raw_exec", "exec"}, Cores: 8, FreeCores: 8, MemoryMB: 4000, FreeMemoryMB: 4000,
			Facts: map[string]string{"meta.rack": fmt.Sprintf("r%d", i)}}
		if i == 2 {
			n.HostVolumes = map[string]bool{"datasets": true}
		}
		inventory, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		s.p.Nodes = append(s.p.Nodes, nodes.Row{ID: n.ID, Name: fmt.Sprintf("n%d", i), Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
	}
	ask := func(id, in string, slots int, text string) {
		s.queue(id, in, slots)
		s.p.Tasks[len(s.p.Tasks)-1].Nomad = json.RawMessage(text)
	}
	ask("rack2", "cpu", 1, `{"constraints": [{"attribute": "${meta.rack}", "value": "r2"}]}`)
	ask("aux2", "cpu", 0, `{"constraints": [{"attribute": "${meta.rack}", "operator": "regexp", "value": "2$"}]}`)
	ask("nowhere", "cpu", 1, `{"constraints": [{"attribute": "${meta.rack}", "value": "r9"}]}`)
	ask("likes3", "cpu", 1, `{"affinities": [{"attribute": "${meta.rack}", "value": "r3"}]}`)
	ask("pool3", "drawn", 1, ``)
	ask("against", "drawn", 1, `{"affinities": [{"attribute": "${meta.rack}", "value": "r3", "weight": -100}, {"attribute": "${meta.rack}", "value": "r1"}]}`)
	ask("reads", "drawn", 1, `{"volumes": [{"name": "data", "container_path": "/d", "read_only": true}]}`)
	ask("writes", "drawn", 1, `{"volumes": [{"name": "data", "container_path": "/d"}]}`)
	ask("spread3", "cpu", 1, `{"spread": [{"attribute": "${meta.rack}", "targets": [{"value": "r3", "percent": 100}]}]}`)
	ask("against-spread", "drawn", 1, `{"affinities": [{"attribute": "${meta.rack}", "value": "r3", "weight": -100}], "spread": [{"attribute": "${meta.rack}", "targets": [{"value": "r2", "percent": 60}]}]}`)
	places, waits := map[string]string{}, map[string]string{}
	out := Decide(s.p).Changes()
	for _, p := range out.Placements {
		places[p.AllocationID] = p.Members[0].NodeName
	}
	for _, a := range out.Allocations {
		if a.Waiting != nil {
			waits[a.ID] = *a.Waiting
		}
	}
	for id, want := range map[string]string{"rack2.1": "n2", "aux2.1": "n2", "nowhere.1": "", "likes3.1": "n3", "pool3.1": "n3", "against.1": "n1", "reads.1": "n2", "writes.1": "",
		"spread3.1": "n3", "against-spread.1": "n2"} {
		if places[id] != want {
			t.Errorf("%s is on %q, want %q: %s", id, places[id], want, waits[id])
		}
	}
	if why := waits["nowhere.1"]; !strings.Contains(why, "it avoids n1, n2 and n3, where environment.nomad.constraints are not met: ${meta.rack} = r9") {
		t.Errorf("nowhere waits: %s", why)
	}
	if why := waits["writes.1"]; !strings.Contains(why, "n2, which offers the host volume datasets to be read only") || !strings.Contains(why, "which has no host volume datasets") {
		t.Errorf("writes waits: %s", why)
	}
	if !slices.ContainsFunc(s.p.Pools, func(p pool.Pool) bool { return len(p.Affinities()) == 1 }) {
		t.Error("no pool has an affinity")
	}
}

// TestGPUsThatAreAskedFor tests that resources.gpu and constraints on devices decide which nodes, and
// which slots of them, a task gets.
func TestGPUsThatAreAskedFor(t *testing.T) {
	s := newStage(t, 0)
	s.p.Pools = append(s.p.Pools, pool.Pool{Name: "gpu", Driver: "exec", Slots: pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}})
	const a100, v100, h100 = "NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB", "NVIDIA H100 80GB HBM3"
	attributes := map[string]map[string]string{
		a100: {"memory": "40536 MiB", "compute_capability": "8", "driver_version": "535.161.07"},
		v100: {"memory": "16160 MiB", "compute_capability": "7", "driver_version": "535.161.07"},
		h100: {"memory": "81559 MiB", "compute_capability": "9", "driver_version": "550.54.15"},
	}
	for i, models := range [][]string{{a100, a100, v100, v100}, {v100, v100, v100, v100}, {h100, h100}} {
		n := cluster.Node{Node: sched.Node{ID: fmt.Sprintf("id%d", i+1)}, Drivers: []string{"exec"}, Cores: 8, FreeCores: 8, MemoryMB: 4000, FreeMemoryMB: 4000,
			Devices: map[string][]sched.Slot{}, Models: map[string]map[string]map[string]string{"nvidia/gpu": {}}}
		for j, model := range models {
			n.Devices["nvidia/gpu"] = append(n.Devices["nvidia/gpu"], sched.Slot{ID: j, Device: fmt.Sprintf("GPU-%d-%d", i+1, j), Brand: model, Healthy: true, Enabled: true})
			n.Models["nvidia/gpu"][model] = attributes[model]
		}
		inventory, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		s.p.Nodes = append(s.p.Nodes, nodes.Row{ID: n.ID, Name: fmt.Sprintf("n%d", i+1), Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
	}
	ask := func(id string, slots int, gpu, nomad string) {
		s.queue(id, "gpu", slots)
		s.p.Tasks[len(s.p.Tasks)-1].GPU, s.p.Tasks[len(s.p.Tasks)-1].Nomad = json.RawMessage(gpu), json.RawMessage(nomad)
	}
	ask("a100", 2, `{"model": ["A100"]}`, ``)
	ask("either", 1, `{"model": ["P100", "V100*"], "memory_gb": 16}`, ``)
	ask("large", 1, `{"memory_gb": 80}`, ``)
	ask("newer", 1, `{}`, `{"constraints": [{"attribute": "${device.attr.compute_capability}", "operator": ">=", "value": "8.5"}]}`)
	ask("none", 1, `{"model": ["B200"]}`, ``)
	ask("neither", 1, `{"model": ["V100"], "driver": "550"}`, ``)
	ask("device", 1, ``, `{"constraints": [{"attribute": "${device.attr.memory}", "operator": ">", "value": "90 GiB"}]}`)
	devices, waits := map[string][]string{}, map[string]string{}
	out := Decide(s.p).Changes()
	for _, p := range out.Placements {
		devices[p.AllocationID] = p.Members[0].Devices
	}
	for _, a := range out.Allocations {
		if a.Waiting != nil {
			waits[a.ID] = *a.Waiting
		}
	}
	for id, want := range map[string]string{"a100.1": "GPU-1-0 GPU-1-1", "either.1": "GPU-1-2", "large.1": "GPU-3-0", "newer.1": "GPU-3-1"} {
		if got := strings.Join(devices[id], " "); got != want {
			t.Errorf("%s has %q, want %q: %s", id, got, want, waits[id])
		}
	}
	for id, want := range map[string]string{
		"none.1":    "no node of pool gpu has a GPU whose model matches B200; there is NVIDIA A100-SXM4-40GB, NVIDIA H100 80GB HBM3 and Tesla V100-SXM2-16GB",
		"neither.1": "no node of pool gpu has a GPU whose model matches V100 with at least driver 550; there is",
		"device.1":  "no node of pool gpu has a device with ${device.attr.memory} > 90 GiB; there is",
	} {
		if !strings.HasPrefix(waits[id], want) {
			t.Errorf("%s waits: %q, want %q", id, waits[id], want)
		}
	}
}
