package sched

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// fairParts computes the fair parts of children with these demands by bisection, to compare with
// share.divide.
func fairParts(capacity float64, wanted, weights []float64) []float64 {
	part := func(level float64, i int) float64 { return min(wanted[i], level*weights[i]) }
	low, high := 0.0, 1e9
	for range 200 {
		level, sum := (low+high)/2, 0.0
		for i := range wanted {
			sum += part(level, i)
		}
		if sum > capacity {
			high = level
		} else {
			low = level
		}
	}
	parts := make([]float64, len(wanted))
	for i := range parts {
		parts[i] = part(low, i)
	}
	return parts
}

func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &share{fair: float64(rapid.IntRange(0, 50).Draw(t, "capacity"))}
		var wanted, weights []float64
		for i := range rapid.IntRange(1, 8).Draw(t, "children") {
			c := s.child(fmt.Sprint(i), rapid.SampledFrom([]float64{0.1, 1, 2, 3, 1000}).Draw(t, "weight"))
			c.wanted = rapid.IntRange(0, 30).Draw(t, "wanted")
			wanted, weights = append(wanted, float64(c.wanted)), append(weights, c.weight)
		}
		s.divide()
		for i, want := range fairParts(s.fair, wanted, weights) {
			if math.Abs(s.children[i].fair-want) > 1e-5 {
				t.Fatalf("child %d of %v slots, wanted %v, weights %v: %g slots, want %g", i, s.fair, wanted, weights, s.children[i].fair, want)
			}
		}
	})
}

// TestDivideWithAPast: all of the slots are divided that are wanted, nobody gets less than a quarter of what it would get without a past, and nobody gets a
// part from whom who has used and holds less could get it.
func TestDivideWithAPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &share{fair: float64(rapid.IntRange(1, 50).Draw(t, "capacity"))}
		var wanted, weights []float64
		all := 0.0
		for i := range rapid.IntRange(1, 8).Draw(t, "children") {
			c := s.child(fmt.Sprint(i), rapid.SampledFrom([]float64{0.1, 1, 2, 3, 1000}).Draw(t, "weight"))
			c.wanted, c.past = rapid.IntRange(0, 30).Draw(t, "wanted"), float64(rapid.SampledFrom([]int{0, 0, 1, 7, 100, 3000}).Draw(t, "past"))
			wanted, weights = append(wanted, float64(c.wanted)), append(weights, c.weight)
			all += float64(c.wanted)
		}
		s.divide()
		sum, most := 0.0, 0.0 // most: the level without a past
		for i, part := range fairParts(s.fair, wanted, weights) {
			most = max(most, part/weights[i])
		}
		level := func(i int) float64 { return (s.children[i].fair + s.children[i].past) / weights[i] }
		for i, c := range s.children {
			sum += c.fair
			least := minPart * most * weights[i]
			if c.fair < min(wanted[i], least)-1e-4 {
				t.Fatalf("child %d gets %g, less than %g", i, c.fair, least)
			}
			for j, d := range s.children {
				if c.fair > least+1e-4 && d.fair < wanted[j]-1e-4 && level(i) > level(j)+1e-4*max(1, level(i)) {
					t.Fatalf("child %d gets %g at level %g, and child %d only %g of %g at level %g", i, c.fair, level(i), j, d.fair, wanted[j], level(j))
				}
			}
		}
		if math.Abs(sum-min(s.fair, all)) > 1e-4 {
			t.Fatalf("%g of %g slots are divided; %g are wanted", sum, s.fair, all)
		}
	})
}

// A world is a pool whose tasks do not end, so that only plans change it.
type world struct {
	scene
	preempted map[string]int
	round     int
	held      map[[3]string]time.Time // when workspaces, users and groups last held slots
}

func newWorld(s scene) *world {
	return &world{scene: s, preempted: map[string]int{}, held: map[[3]string]time.Time{}}
}

