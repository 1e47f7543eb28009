package sched

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// drawReserved draws reservations that have begun, that begin soon or later, and maintenances.
func drawReserved(t *rapid.T, s *scene) (list Reserved) {
	for i := range rapid.IntRange(0, 4).Draw(t, "reservations") {
		v := Reservation{ID: i + 1, Slots: rapid.IntRange(1, 8).Draw(t, "reserved"), Workspace: drawWorkspace(t), User: rapid.SampledFrom([]string{"", drawUser(t)}).Draw(t, "of")}
		if len(s.nodes) > 0 && rapid.IntRange(0, 3).Draw(t, "is a maintenance") == 0 {
			v = Reservation{ID: i + 1, Nodes: []string{rapid.SampledFrom(s.nodes).Draw(t, "node").ID}}
		}
		v.From = epoch.Add(time.Duration(rapid.SampledFrom([]int{-5, 0, 1, 3, 6, 9000}).Draw(t, "from")) * time.Second)
		v.Until = v.From.Add(time.Duration(rapid.IntRange(1, 10).Draw(t, "for")) * time.Second)
		list = append(list, v)
	}
	return list
}

// siteOf is the scene as a plan has divided it.
func (s scene) siteOf(reserved Reserved) *site {
	x := &site{of: s.pool, nodes: slices.Clone(s.nodes), running: slices.Clone(s.running), now: epoch}
	slices.SortFunc(x.running, func(a, b Running) int { return byText(a.ID, b.ID) })
	list := reserved.live(epoch)
	for _, v := range list {
		if v.isMaintenance() && v.has(epoch) {
			x.shut(v)
		}
	}
	x.choose(list)
	return x
}

func byText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// TestReservedSlotsAreKept: no slot of a reservation that has begun goes to others than its owner, no node in maintenance is used, and nothing starts that
// would be in the way of a reservation when it begins.
func TestReservedSlotsAreKept(t *testing.T) {
	kept, withheld, left, inside := 0, 0, 0, 0
	scenes := func(t *rapid.T) {
		s := drawScene(t)
		drawLasts(t, &s)
		s.reserved = drawReserved(t, &s)
		x := s.siteOf(s.reserved)
		result := s.reserved.Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if err := s.check(result); err != nil {
			t.Fatalf("%v\n%s", err, show(result))
		}
		left += len(result.Preempt)
		for _, v := range x.spots {
			before, after := s.lacking(v, x.spots, nil), s.lacking(v, x.spots, result.Place)
			if after > before {
				t.Fatalf("reservation %d lacks %d slots, and %d before the plan:\n%s", v.ID, after, before, show(result))
			}
			if !v.has(epoch) {
				withheld++
				continue
			}
			kept++
			for _, p := range result.Place {
				q := s.request(p.ID)
				if !v.meets(p.Parts) {
					continue
				}
				if inside++; !v.owns(q.Workspace, q.User) {
					t.Fatalf("%s of %s/%s gets slots of reservation %d of %s:\n%s", q.ID, q.Workspace, q.User, v.ID, v.Owner(), show(result))
				}
			}
		}
		for _, v := range s.reserved {
			for _, p := range result.Place {
				q := s.request(p.ID)
				there := slices.ContainsFunc(p.Parts, func(part Part) bool { return slices.Contains(v.Nodes, part.NodeID) })
				if there && (v.has(epoch) || q.runsInto(&spot{Reservation: &v}, epoch)) {
					t.Fatalf("%s starts on a node that is in maintenance:\n%s", p.ID, show(result))
				}
			}
		}
	}
	for range 10 { // what must have happened is rare
		if rapid.Check(t, scenes); kept > 0 && withheld > 0 && left > 0 && inside > 0 {
			return
		}
	}
	if kept == 0 || withheld == 0 || left == 0 || inside == 0 {
		t.Errorf("%d reservations have begun, %d have not, %d tasks were preempted, and %d started on reserved slots", kept, withheld, left, inside)
	}
}

func (s scene) request(id string) *Request {
	return &s.queued[slices.IndexFunc(s.queued, func(q Request) bool { return q.ID == id })]
}

// lacking is how many slots a reservation will lack on the nodes that it has, because of what is not its owner's and will not have left. Slots of others that
// have begun are no slots for it, whoever has them.
func (s scene) lacking(v *spot, all []*spot, placed []Placement) (lacks int) {
	type model struct{ node, brand string }
	others, usable, needed := map[model]int{}, map[model]int{}, map[model]int{}
	count := func(to map[model]int, node string, ids []int) {
		n := s.nodeOf(node)
		for _, id := range ids {
			taken := slices.ContainsFunc(all, func(w *spot) bool { return w != v && w.has(epoch) && w.overlaps(v.Reservation) && w.hasSlot(node, id) })
			if x := n.Slot(id); x != nil && x.usable() && !taken {
				to[model{node, x.Brand}]++
			}
		}
	}
	add := func(parts []Part) {
		for _, part := range parts {
			count(others, part.NodeID, part.SlotIDs)
		}
	}
	soon := v.From.Sub(epoch) <= reserveLead
	for i := range s.running {
		r := &s.running[i]
		if !r.Leaving && !v.owns(r.Workspace, r.User) && !r.endsBy(v.From, epoch) && (soon || !r.Preemptible) {
			add(r.Parts)
		}
	}
	for _, p := range placed {
		if q := s.request(p.ID); q.runsInto(v, epoch) || v.has(epoch) && !v.owns(q.Workspace, q.User) {
			add(p.Parts)
		}
	}
	for node, ids := range v.slots {
		count(needed, node, ids)
		for _, slot := range s.nodeOf(node).Slots {
			count(usable, node, []int{slot.ID})
		}
	}
	for x, n := range needed {
		lacks += max(0, n-(usable[x]-others[x]))
	}
	return lacks
}

