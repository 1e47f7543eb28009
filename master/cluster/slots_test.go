package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// TestSlotsOfCPU shows each slot as free (.) or taken by others (x).
func TestSlotsOfCPU(t *testing.T) {
	node := func(cores, free, memory, freeMemory int) Node {
		return Node{Cores: cores, FreeCores: free, MemoryMB: memory, FreeMemoryMB: freeMemory}
	}
	set := func(count string) Node {
		n := node(8, 5, 8000, 8000)
		n.Facts = map[string]string{"meta.detent_slots": count}
		return n
	}
	tests := []struct {
		name string
		node Node
		pool pool.Slots
		held []int
		want string
	}{
		{"a core each", node(8, 8, 8000, 8000), pool.Slots{CoresPerSlot: 1}, nil, "........"},
		{"memory is less", node(8, 8, 3500, 3500), pool.Slots{CoresPerSlot: 1, MemoryMBPerSlot: 1000}, nil, "..."},
		{"by memory alone", node(2, 2, 3500, 3500), pool.Slots{MemoryMBPerSlot: 1000}, nil, "..."},
		{"two cores each", node(7, 7, 8000, 8000), pool.Slots{CoresPerSlot: 2}, nil, "..."},
		{"no more than so many", node(8, 8, 8000, 8000), pool.Slots{CoresPerSlot: 1, MaxPerNode: 3}, nil, "..."},
		{"others hold some", node(8, 5, 8000, 8000), pool.Slots{CoresPerSlot: 1}, nil, ".....xxx"},
		{"others hold some of a pool that takes only a part", node(8, 5, 8000, 8000), pool.Slots{CoresPerSlot: 1, MaxPerNode: 4}, nil, "...."},
		{"others hold memory", node(8, 8, 8000, 1900), pool.Slots{CoresPerSlot: 1, MemoryMBPerSlot: 1000}, nil, ".xxxxxxx"},
		{"not what ours hold", node(4, 2, 8000, 8000), pool.Slots{CoresPerSlot: 1}, []int{2, 3}, "xx.."},
		{"others took what ours hold", node(4, 1, 8000, 8000), pool.Slots{CoresPerSlot: 1}, []int{0, 1, 2}, "...x"},
		{"nothing is left", node(4, 0, 8000, 8000), pool.Slots{CoresPerSlot: 1}, nil, "xxxx"},
		{"as many as the node's metadata says", set("3"), pool.Slots{CoresPerSlot: 1}, nil, "..."},
		{"… but no more than so many", set("3"), pool.Slots{CoresPerSlot: 1, MaxPerNode: 2}, nil, ".."},
		{"… unless the pool says it", set("3"), pool.Slots{CoresPerSlot: 1, PerNode: 4}, nil, "...."},
		{"metadata that is no number", set("many"), pool.Slots{CoresPerSlot: 1}, nil, ".....xxx"},
		{"metadata that is too large a number", set("10001"), pool.Slots{CoresPerSlot: 1}, nil, ".....xxx"},
		{"negative metadata", set("-1"), pool.Slots{CoresPerSlot: 1}, nil, ".....xxx"},
		{"a slot of nothing", node(4, 4, 8000, 8000), pool.Slots{}, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.pool.Kind = pool.CPUSlots
			var got strings.Builder
			for i, s := range SlotsOf(test.node, test.pool, test.held...) {
				if s.ID != i || !s.Healthy || !s.Enabled || s.Device != "" {
					t.Errorf("slot %d is %+v", i, s)
				}
				if s.Taken == "" {
					got.WriteString(".")
				} else {
					got.WriteString("x")
				}
			}
			if got.String() != test.want {
				t.Errorf("got %q, want %q", got.String(), test.want)
			}
		})
	}
}