// sharersOf are a workspace, a user in it, and a job of that user.
func sharersOf(workspace, user, group string) [3][3]string {
	return [3][3]string{{workspace}, {workspace, user}, {workspace, user, group}}
}

func (w *world) plan() Result {
	now := epoch.Add(time.Duration(w.round) * time.Second)
	for _, r := range w.running {
		if r.slots() == 0 {
			continue
		}
		for _, name := range sharersOf(r.Workspace, r.User, r.Group) {
			w.held[name] = now
		}
	}
	for i := range w.queued {
		q := &w.queued[i]
		of := sharersOf(q.Workspace, q.User, q.Group)
		q.Served = Served{Workspace: w.held[of[0]], User: w.held[of[1]], Group: w.held[of[2]]}
	}
	return Plan(w.pool, w.nodes, w.running, w.queued, now)
}

// apply carries out a plan: placed requests run, and preempted ones begin to end.
func (w *world) apply(r Result) {
	w.round++
	w.running, w.queued = slices.Clone(w.running), slices.Clone(w.queued)
	for _, p := range r.Place {
		i := slices.IndexFunc(w.queued, func(q Request) bool { return q.ID == p.ID })
		q := w.queued[i]
		w.queued = slices.Delete(w.queued, i, i+1)
		w.running = append(w.running, Running{ID: q.ID, Group: q.Group, Priority: q.Priority, StartedAt: epoch, Preemptible: true,
			MaxSlots: q.MaxSlots, Parts: p.Parts, Workspace: q.Workspace, User: q.User, Weight: q.Weight, Quotas: q.Quotas, Recent: q.Recent})
	}
	for _, v := range r.Preempt {
		i := slices.IndexFunc(w.running, func(r Running) bool { return r.ID == v.ID })
		w.running[i].Leaving = true
		w.preempted[v.ID]++
	}
}

// leave ends those who were asked to leave, and queues them again.
func (w *world) leave() {
	for _, r := range w.running {
		if r.Leaving {
			w.queued = append(w.queued, Request{ID: r.ID, Group: r.Group, Slots: r.slots(), Priority: r.Priority, QueuedAt: epoch,
				Preemptible: true, MaxSlots: r.MaxSlots, Workspace: r.Workspace, User: r.User, Weight: r.Weight, Quotas: r.Quotas, Recent: r.Recent})
		}
	}
	w.running = slices.DeleteFunc(w.running, func(r Running) bool { return r.Leaving })
}

// largerThanOne: the slots of those who leave can be promised in another way to requests of
// several slots than when they were asked, and then one more task may be asked.
func largerThanOne(r Request) bool { return r.Slots > 1 }

// drawFull makes a pool under fair share, or by priority, whose slots are all held by two workspaces.
func drawFull(t *rapid.T) scene {
	s := scene{pool: &pool.Pool{Name: "gpu", Preemption: true, Scheduler: pool.Scheduler{Type: rapid.SampledFrom([]pool.SchedulerType{pool.FairShare, pool.FairShare, ""}).Draw(t, "policy"),
		Workspaces: map[string]float64{"a": 2, "c": float64(rapid.IntRange(1, 8).Draw(t, "weight"))}}}}
	past := drawPast(t, s.pool)
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprint("n", i), Name: fmt.Sprint("n", i), Schedulable: true}
		for j := range 4 {
			n.Slots = append(n.Slots, Slot{ID: j, Healthy: true, Enabled: true})
		}
		for at := 0; at < 4; {
			size := min(rapid.IntRange(1, 3).Draw(t, "size"), 4-at)
			r := Running{ID: fmt.Sprintf("r%d-%d", i, at), Group: fmt.Sprint("g", rapid.IntRange(0, 2).Draw(t, "group")), Priority: 50, StartedAt: epoch, Preemptible: true,
				Workspace: drawWorkspace(t), User: drawUser(t), Parts: []Part{{NodeID: n.ID}}}
			for range size {
				r.Parts[0].SlotIDs = append(r.Parts[0].SlotIDs, at)
				at++
			}
			r.Recent = past.of(r.Workspace, r.User)
			s.running = append(s.running, r)
		}
		s.nodes = append(s.nodes, n)
	}
	return s
}

