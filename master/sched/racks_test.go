package sched

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// TestFewRacks: racks change neither whether a request starts nor on how many nodes, and a request of equal parts is on as few
// racks as nodes with room for it allow. testdata/racks has requests for which the preference makes a difference.
func TestFewRacks(t *testing.T) {
	spread := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawGang(t)
		without := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		for i := range s.nodes {
			s.nodes[i].Rack = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "rack")
		}
		with := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if err := s.check(with); err != nil {
			t.Fatal(err)
		}
		if len(with.Place) != len(without.Place) || len(with.Place) == 1 && len(with.Place[0].Parts) != len(without.Place[0].Parts) {
			t.Fatalf("racks changed more than the place:\n%s\n%s", show(without), show(with))
		}
		if len(with.Place) == 0 || len(with.Place[0].Parts) == 1 {
			return
		}
		used, all := s.racksOf(with.Place[0]), s.racksOf(without.Place[0])
		if used > all {
			t.Fatalf("%d racks, and %d without the preference", used, all)
		}
		spread++
		if !s.pool.Scheduler.EqualParts || s.queued[0].MixModels { // one model comes before one rack
			return
		}
		empty := newPlanner(s.pool, s.nodes, nil, 1)
		if empty.fewest(&s.queued[0]).nodes != len(with.Place[0].Parts) { // smaller parts, which must fill their nodes
			return
		}
		for n := 1; n < used; n++ {
			for _, racks := range setsOf(s.rackNames(), n) {
				fewer := s
				fewer.queued = slices.Clone(s.queued)
				for i := range s.nodes {
					if !slices.Contains(racks, s.rackOf(i)) {
						fewer.queued[0].Exclude = append(slices.Clone(fewer.queued[0].Exclude), s.nodes[i].ID)
					}
				}
				r := Plan(s.pool, s.nodes, s.running, fewer.queued, epoch)
				if len(r.Place) == 1 && len(r.Place[0].Parts) == len(with.Place[0].Parts) {
					t.Fatalf("it is on %d racks, and %v have room:\n%s%s", used, racks, show(with), show(r))
				}
			}
		}
	})
	if spread == 0 {
		t.Fatal("no task was on several nodes")
	}
}

// drawGang draws small nodes, partly in use, and a request for several of them.
func drawGang(t *rapid.T) scene {
	s := scene{pool: &pool.Pool{Name: "gpu"}}
	s.pool.Scheduler.EqualParts = rapid.Bool().Draw(t, "equal parts")
	for i := range rapid.IntRange(2, 7).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("n%d", i), Schedulable: true}
		model := rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "model")
		for j := range rapid.SampledFrom([]int{1, 2, 2, 3}).Draw(t, "slots") {
			n.Slots = append(n.Slots, Slot{ID: j, Brand: model, Healthy: true, Enabled: true})
		}
		if rapid.IntRange(0, 3).Draw(t, "used") == 0 {
			s.running = append(s.running, Running{ID: "r" + n.ID, Parts: []Part{{NodeID: n.ID, SlotIDs: []int{0}}}})
		}
		s.nodes = append(s.nodes, n)
	}
	s.queued = []Request{{ID: "q", Slots: rapid.IntRange(2, 8).Draw(t, "wanted"), MixModels: rapid.IntRange(0, 3).Draw(t, "mixed") == 0}}
	return s
}

func (s *scene) rackOf(node int) string {
	if r := s.nodes[node].Rack; r != "" {
		return r
	}
	return fmt.Sprint("alone ", node)
}

func (s *scene) rackNames() (names []string) {
	for i := range s.nodes {
		names = append(names, s.rackOf(i))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *scene) racksOf(p Placement) int {
	racks := map[string]bool{}
	for _, part := range p.Parts {
		racks[s.rackOf(slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == part.NodeID }))] = true
	}
	return len(racks)
}

// setsOf lists the sets of n names.
func setsOf(names []string, n int) (sets [][]string) {
	if n == 0 {
		return [][]string{nil}
	}
	for i := range names {
		for _, rest := range setsOf(names[i+1:], n-1) {
			sets = append(sets, append([]string{names[i]}, rest...))
		}
	}
	return sets
}
