package sched

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// drawLinked draws nodes of up to eight slots in link groups, partly in use, and requests that fit on one of them.
func drawLinked(t *rapid.T) scene {
	s := scene{pool: &pool.Pool{Name: "gpu"}}
	if rapid.IntRange(0, 4).Draw(t, "worst fit") == 0 {
		s.pool.Scheduler.Fitting = pool.WorstFit
	}
	size := rapid.IntRange(2, 8).Draw(t, "slots") // of most nodes, so that many are equally good
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("n%d", i), Schedulable: true}
		for j := range max(1, size-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "fewer")) {
			n.Slots = append(n.Slots, Slot{ID: j, Brand: rapid.SampledFrom([]string{"a", "a", "a", "a", "a", "a", "a", "b"}).Draw(t, "model"),
				Healthy: rapid.IntRange(0, 9).Draw(t, "healthy") > 0, Enabled: true, LinkGroup: rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3}).Draw(t, "group")})
			if rapid.IntRange(0, 2).Draw(t, "used") == 0 && n.Slots[j].usable() {
				s.running = append(s.running, Running{ID: fmt.Sprint("r", i, "-", j), Parts: []Part{{NodeID: n.ID, SlotIDs: []int{j}}}})
			}
		}
		s.nodes = append(s.nodes, n)
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "queued") {
		s.queued = append(s.queued, Request{ID: fmt.Sprint("q", i), Slots: rapid.IntRange(1, 6).Draw(t, "wanted"), Priority: i,
			SingleNode: rapid.IntRange(0, 3).Draw(t, "single") > 0, MixModels: rapid.Bool().Draw(t, "mix")})
	}
	return s
}

// groupOf is the group of a slot. A slot in no group is one of its own, below 0, unless no two slots of the node are linked:
// then all are as close as those of one group.
func groupOf(n Node, id int) int {
	if !slices.ContainsFunc(n.Slots, func(x Slot) bool { return x.LinkGroup != 0 && sizeOf(n, x.LinkGroup) > 1 }) {
		return 0
	}
	if g := n.Slot(id).LinkGroup; g != 0 {
		return g
	}
	return -1 - id
}

// freeBy counts the free slots of a model by their groups, and lists the counts, the largest first.
func freeBy(node Node, brand string, held map[slotIn]bool) (free []int, groups map[int]int) {
	groups = map[int]int{}
	for _, x := range node.Slots {
		if x.Brand == brand && x.usable() && !held[slotIn{node.ID, x.ID}] {
			groups[groupOf(node, x.ID)]++
		}
	}
	for _, n := range groups {
		free = append(free, n)
	}
	slices.SortFunc(free, func(a, b int) int { return b - a })
	return free, groups
}

// fewestOf is how many of the groups with the most free slots hold so many; 0 if all together do not.
func fewestOf(free []int, slots int) int {
	for k, n := range free {
		if slots -= n; slots <= 0 {
			return k + 1
		}
	}
	return 0
}

func sum(list []int) (total int) {
	for _, n := range list {
		total += n
	}
	return total
}

func (s *scene) heldSlots() map[slotIn]bool {
	held := map[slotIn]bool{}
	for _, r := range s.running {
		for _, p := range r.Parts {
			for _, id := range p.SlotIDs {
				held[slotIn{p.NodeID, id}] = true
			}
		}
	}
	return held
}

// TestFewestGroups: each part has slots of as few link groups as its node's free slots allow. And a part of one slot breaks
// no whole group while another group of its node has a free slot and is alone or in use.
func TestFewestGroups(t *testing.T) {
	split, whole := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawLinked(t)
		result := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if err := s.check(result); err != nil {
			t.Fatal(err)
		}
		held := s.heldSlots()
		for _, p := range result.Place {
			for _, part := range p.Parts {
				node := s.nodes[slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == part.NodeID })]
				free, groups := freeBy(node, node.Slot(part.SlotIDs[0]).Brand, held)
				used := map[int]int{}
				for _, id := range part.SlotIDs {
					used[groupOf(node, id)]++
					held[slotIn{node.ID, id}] = true
				}
				if want := fewestOf(free, len(part.SlotIDs)); len(used) != want {
					t.Fatalf("%s has slots %v of %s in %d groups, and %d hold them:\n%s", p.ID, part.SlotIDs, node.ID, len(used), want, show(result))
				}
				if len(used) > 1 {
					split++
				} else if len(part.SlotIDs) > 1 {
					whole++
				}
				if len(part.SlotIDs) == 1 && breaks(node, part.SlotIDs[0], groups) {
					for group, n := range groups {
						if group < 0 || n < sizeOf(node, group) {
							t.Fatalf("%s breaks a whole group of %s, and %d has %d free:\n%s", p.ID, node.ID, group, n, show(result))
						}
					}
				}
			}
		}
	})
	if split == 0 || whole == 0 {
		t.Fatalf("%d parts in several groups, %d in one: the test shows nothing", split, whole)
	}
}