// TestReservationsDoNotDelayWhatEndsBefore: of requests that all end before the first reservation begins, a plan makes the same as without
// reservations.
func TestReservationsDoNotDelayWhatEndsBefore(t *testing.T) {
	some := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		drawLasts(t, &s)
		for i := range s.queued {
			s.queued[i].Longest = time.Duration(rapid.IntRange(1, 60).Draw(t, "longest")) * time.Second
		}
		for _, v := range drawReserved(t, &s) {
			v.From = epoch.Add(time.Duration(rapid.IntRange(60, 9000).Draw(t, "from")) * time.Second)
			v.Until = v.From.Add(time.Hour)
			s.reserved = append(s.reserved, v)
		}
		want := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if got := s.reserved.Plan(s.pool, s.nodes, s.running, s.queued, epoch); show(got) != show(want) {
			t.Fatalf("with reservations:\n%s\nwithout:\n%s", show(got), show(want))
		}
		if len(s.reserved) > 0 && len(want.Place) > 0 {
			some++
		}
	})
	if some == 0 {
		t.Error("no request started before a reservation")
	}
}

// TestReservationsKeepTheHead: a pool with a reservation, played to its end with all requests and without those behind the head: the head starts at
// the same time, also if those behind it may use slots that are withheld from the head. (If the owner has tasks beside its reservation, they may become
// tasks of the reservation when others of its tasks end, and then others have more room.)
func TestReservationsKeepTheHead(t *testing.T) {
	heads, barred := 0, 0
	scenes := func(t *rapid.T) {
		s := drawCrowd(t)
		s.nodes = s.nodes[:1]
		s.running = slices.DeleteFunc(s.running, func(r Running) bool { return r.Parts[0].NodeID != s.nodes[0].ID })
		s.pool = &pool.Pool{Name: "gpu"}
		for i := range s.queued {
			q := &s.queued[i]
			q.Ask, q.SingleNode, q.Priority, q.QueuedAt = Ask{}, true, i, epoch
			q.Slots = min(q.Slots, len(s.nodes[0].Slots))
		}
		lasts := drawLasts(t, &s)
		for i := range s.running {
			if rapid.Bool().Draw(t, "is limited") {
				s.running[i].Latest = epoch.Add(time.Duration(lasts[s.running[i].ID]+rapid.IntRange(0, 2).Draw(t, "more")) * time.Second)
			}
		}
		s.reserved = Reserved{{ID: 1, Workspace: "nobody's", Slots: rapid.IntRange(1, len(s.nodes[0].Slots)).Draw(t, "reserved"),
			From: seconds(fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "from"))), Until: seconds("30")}}
		first := s.reserved.Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		head := slices.IndexFunc(s.queued, func(q Request) bool { return first.Full[q.ID] })
		beside := len(s.nodes[0].Slots) - s.reserved[0].Slots
		if head < 0 || slices.ContainsFunc(s.queued[:head+1], func(q Request) bool { return q.Slots > beside }) { // such a request is no head during the reservation
			return
		}
		heads++
		if s.queued[head].runsInto(&spot{Reservation: &s.reserved[0]}, epoch) {
			barred++
		}
		alone := s
		alone.queued = s.queued[:head+1]
		id := s.queued[head].ID
		if with, without := play(s, lasts, id), play(alone, lasts, id); with != without {
			text := ""
			for _, q := range s.queued {
				text += fmt.Sprintf("%s: %d slots for %d s, at most %v\n", q.ID, q.Slots, lasts[q.ID], q.Longest)
			}
			for _, r := range s.running {
				text += fmt.Sprintf("%s on %v for %d s, %v to %v\n", r.ID, r.Parts, lasts[r.ID], r.Earliest.Sub(epoch), r.Latest.Sub(epoch))
			}
			t.Fatalf("%s starts at %d with requests behind it, at %d without them; on %d slots, %d of them reserved from %v to %v:\n%s", id, with, without, len(s.nodes[0].Slots),
				s.reserved[0].Slots, s.reserved[0].From.Sub(epoch), s.reserved[0].Until.Sub(epoch), text)
		}
	}
	for range 10 {
		if rapid.Check(t, scenes); heads > 0 && barred > 0 {
			return
		}
	}
	if heads == 0 || barred == 0 {
		t.Errorf("%d heads, of which %d would run into a reservation", heads, barred)
	}
}

