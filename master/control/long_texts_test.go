package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestLongComparisonsOfOneUser: long lists and numbers of one user are compared once for all nodes with the same value, and their
// work is limited like that of versions.
func TestLongComparisonsOfOneUser(t *testing.T) {
	const tasks, nodes, each = 30, 100, 100
	s := newStage(t, 0)
	s.compared(nodes, tasks, 0, 1, "eve")
	for i := range s.p.Tasks {
		var list []string
		for j := range each {
			list = append(list, fmt.Sprintf(`{"attribute": "${meta.rack}", "operator": "set_contains_any", "value": "%s%d-%d,r1"}`, strings.Repeat("x,", 200), i, j))
		}
		s.p.Tasks[i].Nomad = json.RawMessage(`{"constraints": [` + strings.Join(list, ", ") + `]}`)
	}
	s.p.inventories, _ = inventories(nil).of(s.p.Nodes)
	placed, _ := s.cycle(true)
	x := s.p.choices.expressions
	if len(placed) == 0 || len(placed) == tasks || x.spent["eve"] > expressionShare {
		t.Errorf("%d of %d tasks are placed, and %d of %d is spent", len(placed), tasks, x.spent["eve"], expressionShare)
	}
	for of, e := range x.now {
		if of.operator == "set_contains_any" && len(e.matches) != 1 {
			t.Errorf("%d matches for one value of all nodes", len(e.matches))
		}
	}
	if len(x.now) == 0 {
		t.Error("nothing was compared")
	}
}

// TestWhyNoDeviceIsOneText: a task with long constraints on devices has one short reason for all nodes.
func TestWhyNoDeviceIsOneText(t *testing.T) {
	s := newStage(t, 0)
	s.compared(20, 1, 0, 1, "eve")
	var list []string
	for j := range 100 {
		list = append(list, fmt.Sprintf(`{"attribute": "${device.attr.%s%d}", "operator": "=", "value": "%s"}`, strings.Repeat("m", 400), j, strings.Repeat("v", 400)))
	}
	s.p.Tasks[0].Nomad = json.RawMessage(`{"constraints": [` + strings.Join(list, ", ") + `]}`)
	s.p.inventories, _ = inventories(nil).of(s.p.Nodes)
	s.cycle(true)
	for _, c := range s.p.choices.now {
		for _, why := range c.Unfit {
			if len(why) > 2*maxAsked || !strings.HasPrefix(why, "where there is no device with ") {
				t.Fatalf("%d bytes: %.200s", len(why), why)
			}
		}
		if len(c.Unfit) < 20 {
			t.Errorf("only %d nodes do not fit", len(c.Unfit))
		}
	}
}
