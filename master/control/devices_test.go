package control

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A stage builds a snapshot with commands on one node with GPUs.
type stage struct {
	t     *testing.T
	p     *Snapshot
	slots []sched.Slot
}

// newStage returns a stage with a node n1 with this number of GPUs. The slots of the pools gpu
// and shared are its GPUs, those of the pool cpu its 8 cores.
func newStage(t *testing.T, gpus int) *stage {
	s := &stage{t: t, p: &Snapshot{Now: time.Unix(1e9, 0), Timing: lifecycle.DefaultTiming(), Allocations: map[string]*rows.LiveAllocation{}}}
	devices := pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu", CoresPerSlot: 2, MemoryMBPerSlot: 100}
	cores := pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 100}
	for name, slots := range map[string]pool.Slots{"gpu": devices, "shared": devices, "cpu": cores} {
		s.p.Pools = append(s.p.Pools, pool.Pool{Name: name, Driver: "raw_exec", Slots: slots, MaxAux: 10})
	}
	slices.SortFunc(s.p.Pools, func(a, b pool.Pool) int { return strings.Compare(a.Name, b.Name) })
	for i := range gpus {
		s.slots = append(s.slots, sched.Slot{ID: i, Device: fmt.Sprintf("GPU-%d", i), Brand: "A100", Healthy: true, Enabled: true})
	}
	return s
}

// queue adds a queued command to a pool.
func (s *stage) queue(id, pool string, slots int) {
	s.p.Tasks = append(s.p.Tasks, rows.LiveTask{ID: id, Type: "COMMAND", Desired: "run", Pool: pool, Slots: slots, Priority: 42, Runs: 1})
	s.p.Allocations[id] = &rows.LiveAllocation{ID: id + ".1", TaskID: id, RunID: 1, Pool: pool, Slots: slots, Priority: 42,
		QueuedAt: s.p.Now.Add(time.Duration(len(s.p.Tasks)) * time.Second), State: "PENDING"}
}

// run adds a command that runs on these slots.
func (s *stage) run(id, pool string, slots []int, devices ...string) {
	s.queue(id, pool, len(slots))
	a := s.p.Allocations[id]
	a.State, a.AssignedAt, a.SubmittedAt = "RUNNING", &s.p.Now, &s.p.Now
	a.Members = []rows.LiveMember{{AllocationID: a.ID, NodeID: "id1", NodeName: "n1", SlotIDs: slots, Devices: devices, NomadStatus: "running", Started: true, ClaimedAt: &s.p.Now}}
}

// decide returns the placements, and why the other commands wait.
func (s *stage) decide() (places map[string]string, waits map[string]string) {
	s.t.Helper()
	inventory, err := json.Marshal(cluster.Node{Node: sched.Node{ID: "id1", Name: "n1"}, Drivers: []string{"raw_exec"}, Cores: 8, FreeCores: 8, MemoryMB: 4000, FreeMemoryMB: 4000,
		Devices: map[string][]sched.Slot{"nvidia/gpu": s.slots}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.p.Nodes = []nodes.Row{{ID: "id1", Name: "n1", NodePool: "default", Status: "ready", Eligible: true, Enabled: true, Inventory: inventory}}
	out := Decide(s.p).Changes()
	places, waits = map[string]string{}, map[string]string{}
	for _, p := range out.Placements {
		places[p.AllocationID] = fmt.Sprintf("%v %v %s", p.Members[0].SlotIDs, p.Members[0].Devices, p.Members[0].Model)
	}
	for _, a := range out.Allocations {
		if a.Waiting != nil {
			waits[a.ID] = *a.Waiting
		}
	}
	return places, waits
}

func TestDevicesAreNamed(t *testing.T) {
	s := newStage(t, 4)
	s.slots[1].Healthy, s.slots[1].Health = false, "it smells"
	s.queue("a", "gpu", 2)
	s.queue("b", "gpu", 2)
	s.queue("c", "cpu", 1)
	places, waits := s.decide()
	if places["a.1"] != "[0 2] [GPU-0 GPU-2] A100" || places["c.1"] != "[0] [] " || len(places) != 2 {
		t.Errorf("placed %v", places)
	}
	if want := "the largest free block in pool gpu is 1, on node n1; slot 1 of n1 is out of use (it smells)"; !strings.HasSuffix(waits["b.1"], want) {
		t.Errorf("b waits because it %s", waits["b.1"])
	}
}

// TestSickness tests that the message about a failed attempt names its own unhealthy devices
// and no others.
func TestSickness(t *testing.T) {
	s := newStage(t, 4)
	s.slots[1].Healthy, s.slots[1].Health = false, "it smells"
	s.slots[3].Healthy = false
	s.run("a", "gpu", []int{0, 1}, "GPU-0", "GPU-1")
	s.run("b", "gpu", []int{2}, "GPU-2")
	s.run("c", "gpu", []int{3}, "GPU-3")
	s.run("d", "cpu", []int{0})
	s.decide()
	for id, want := range map[string]string{"a": "GPU-1 of node n1 is out of use: it smells", "b": "", "c": "GPU-3 of node n1 is out of use: Nomad gives no reason", "d": ""} {
		if got := s.p.unhealthyDevices(s.p.Allocations[id]); got != want {
			t.Errorf("of %s: %q, want %q", id, got, want)
		}
	}
}

// TestDevicesMoveUp tests that after a GPU has disappeared, the GPUs behind it get other
// numbers, but attempts still hold the same GPUs.
func TestDevicesMoveUp(t *testing.T) {
	s := newStage(t, 4)
	s.run("a", "gpu", []int{2}, "GPU-2")
	s.run("b", "gpu", []int{0, 1}, "GPU-0", "GPU-1")
	s.slots = s.slots[1:] // GPU-0 disappears
	for i := range s.slots {
		s.slots[i].ID = i
	}
	s.queue("c", "gpu", 1)
	s.queue("d", "gpu", 1)
	places, waits := s.decide()
	if len(places) != 1 || places["c.1"] != "[2] [GPU-3] A100" || !strings.Contains(waits["d.1"], "all 3 of pool gpu are in use") {
		t.Errorf("placed %v, waiting %v", places, waits)
	}
}

// TestPoolsShareANode tests that a pool does not assign what attempts of another pool hold.
func TestPoolsShareANode(t *testing.T) {
	s := newStage(t, 4)
	s.run("a", "gpu", []int{0}, "GPU-0")
	s.run("old", "removed", []int{0}, "GPU-1") // its pool is no longer configured
	s.queue("b", "gpu", 1)
	s.queue("c", "shared", 1)
	s.queue("d", "shared", 1)
	places, waits := s.decide()
	if places["b.1"] != "[2] [GPU-2] A100" || places["c.1"] != "[3] [GPU-3] A100" || len(places) != 2 {
		t.Errorf("placed %v", places)
	}
	if !strings.Contains(waits["d.1"], "needs 1 slot") {
		t.Errorf("waiting %v", waits)
	}
}

// TestPoolsShareCores tests that slots of a GPU pool also take cores and memory of their node.
func TestPoolsShareCores(t *testing.T) {
	s := newStage(t, 4)
	s.run("a", "gpu", []int{0, 1, 2}, "GPU-0", "GPU-1", "GPU-2") // 6 of 8 cores
	s.run("b", "cpu", []int{7})
	s.queue("c", "cpu", 1)
	s.queue("d", "cpu", 1)
	places, waits := s.decide()
	if len(places) != 1 || places["c.1"] != "[0] [] " || waits["d.1"] == "" {
		t.Errorf("placed %v, waiting %v", places, waits)
	}
}
