package control

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/control/expressions"
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
	spent := s.p.choices.expressions.Spent("eve")
	if len(placed) == 0 || len(placed) == tasks || spent > expressions.Share {
		t.Errorf("%d of %d tasks are placed, and %d of %d is spent", len(placed), tasks, spent, expressions.Share)
	}
	once := expressions.Work("set_contains_any", "r1", strings.Repeat("x,", 200)+"00-00,r1") + nodes*expressions.PlainWork
	if most := int64(len(placed)+1) * (each*once + nodes*expressions.NodeWork); spent == 0 || spent > most {
		t.Errorf("%d is spent for %d tasks, and %d suffices if the value of all nodes is compared once", spent, len(placed), most)
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