// TestDevices tests how Nomad's groups of devices become slots.
func TestDevices(t *testing.T) {
	stub := &api.NodeListStub{
		ID: "id1", Name: "n1", Status: "ready", SchedulingEligibility: "eligible",
		Drivers: map[string]*api.DriverInfo{"raw_exec": {Detected: true, Healthy: true}, "docker": {Detected: true}, "exec": nil},
		NodeResources: &api.NodeResources{
			Cpu: api.NodeCpuResources{CpuShares: 8000, TotalCpuCores: 4}, Memory: api.NodeMemoryResources{MemoryMB: 9000},
			Devices: []*api.NodeDeviceResource{
				{Vendor: "nvidia", Type: "gpu", Name: "V100", Instances: []*api.NodeDevice{{ID: "GPU-9", Healthy: true}}},
				{Vendor: "nvidia", Type: "gpu", Name: "H200", Instances: []*api.NodeDevice{{ID: "GPU-2", HealthDescription: "Xid 79"}, {ID: "GPU-1", Healthy: true, HealthDescription: "fine"}}},
				{Vendor: "intel", Type: "fpga", Name: "x", Instances: []*api.NodeDevice{{ID: "F-1"}}},
			},
		},
		ReservedResources: &api.NodeReservedResources{Cpu: api.NodeReservedCpuResources{CpuShares: 2000}, Memory: api.NodeReservedMemoryResources{MemoryMB: 1000}},
	}
	others := use{mhz: 2500, memoryMB: 500, devices: map[string]string{"GPU-9": "web"}}
	n := nodeOf(stub, others)
	want := []sched.Slot{
		{ID: 0, Device: "GPU-1", Brand: "H200", Healthy: true, Enabled: true},
		{ID: 1, Device: "GPU-2", Brand: "H200", Healthy: false, Health: "Xid 79", Enabled: true},
		{ID: 2, Device: "GPU-9", Brand: "V100", Healthy: true, Enabled: true, Taken: "web"},
	}
	cut := pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu"}
	if diff := cmp.Diff(want, SlotsOf(n, cut), cmp.AllowUnexported(sched.Slot{})); diff != "" {
		t.Error(diff)
	}
	if got := n.Devices["intel/fpga"][0].Health; !strings.Contains(got, "without a reason") {
		t.Errorf("the health of a device without a reason is %q", got)
	}
	cut.MaxPerNode = 2
	if got := SlotsOf(n, cut); len(got) != 2 {
		t.Errorf("a bounded pool has %d slots", len(got))
	}
	if got := SlotsOf(n, pool.Slots{Kind: pool.DeviceSlots, Device: "amd/gpu"}); len(got) != 0 {
		t.Errorf("a pool of devices that the node lacks has %d slots", len(got))
	}
	if n.MHz != 6000 || n.Cores != 3 || n.FreeMHz != 3500 || n.FreeCores != 2 || n.MemoryMB != 8000 || n.FreeMemoryMB != 7500 {
		t.Errorf("the node's size is %+v", n)
	}
	if diff := cmp.Diff([]string{"raw_exec"}, n.Drivers); diff != "" {
		t.Error(diff)
	}
}

func TestNodeOutOfUse(t *testing.T) {
	tests := []struct {
		status, eligibility string
		drain               bool
		why                 string
	}{
		{"ready", "eligible", false, ""},
		{"down", "eligible", false, "is down"},
		{"disconnected", "eligible", false, "is disconnected"},
		{"initializing", "eligible", false, "is initializing"},
		{"ready", "ineligible", true, "is draining in Nomad"},
		{"ready", "ineligible", false, "is not eligible in Nomad"},
	}
	for _, test := range tests {
		n := nodeOf(&api.NodeListStub{Status: test.status, SchedulingEligibility: test.eligibility, Drain: test.drain}, use{})
		if n.Why != test.why || n.Schedulable != (test.why == "") {
			t.Errorf("%+v has schedulable %v, %q", test, n.Schedulable, n.Why)
		}
	}
	if got := fmt.Sprint(Done, Refused, TryAgain); got != "done refused try again" {
		t.Error(got)
	}
}

// TestLess tests that Less removes what attempts of other pools hold.
func TestLess(t *testing.T) {
	gpu, cpu := pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu", CoresPerSlot: 2, MemoryMBPerSlot: 100}, pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 10}
	n := Node{Cores: 8, FreeCores: 8, MemoryMB: 1000, FreeMemoryMB: 1000, Devices: map[string][]sched.Slot{
		"nvidia/gpu": {{Device: "GPU-1", Healthy: true, Enabled: true}, {Device: "GPU-2", Healthy: true, Enabled: true}, {Device: "GPU-3", Healthy: true, Enabled: true, Taken: "web"}}}}
	use := Use{}.With("train", gpu, 2, []string{"GPU-2", "GPU-3"}).With("batch", cpu, 1, nil)
	less := n.Less(use)
	if less.FreeCores != 3 || less.FreeMemoryMB != 790 || less.Cores != 8 {
		t.Errorf("%+v", less)
	}
	var taken []string
	for _, s := range SlotsOf(less, gpu) {
		taken = append(taken, s.Taken)
	}
	if diff := cmp.Diff([]string{"", "pool train", "web"}, taken); diff != "" {
		t.Error(diff)
	}
	if n.Devices["nvidia/gpu"][1].Taken != "" || n.FreeCores != 8 {
		t.Errorf("the node itself changed: %+v", n)
	}
	if over := n.Less(Use{Cores: 99, MemoryMB: 9999}); over.FreeCores != 0 || over.FreeMemoryMB != 0 {
		t.Errorf("%+v", over)
	}
}
