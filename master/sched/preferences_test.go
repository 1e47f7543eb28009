package sched

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/pool"
)

// TestPrefer: a preference chooses between placements. A task neither waits nor is divided because
// of it.
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
		"without one the smallest that fits":              {Request{Slots: 2}, "[n2]"},
		"the preferred of those that fit":                 {Request{Slots: 2, Choice: &Choice{Prefer: map[string]float64{"n4": 1}}}, "[n4]"},
		"the next best where that is full":                {Request{Slots: 2, Choice: &Choice{Prefer: map[string]float64{"n3": 1, "n1": 0.5}}}, "[n1]"},
		"away from nodes":                                 {Request{Slots: 2, Choice: &Choice{Prefer: map[string]float64{"n2": -1, "n1": -0.5}}}, "[n4]"},
		"whole on a node that is not preferred":           {Request{Slots: 8, Choice: &Choice{Prefer: map[string]float64{"n2": 1, "n3": 1}}}, "[n1]"},
		"an excluded node is not used although preferred": {Request{Slots: 2, Exclude: []string{"n4"}, Choice: &Choice{Prefer: map[string]float64{"n4": 1}}}, "[n2]"},
		"two nodes, both preferred":                       {Request{Slots: 16, Choice: &Choice{Prefer: map[string]float64{"n4": 1}}}, "[n1 n4]"},
		"of no slots":                                     {Request{Choice: &Choice{Prefer: map[string]float64{"n4": 1}}}, "[n4]"},
		"of no slots, away from most":                     {Request{Choice: &Choice{Prefer: map[string]float64{"n1": -1, "n2": -1, "n4": -1}}}, "[n3]"},
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

// TestSpread: the tasks of a group are spread over the values of an attribute by their shares, which
// count running tasks too; a task does not wait because a share is full.
func TestSpread(t *testing.T) {
	choice := &Choice{Spread: []Spread{{Weight: 1, Value: map[string]string{}, Share: map[string]float64{"r1": 0.5, "r2": 0.25, "r3": 0.25}}}}
	var nodes []Node
	for i, rack := range []string{"r1", "r1", "r2", "r3", ""} {
		n := Node{ID: fmt.Sprintf("n%d", i), Name: fmt.Sprintf("n%d", i), Schedulable: true}
		for j := range 4 {
			n.Slots = append(n.Slots, Slot{ID: j, Healthy: true, Enabled: true})
		}
		nodes = append(nodes, n)
		if rack != "" {
			choice.Spread[0].Value[n.ID] = rack
		}
	}
	rackOf := func(p Placement) string { return choice.Spread[0].Value[p.Parts[0].NodeID] }
	running := []Running{{ID: "r", Group: "g", Parts: []Part{{NodeID: "n2", SlotIDs: []int{0}}}},
		{ID: "other", Group: "h", Parts: []Part{{NodeID: "n3", SlotIDs: []int{0}}}}}
	for slots, most := range []int{17, 17} {
		var queued []Request
		for i := range most {
			queued = append(queued, Request{ID: fmt.Sprintf("q%02d", i), Group: "g", Slots: slots, Choice: choice})
		}
		result := Plan(&pool.Pool{Name: "p", MaxAux: 4}, nodes, running, queued, epoch)
		if len(result.Place) != most {
			t.Fatalf("of %d slots: %d of %d placed (%v)", slots, len(result.Place), most, result.Waiting)
		}
		at := map[string]int{}
		for i, p := range result.Place {
			at[rackOf(p)]++
			if want := map[string]int{"r1": 4, "r2": 1, "r3": 2}; i == 6 && fmt.Sprint(at) != fmt.Sprint(want) {
				t.Errorf("of %d slots: the first seven are at %v, want %v, with one more at r2 from before", slots, at, want)
			}
		}
		if at[""] != most-at["r1"]-at["r2"]-at["r3"] || at[""] == 0 {
			t.Errorf("of %d slots: where the value is missing comes last: %v", slots, at)
		}
	}
	pairs := Plan(&pool.Pool{Name: "p"}, nodes, nil, []Request{{ID: "pair", Group: "g", Slots: 8, Choice: choice}}, epoch)
	if len(pairs.Place) != 1 || len(pairs.Place[0].Parts) != 2 {
		t.Errorf("members of one request: %+v (%v)", pairs.Place, pairs.Waiting)
	}
}