func sizeOf(n Node, group int) (size int) {
	for _, x := range n.Slots {
		if x.LinkGroup == group {
			size++
		}
	}
	return size
}

// breaks reports whether a slot is of a group of several, all of which are free.
func breaks(n Node, id int, groups map[int]int) bool {
	group := groupOf(n, id)
	return group > 0 && sizeOf(n, group) > 1 && groups[group] == sizeOf(n, group)
}

// TestLinksDecideNothingElse: without link groups each request alone starts just the same, on as many nodes, each of which
// has as many free slots. And of the nodes that are equally good, none holds it in fewer groups. testdata/links has requests for
// which links decide between nodes.
func TestLinksDecideNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawLinked(t)
		s.queued = s.queued[:1]
		plain := slices.Clone(s.nodes)
		for i := range plain {
			plain[i].Slots = slices.Clone(plain[i].Slots)
			for j := range plain[i].Slots {
				plain[i].Slots[j].LinkGroup = 0
			}
		}
		with, without := Plan(s.pool, s.nodes, s.running, s.queued, epoch), Plan(s.pool, plain, s.running, s.queued, epoch)
		if !reflect.DeepEqual(with.Waiting, without.Waiting) || len(with.Place) != len(without.Place) {
			t.Fatalf("links decide whether a request starts:\n%s\n%s", show(without), show(with))
		}
		if len(with.Place) == 0 {
			return
		}
		held := s.heldSlots()
		got, sizes := s.merits(with.Place[0], held)
		if _, want := s.merits(without.Place[0], held); !slices.Equal(sizes, want) {
			t.Fatalf("links decide about other things than the slots:\n%s\n%s", show(without), show(with))
		}
		if len(with.Place[0].Parts) > 1 {
			return
		}
		for _, n := range s.nodes {
			for _, brand := range []string{"a", "b"} {
				free, _ := freeBy(n, brand, held)
				if sum(free) == sizes[0] && fewestOf(free, s.queued[0].Slots) < got {
					t.Fatalf("it is in %d groups, and in fewer on %s:\n%s", got, n.ID, show(with))
				}
			}
		}
	})
}

// merits is in how many link groups a placement is on its first node, and how many slots were free on each of its nodes.
func (s *scene) merits(p Placement, held map[slotIn]bool) (groups int, sizes []int) {
	for i, part := range p.Parts {
		n := s.nodes[slices.IndexFunc(s.nodes, func(n Node) bool { return n.ID == part.NodeID })]
		free, _ := freeBy(n, n.Slot(part.SlotIDs[0]).Brand, held)
		sizes = append(sizes, sum(free))
		if i == 0 {
			groups = fewestOf(free, len(part.SlotIDs))
		}
	}
	slices.Sort(sizes)
	return groups, sizes
}

// TestNoChoiceOfLinks: where all slots of a node are in one group, or each is alone, the plan is that of nodes without groups.
func TestNoChoiceOfLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		var plans []Result
		for _, group := range []func(int) int{func(int) int { return 0 }, func(int) int { return 7 }, func(i int) int { return i + 1 }} {
			for i := range s.nodes {
				for j := range s.nodes[i].Slots {
					s.nodes[i].Slots[j].LinkGroup = group(j)
				}
			}
			plans = append(plans, Plan(s.pool, s.nodes, s.running, s.queued, epoch))
		}
		for _, p := range plans[1:] {
			if !reflect.DeepEqual(p, plans[0]) {
				t.Fatalf("groups without a choice changed the plan:\n%s\n%s", show(plans[0]), show(p))
			}
		}
	})
}