// TestPlanWithReservationsIsStable: the order of the lists does not matter, and who gets no answer in one plan gets the same one in the next.
func TestPlanWithReservationsIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		drawLasts(t, &s)
		s.reserved = drawReserved(t, &s)
		first := s.reserved.Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		nodes, running, queued, reserved := slices.Clone(s.nodes), slices.Clone(s.running), slices.Clone(s.queued), slices.Clone(s.reserved)
		slices.Reverse(nodes)
		slices.Reverse(running)
		slices.Reverse(queued)
		slices.Reverse(reserved)
		second := reserved.Plan(s.pool, nodes, running, queued, epoch)
		if show(first) != show(second) || !reflect.DeepEqual(first.Full, second.Full) {
			t.Fatalf("one order:\n%s\nthe other:\n%s", show(first), show(second))
		}
	})
}

// TestNothingIsPreemptedWithoutNeed: where one block has room for a reservation, beside all that is not its owner's, nothing is preempted for it.
func TestNothingIsPreemptedWithoutNeed(t *testing.T) {
	some := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		v := Reservation{ID: 1, Slots: rapid.IntRange(1, 4).Draw(t, "reserved"), Workspace: drawWorkspace(t), From: epoch, Until: epoch.Add(time.Hour)}
		inv := newInventory(s.pool, s.nodes, s.running)
		room := make([]int, len(inv.blocks))
		for i := range inv.blocks {
			room[i] = len(inv.blocks[i].slots)
		}
		others := 0 // tasks that could be preempted
		for i := range inv.running {
			if r := &inv.running[i]; !r.Leaving && !v.owns(r.Workspace, r.User) {
				for _, h := range inv.holds[i] {
					room[h.block] -= h.n
				}
				if r.Preemptible {
					others++
				}
			}
		}
		if len(room) == 0 || slices.Max(room) < v.Slots {
			return
		}
		for _, p := range (Reserved{v}).Plan(s.pool, s.nodes, s.running, nil, epoch).Preempt {
			t.Fatalf("%s: %s", p.ID, p.Reason)
		}
		if others > 0 {
			some++
		}
	})
	if some == 0 {
		t.Error("nothing could be preempted in any scene")
	}
}

// TestMaintenancesElsewhere: maintenances of the nodes of other pools do not count as reservations that a plan looks at, nor are their times some that
// Starts looks at.
func TestMaintenancesElsewhere(t *testing.T) {
	of := &pool.Pool{Name: "gpu"}
	nodes := []Node{{ID: "n1", Name: "n1", Schedulable: true, Slots: []Slot{{Healthy: true, Enabled: true}}}}
	queued := []Request{{ID: "q", Slots: 1, Workspace: "b"}}
	reserved := Reserved{{ID: 1, Workspace: "a", Slots: 1, From: epoch, Until: epoch.Add(time.Hour)}}
	for i := range maxReserved {
		at := epoch.Add(time.Duration(i-maxReserved) * time.Second)
		reserved = append(reserved, Reservation{ID: 2 + i, Nodes: []string{"elsewhere"}, From: at, Until: epoch.Add(time.Duration(1+i) * time.Second)})
	}
	if got := reserved.Plan(of, nodes, nil, queued, epoch); len(got.Place) != 0 {
		t.Errorf("a slot that is reserved goes to another:\n%s", show(got))
	}
	if got := reserved.Starts(of, nodes, nil, queued, nil, epoch).Starts["q"]; !got.At.Equal(epoch.Add(time.Hour)) {
		t.Errorf("the request is expected to start at %s (%s), and not after the reservation", got.At, got.Unknown)
	}
}

// TestNeededSlots: what reservations need of a block at the same time is the same as counted at each start.
func TestNeededSlots(t *testing.T) {
	node := Node{ID: "n1", Name: "n1", Schedulable: true}
	for i := range 8 {
		node.Slots = append(node.Slots, Slot{ID: i, Healthy: true, Enabled: true})
	}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlanner(&pool.Pool{Name: "gpu"}, []Node{node}, nil, 0)
		var spots, with []*spot
		for i := range rapid.IntRange(1, 12).Draw(t, "reservations") {
			from := epoch.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "from")) * time.Second)
			v := &spot{bit: 1 << i, Reservation: &Reservation{From: from, Until: from.Add(time.Duration(rapid.IntRange(1, 8).Draw(t, "for")) * time.Second)}}
			ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 1, 8, rapid.ID[int]).Draw(t, "slots")
			slices.Sort(ids)
			v.slots = map[string][]int{"n1": ids}
			if spots = append(spots, v); rapid.Bool().Draw(t, "counts") {
				with = append(with, v)
			}
		}
		if len(with) == 0 {
			return
		}
		p.stakes = p.stakesOf(spots)
		most := 0
		for _, v := range with {
			sum := 0
			for _, w := range with {
				if w.has(v.From) {
					sum += len(w.slots["n1"])
				}
			}
			most = max(most, sum)
		}
		if got := p.overlapWith(with).need[0]; got != most {
			t.Fatalf("%d slots are needed, and %d are counted", most, got)
		}
	})
}
