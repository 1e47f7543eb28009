package sched

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

// TestPrefer: a preference chooses between places, and neither waits nor cuts a task up.
func TestPrefer(t *testing.T) {
	node := func(name string, slots int) Node {
		n := Node{ID: name, Name: name, Schedulable: true}
		for i := range slots {
			n.Slots = append(n.Slots, Slot{ID: i, Healthy: true, Enabled: true})
		}
		return n
	}
	nodes := []Node{node("n1", 8), node("n2", 4), node("n3", 8), node("n4", 8)}
	busy := []Running{{ID: "r", Parts: []Part{{NodeID: "n3", SlotIDs: []int{0, 1, 2, 3, 4, 5, 6, 7}}}}}
	for name, c := range map[string]struct {
		request Request
		want    string
	}{
		"without one the smallest that fits":          {Request{Slots: 2}, "[n2]"},
		"the preferred of those that fit":             {Request{Slots: 2, Prefer: map[string]float64{"n4": 1}}, "[n4]"},
		"the next best where that is full":            {Request{Slots: 2, Prefer: map[string]float64{"n3": 1, "n1": 0.5}}, "[n1]"},
		"away from nodes":                             {Request{Slots: 2, Prefer: map[string]float64{"n2": -1, "n1": -0.5}}, "[n4]"},
		"whole on a node that is not preferred":       {Request{Slots: 8, Prefer: map[string]float64{"n2": 1, "n3": 1}}, "[n1]"},
		"what must not be used stays out of question": {Request{Slots: 2, Exclude: []string{"n4"}, Prefer: map[string]float64{"n4": 1}}, "[n2]"},
		"two nodes, both preferred":                   {Request{Slots: 16, Prefer: map[string]float64{"n4": 1}}, "[n1 n4]"},
		"of no slots":                                 {Request{Prefer: map[string]float64{"n4": 1}}, "[n4]"},
		"of no slots, away from most":                 {Request{Prefer: map[string]float64{"n1": -1, "n2": -1, "n4": -1}}, "[n3]"},
	} {
		c.request.ID = "q"
		result := Plan(&pool.Pool{Name: "p", MaxAux: 2}, nodes, busy, []Request{c.request}, epoch)
		var at []string
		for _, p := range result.Place {
			for _, part := range p.Parts {
				at = append(at, part.NodeID)
			}
		}
		if fmt.Sprint(at) != c.want {
			t.Errorf("%s: %v, want %s (%v)", name, at, c.want, result.Waiting)
		}
	}
}
