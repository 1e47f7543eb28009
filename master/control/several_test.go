package control

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sched"
)

// TestCommandsOnSeveralNodes: a command of more slots than a node has is placed on two nodes at once if its
// configuration permits it, from a queue or as a new one, and waits if it does not.
func TestCommandsOnSeveralNodes(t *testing.T) {
	s := newStage(t, 0)
	s.queue("spread", "cpu", 6)
	s.p.Tasks[0].Several = true
	s.queue("single", "cpu", 6)
	s.p.Tasks = append(s.p.Tasks, rows.LiveTask{ID: "new", Type: "GENERIC", Desired: "run", Pool: "cpu", Slots: 6, Priority: 42, Several: true})
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		inventory, err := json.Marshal(cluster.Node{Node: sched.Node{ID: name, Name: name}, Drivers: []string{"raw_exec"}, Cores: 4, FreeCores: 4, MemoryMB: 4000, FreeMemoryMB: 4000})
		if err != nil {
			t.Fatal(err)
		}
		s.p.Nodes = append(s.p.Nodes, nodes.Row{ID: name, Name: name, NodePool: "default", Status: "ready", Eligible: true, Enabled: true, Inventory: inventory})
	}
	out := Decide(s.p).Changes()
	placed := map[string]int{}
	for _, p := range out.Placements {
		for _, m := range p.Members {
			if len(m.SlotIDs) != 3 {
				t.Errorf("a member of %s has the slots %v", p.AllocationID, m.SlotIDs)
			}
			placed[p.AllocationID]++
		}
	}
	if placed["spread.1"] != 2 || placed["new.1"] != 2 || len(placed) != 2 {
		t.Errorf("placed %v", placed)
	}
	for _, a := range out.Allocations {
		if a.ID == "single.1" && (a.Waiting == nil || !strings.Contains(*a.Waiting, "6")) {
			t.Errorf("the command for one node waits because %v", a.Waiting)
		}
	}
}