// TestItSettles: if no request begins or ends, preemptions stop after some cycles. While preempted
// attempts end, a request of one slot preempts no other attempt.
func TestItSettles(t *testing.T) {
	preempted := map[pool.SchedulerType]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		if rapid.Bool().Draw(t, "full") {
			s = drawFull(t)
		}
		for i := range s.queued {
			s.queued[i].NotBefore = time.Time{}
		}
		s.pool.Preemption = true
		for i := range s.running {
			s.running[i].Preemptible = true
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "newcomers") {
			s.queued = append(s.queued, Request{ID: fmt.Sprint("new", i), Group: "new", Slots: rapid.IntRange(1, 2).Draw(t, "slots"), Priority: 1, Workspace: "c", User: "w", Preemptible: true})
		}
		w := newWorld(s)
		for round := 0; ; round++ {
			r := w.plan()
			if err := w.check(r); err != nil {
				t.Fatal(err)
			}
			if len(r.Place)+len(r.Preempt) == 0 {
				break
			}
			if round > 60 {
				t.Fatalf("no end of it; preempted so far: %v; now\n%s", w.preempted, show(r))
			}
			preempted[s.pool.Scheduler.Type] += len(r.Preempt)
			w.apply(r)
			if again := w.plan(); len(again.Preempt) > 0 && len(r.Preempt) > 0 && s.pool.Scheduler.Type == pool.FairShare && !slices.ContainsFunc(w.queued, largerThanOne) {
				t.Fatalf("those who were asked to leave have not left, and others are asked:\n%s\n%s", show(r), show(again))
			}
			w.leave()
		}
	})
	if preempted[pool.FairShare] == 0 || preempted[""] == 0 {
		t.Errorf("preempted: %v", preempted)
	}
}

// lacking computes what shares lack, by level, without the planner's own shares.
func lacking(s scene, capacity float64, held, wanted map[[3]string]float64, weight func(level int, name string) float64) [levels]float64 {
	var lack [levels]float64
	var visit func(level int, prefix [3]string, fair float64)
	visit = func(level int, prefix [3]string, fair float64) {
		if level == 3 {
			return
		}
		sums := map[string][2]float64{} // held, wanted
		for path := range wanted {
			if slices.Equal(path[:level], prefix[:level]) {
				x := sums[path[level]]
				sums[path[level]] = [2]float64{x[0] + held[path], x[1] + wanted[path]}
			}
		}
		var names []string
		var wants, weights []float64
		for name, x := range sums {
			names, wants, weights = append(names, name), append(wants, x[1]), append(weights, weight(level, name))
		}
		for i, part := range fairParts(fair, wants, weights) {
			lack[level+1] += max(0, part-sums[names[i]][0])
			next := prefix
			next[level] = names[i]
			visit(level+1, next, part)
		}
	}
	visit(0, [3]string{}, capacity)
	return lack
}

