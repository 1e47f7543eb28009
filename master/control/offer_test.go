package control

import (
	"encoding/json"
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// TestModelOfCores: det slot list shows the model of a node's processor for CPU slots, and that
// of the device for devices; for the scheduler cores of any model are alike.
func TestModelOfCores(t *testing.T) {
	inventory, err := json.Marshal(cluster.Node{Drivers: []string{"exec"}, Cores: 2, FreeCores: 2,
		Facts:   map[string]string{"attr.cpu.modelname": "AMD EPYC 9654", "attr.kernel.name": "linux", "attr.cpu.arch": "amd64"},
		Devices: map[string][]sched.Slot{"nvidia/gpu": {{Device: "GPU-1", Brand: "H200"}}}})
	if err != nil {
		t.Fatal(err)
	}
	row := nodes.Row{ID: "id1", Name: "n1", Status: "ready", Eligible: true, Enabled: true, Inventory: inventory}
	for slots, want := range map[pool.Slots]string{{CoresPerSlot: 1}: "AMD EPYC 9654", {Kind: pool.DeviceSlots, Device: "nvidia/gpu"}: "H200"} {
		p := pool.Pool{Name: "a", Driver: "exec", Platforms: []string{"linux-amd64"}, Slots: slots}
		shown, err := Offer(&p, row, cluster.Use{})
		if err != nil || shown == nil || len(shown.Slots) == 0 || shown.Slots[0].Brand != want {
			t.Errorf("%v: %+v, %v; want %s", slots, shown, err, want)
		}
		if scheduled, err := offer(&p, row, nil, cluster.Use{}); err != nil || slots.Kind != pool.DeviceSlots && scheduled.Slots[0].Brand != "" {
			t.Errorf("%v: the scheduler sees %+v, %v", slots, scheduled, err)
		}
	}
}
