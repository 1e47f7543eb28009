package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// gpuPools are a pool of GPUs, a second one of the same, and one of cores, all on
// the same node; gone leaves out the first GPU.
func gpuPools(gone *bool) func(*Config) {
	return func(c *Config) {
		gpu := c.Pools[0]
		gpu.Slots, gpu.Aux = pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}, false
		shared, aux := gpu, gpu
		shared.Name, shared.Compute = "shared", false
		aux.Name, aux.Slots, aux.Compute, aux.Aux = "aux", pool.Slots{Kind: pool.CPUSlots}, false, true
		c.Pools = pool.Set{gpu, shared, aux}
		c.Inventory = func(pool string, n nodes.Row) *sched.Node {
			out := &sched.Node{Schedulable: n.Status == "ready"}
			if pool == "aux" {
				for i := range 2 {
					out.Slots = append(out.Slots, sched.Slot{ID: i, Healthy: true, Enabled: true})
				}
				return out
			}
			first := 0
			if *gone {
				first = 1
			}
			for i := first; i < 4; i++ {
				s := sched.Slot{ID: i - first, Device: fmt.Sprintf("GPU-%d", i), Brand: "H200", Healthy: true, Enabled: true}
				switch i {
				case 2:
					s.Healthy, s.Health = false, "it smells"
				case 3:
					s.Taken = "web"
				}
				if i < 2 {
					s.LinkGroup = 1
				}
				out.Slots = append(out.Slots, s)
			}
			return out
		}
	}
}

func TestDevices(t *testing.T) {
	gone := false
	r := newRig(t, gpuPools(&gone))
	me := r.user("determined")
	r.node("n0", "node-0", 0)
	a := &attempt{r: r, exp: me.create(yaml(), `"activate":true`)}
	a.trial, a.task = r.trial(a.exp, 0)
	a.id = a.task + ".1"
	r.apply(rows.Changes{Placements: []rows.Placement{{AllocationID: a.id,
		Members: []rows.PlacedMember{{NodeID: "n0", NodeName: "node-0", SlotIDs: []int{1}, Devices: []string{"GPU-1"}}}}}})
	r.runOf(a, 1)

	agents := me.get("/api/v1/agents").ok().tree()
	slots := at(t, agents, "agents.0.slots").(map[string]any)
	if len(slots) != 6 {
		t.Fatalf("%d slots, want 4 GPUs and 2 cores: %v", len(slots), slots)
	}
	for key, want := range map[string]map[string]any{
		"0":     {"enabled": true, "health": "", "device.brand": "H200", "device.uuid": "GPU-0", "device.type": "TYPE_CUDA", "resourcePool": "default", "linkGroup": float64(1)},
		"1":     {"enabled": true, "container.id": a.id + "/0"},
		"2":     {"enabled": false, "health": "it smells"},
		"3":     {"enabled": true, "container.id": "web"},
		"aux/0": {"enabled": true, "device.type": "TYPE_CPU", "resourcePool": "aux"},
	} {
		for path, value := range want {
			if got := at(t, slots[key], path); got != value {
				t.Errorf("slot %s: %s is %v, want %v", key, path, got, value)
			}
		}
	}
	pools := me.get("/api/v1/resource-pools").ok().tree()
	for path, want := range map[string]any{"0.slotsAvailable": 2.0, "0.slotsPerAgent": 4.0, "0.slotType": "TYPE_CUDA", "0.accelerator": "H200", "0.defaultComputePool": true,
		"0.slotsUsed": 1.0, "2.slotsAvailable": 2.0, "2.defaultAuxPool": true, "2.slotType": "TYPE_CPU"} {
		if got := at(t, pools, "resourcePools."+path); got != want {
			t.Errorf("pool %s is %v, want %v", path, got, want)
		}
	}

	// The runner's devices and their display do not change when the list becomes shorter.
	gone = true
	spec := a.claim(0, a.identify(0), "p0").ok().tree()["spec"]
	if d := at(t, spec, "devices").([]any); len(d) != 1 || at(t, d, "0.uuid") != "GPU-1" || at(t, d, "0.brand") != "H200" || at(t, d, "0.type") != "TYPE_CUDA" {
		t.Errorf("the devices in the runner's spec are %v", d)
	}
	summary := me.get("/api/v1/tasks").ok().tree()["allocationIdToSummary"].(map[string]any)[a.id]
	if d := at(t, summary, "resources.0.agentDevices.node-0.devices").([]any); len(d) != 1 || at(t, d, "0.uuid") != "GPU-1" || at(t, d, "0.id") != 0.0 {
		t.Errorf("the devices are shown as %v", d)
	}
	slots = at(t, me.get("/api/v1/agents").ok().tree(), "agents.0.slots").(map[string]any)
	if at(t, slots["0"], "container.state") == nil || at(t, slots["0"], "device.uuid") != "GPU-1" {
		t.Errorf("slot 0 is now %v", slots["0"])
	}
}

// TestUnfit: a runner without its assigned devices reports this, once.
func TestUnfit(t *testing.T) {
	r := newRig(t)
	a := r.place(sharedStorage("/shared"), 1)
	token := a.claim(0, a.identify(0), "p0").ok().tree()["token"].(string)
	path := "/api/v1/detent/allocations/" + a.id + "/members/0/exit"
	r.task(token).post(path, `{"exitCode":79,"reason":"no GPUs","unfit":true}`).ok()
	live, err := rows.LoadLive(context.Background(), r.db, rows.Known{})
	if err != nil {
		t.Fatal(err)
	}
	if m := live.Allocations[0].Members[0]; !m.Unfit || m.ExitReason != "no GPUs" {
		t.Errorf("%+v", m)
	}
	b := r.place(sharedStorage("/shared"), 1)
	token = b.claim(0, b.identify(0), "p0").ok().tree()["token"].(string)
	path = "/api/v1/detent/allocations/" + b.id + "/members/0/exit"
	r.task(token).post(path, `{"exitCode":0}`).ok()
	r.task(token).post(path, `{"exitCode":79,"reason":"no GPUs","unfit":true}`).ok()
	if live, err = rows.LoadLive(context.Background(), r.db, rows.Known{}); err != nil {
		t.Fatal(err)
	}
	for _, x := range live.Allocations {
		if x.ID == b.id && x.Members[0].Unfit {
			t.Error("a later report changed how it ended")
		}
	}
}

// TestPoolOfWork: tasks with slots run in the pool of GPUs, tasks without slots in the
// other pool, unless they name one.
func TestPoolOfWork(t *testing.T) {
	gone := false
	r := newRig(t, gpuPools(&gone))
	me := r.user("determined")
	for config, want := range map[string]string{
		"resources: {slots_per_trial: 2}":                        "default",
		"resources: {slots_per_trial: 0}":                        "aux",
		"resources: {slots_per_trial: 0, resource_pool: shared}": "shared",
	} {
		id := me.create(yaml(config))
		if got := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree(), "experiment.resourcePool"); got != want {
			t.Errorf("%s goes to %v, want %s", config, got, want)
		}
	}
	for slots, want := range map[int]string{0: "aux", 1: "default"} {
		got := me.post("/api/v1/commands", fmt.Sprintf(`{"config":{"entrypoint":["x"],"resources":{"slots":%d}}}`, slots)).ok().tree()
		if at(t, got, "command.resourcePool") != want {
			t.Errorf("a command of %d slots goes to %v", slots, at(t, got, "command.resourcePool"))
		}
	}
}