// TestPreemptingGains: with one request in the queue, shares lack fewer slots after the
// preemption for it than before.
func TestPreemptingGains(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.pool.Scheduler.Type = pool.FairShare
		for i := range s.running {
			s.running[i].Preemptible, s.running[i].Quotas = true, nil
		}
		q := drawRequest(t, 0)
		q.Slots, q.NotBefore = rapid.IntRange(1, 3).Draw(t, "few slots"), time.Time{}
		if rapid.Bool().Draw(t, "a newcomer") {
			s = drawFull(t)
			s.pool.Scheduler.Type = pool.FairShare
			q.Group, q.Workspace, q.Exclude, q.Avoid, q.MaxSlots, q.Choice = "new", "c", nil, nil, nil, nil
		}
		s.queued, s.pool.Scheduler.HalfLife = []Request{q}, 0 // lacking knows no past
		r := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if len(r.Preempt) == 0 {
			return
		}
		seen++
		held, wanted := map[[3]string]float64{}, map[[3]string]float64{}
		capacity := 0.0
		usable := map[slotIn]bool{}
		for _, n := range s.nodes {
			for _, slot := range n.Slots {
				if n.Schedulable && slot.usable() {
					usable[slotIn{n.ID, slot.ID}] = true
				}
			}
		}
		weights := map[string]float64{}
		for _, x := range s.running {
			path := [3]string{x.Workspace, x.User, x.Group}
			wanted[path] += float64(x.slots())
			weights[x.Group] = max(weights[x.Group], x.Weight, 1)
			if x.Leaving {
				continue
			}
			held[path] += float64(x.slots())
			for _, part := range x.Parts {
				for _, id := range part.SlotIDs {
					if !usable[slotIn{part.NodeID, id}] {
						capacity++
					}
				}
			}
		}
		path := [3]string{q.Workspace, q.User, q.Group}
		wanted[path] += float64(q.Slots)
		if q.MaxSlots != nil {
			wanted[path] = min(wanted[path], max(float64(*q.MaxSlots), held[path]))
		}
		weight := func(level int, name string) float64 {
			switch level {
			case 0:
				return s.pool.Scheduler.WorkspaceWeight(name)
			case 1:
				return s.pool.Scheduler.UserWeight(name)
			}
			return 1
		}
		capacity += float64(len(usable))
		before := lacking(s, capacity, held, wanted, weight)
		held[path] += float64(q.Slots)
		for _, v := range r.Preempt {
			x := s.running[slices.IndexFunc(s.running, func(x Running) bool { return x.ID == v.ID })]
			held[[3]string{x.Workspace, x.User, x.Group}] -= float64(x.slots())
		}
		if after := lacking(s, capacity, held, wanted, weight); !isLess(after, before) {
			t.Fatalf("lacking before %v, after %v:\n%s", before, after, show(r))
		}
	})
	if seen == 0 {
		t.Error("nothing was preempted")
	}
}

// TestFairWithinASlot: if all tasks have one slot and every workspace requests more than there is, no
// workspace keeps a whole slot above its fair share, regardless of the order of arrival. So each
// workspace lacks at most one slot for each other workspace.
func TestFairWithinASlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(scene{pool: &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, Workspaces: map[string]float64{}}}})
		slots := rapid.IntRange(1, 24).Draw(t, "slots")
		n := Node{ID: "n", Name: "n", Schedulable: true}
		for i := range slots {
			n.Slots = append(n.Slots, Slot{ID: i, Healthy: true, Enabled: true})
		}
		w.nodes = []Node{n}
		total := 0.0
		names := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "workspaces")]
		for _, ws := range rapid.Permutation(names).Draw(t, "order") {
			weight := float64(rapid.IntRange(1, 5).Draw(t, "weight"))
			w.pool.Scheduler.Workspaces[ws] = weight
			total += weight
			for i := range slots {
				w.queued = append(w.queued, Request{ID: fmt.Sprint(ws, i), Group: ws, Slots: 1, Workspace: ws, User: "u" + ws, Preemptible: true})
			}
			for r := w.plan(); len(r.Place)+len(r.Preempt) > 0; r = w.plan() {
				if w.round > 1_000 {
					t.Fatalf("no end of it:\n%s", show(r))
				}
				w.apply(r)
				w.leave()
			}
		}
		held := map[string]float64{}
		for _, r := range w.running {
			held[r.Workspace]++
		}
		for ws, weight := range w.pool.Scheduler.Workspaces {
			fair := float64(slots) * weight / total
			if held[ws] > fair+1 || held[ws] < fair-float64(len(names)-1)-nothing {
				t.Fatalf("workspace %s holds %g of its fair %g; all: %v, weights %v", ws, held[ws], fair, held, w.pool.Scheduler.Workspaces)
			}
		}
		if len(w.running) != slots {
			t.Fatalf("%d of %d slots are held", len(w.running), slots)
		}
	})
}

// TestNobodyStarves: although another user always has small requests in the queue, a gang that needs the
// whole pool starts when the attempts before it have ended. Under fair share and round robin this
// holds even if the other requests are older and more important.
func TestNobodyStarves(t *testing.T) {
	const longest = 7
	for _, policy := range []pool.SchedulerType{pool.Priority, pool.FairShare, pool.RoundRobin} {
		rapid.Check(t, func(t *rapid.T) {
			s := scene{pool: &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: policy, MinRunTime: time.Hour}}}
			total := 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				n := Node{ID: fmt.Sprint("n", i), Name: fmt.Sprint("n", i), Schedulable: true}
				for j := range 4 {
					n.Slots = append(n.Slots, Slot{ID: j, Healthy: true, Enabled: true})
				}
				total += 4
				s.nodes = append(s.nodes, n)
			}
			gang := Request{ID: "gang", Group: "gang", Slots: total, Priority: 42, QueuedAt: epoch, Workspace: "a", User: "ann"}
			at := epoch.Add(time.Minute)
			if policy != pool.Priority {
				at = epoch.Add(-time.Minute)
			}
			running, ends := []Running(nil), map[string]int{}
			made, served := 0, time.Time{}
			for second := range 4 * longest {
				running = slices.DeleteFunc(running, func(r Running) bool { return ends[r.ID] <= second })
				var queued []Request
				if second > longest { // the others hold the pool by then
					queued = append(queued, gang)
				}
				for range total {
					made++
					queued = append(queued, Request{ID: fmt.Sprint("small", made), Group: fmt.Sprint("small", made%5), Slots: 1, Priority: 42,
						QueuedAt: at, Workspace: "b", User: "bob", Served: Served{Workspace: served, User: served, Turn: served}})
				}
				now := epoch.Add(time.Duration(second) * time.Second)
				for _, p := range Plan(s.pool, s.nodes, running, queued, now).Place {
					if p.ID == gang.ID {
						return
					}
					ends[p.ID] = second + rapid.IntRange(1, longest).Draw(t, "lasts")
					running = append(running, Running{ID: p.ID, Parts: p.Parts, Workspace: "b", User: "bob", StartedAt: now})
				}
				if len(running) > 0 {
					served = now
				}
			}
			t.Fatalf("under %s the gang never starts", policy)
		})
	}
}

// TestTurns: on one slot users alternate, however many requests each has and however short
// their tasks are, because the caller remembers who had the last turn.
func TestTurns(t *testing.T) {
	n := Node{ID: "n", Name: "n", Schedulable: true, Slots: []Slot{{Healthy: true, Enabled: true}}}
	last := map[string]time.Time{}
	left := map[string]int{"ann": 30, "bob": 3, "cat": 5}
	order := ""
	for second := range 12 {
		now := epoch.Add(time.Duration(second) * time.Second)
		var queued []Request
		for user, count := range left {
			for i := range count {
				queued = append(queued, Request{ID: fmt.Sprint(user, i), Group: user, Slots: 1, User: user, QueuedAt: epoch.Add(time.Duration(user[0]) * time.Second), Served: Served{Turn: last[user]}})
			}
		}
		r := Plan(&pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.RoundRobin}}, []Node{n}, nil, queued, now)
		if len(r.Place) != 1 {
			t.Fatal(show(r))
		}
		user := r.Place[0].ID[:3]
		left[user]--
		last[user] = now
		order += user[:1]
	}
	if order != "abcabcabcaca" {
		t.Errorf("the turns are %s", order)
	}
}
