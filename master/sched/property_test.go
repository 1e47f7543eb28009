package sched

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/pool"
)

// drawScene makes a small pool in which much is possible: nodes of several
// sizes and models, slots out of use, gangs, tasks that are leaving.
func drawScene(t *rapid.T) scene {
	s := scene{pool: &pool.Pool{Name: "gpu", Preemption: rapid.Bool().Draw(t, "preemption"), MaxAux: rapid.IntRange(0, 2).Draw(t, "aux")}}
	s.pool.Scheduler = pool.Scheduler{Type: rapid.SampledFrom([]pool.SchedulerType{"", pool.FairShare, pool.RoundRobin}).Draw(t, "policy"),
		Workspaces: map[string]float64{"a": float64(rapid.IntRange(1, 3).Draw(t, "weight"))}}
	past := drawPast(t, s.pool)
	free := map[string][]int{}
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprintf("id%d", i), Name: fmt.Sprintf("n%d", 9-i), Schedulable: rapid.IntRange(0, 5).Draw(t, "schedulable") > 0, Why: "is draining"}
		for j := range rapid.IntRange(0, 6).Draw(t, "slots") {
			n.Slots = append(n.Slots, Slot{
				ID: j, Brand: rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "brand"),
				Healthy: rapid.IntRange(0, 9).Draw(t, "healthy") > 0, Enabled: rapid.IntRange(0, 9).Draw(t, "enabled") > 0,
				LinkGroup: rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "link group"),
			})
			if n.Slots[j].usable() {
				free[n.ID] = append(free[n.ID], j)
			}
		}
		n.Supply = drawSupply(t, len(n.Slots))
		s.nodes = append(s.nodes, n)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "running") {
		r := Running{
			ID: fmt.Sprintf("r%d", i), Group: fmt.Sprintf("g%d", i%3), Priority: rapid.IntRange(1, 5).Draw(t, "priority"),
			StartedAt: epoch.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "started")) * time.Second), Preemptible: rapid.Bool().Draw(t, "preemptible"),
			Leaving: rapid.IntRange(0, 4).Draw(t, "leaving") == 0, Saved: epoch.Add(-time.Duration(rapid.IntRange(0, 9).Draw(t, "saved")) * time.Second), Workspace: drawWorkspace(t), User: drawUser(t),
		}
		for _, n := range s.nodes {
			if k := min(len(free[n.ID]), rapid.IntRange(0, 3).Draw(t, "held")); k > 0 {
				r.Parts = append(r.Parts, Part{NodeID: n.ID, SlotIDs: free[n.ID][:k], Uses: drawUses(t, &n, k)})
				free[n.ID] = free[n.ID][k:]
			}
		}
		s.running = append(s.running, r)
	}
	choices := []*Choice{nil, nil, drawChoice(t), drawChoice(t)}
	quotas := drawQuotas(t)
	for i := range s.running {
		s.running[i].Quotas = quotas.of(s.running[i].Workspace, s.running[i].User)
		s.running[i].Recent = past.of(s.running[i].Workspace, s.running[i].User)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "queued") {
		r := drawRequest(t, i)
		r.Choice = rapid.SampledFrom(choices).Draw(t, "choice")
		r.Quotas = quotas.of(r.Workspace, r.User)
		r.Recent = past.of(r.Workspace, r.User)
		s.queued = append(s.queued, r)
	}
	return s
}

// past is what users of workspaces used lately.
type past map[string]float64

// drawPast gives every second pool a memory.
func drawPast(t *rapid.T, of *pool.Pool) past {
	p := past{}
	if rapid.Bool().Draw(t, "remembers") {
		of.Scheduler.HalfLife = 24 * time.Hour
		for _, key := range []string{"a/u", "a/v", "b/u", "b/v"} {
			p[key] = float64(rapid.SampledFrom([]int{0, 0, 1, 5, 30, 1000}).Draw(t, "used"))
		}
	}
	return p
}

func (p past) of(workspace, user string) Recent {
	return Recent{Workspace: p[workspace+"/u"] + p[workspace+"/v"], User: p[workspace+"/"+user]}
}

// drawSupply makes processors and memory that suffice for the shares of all slots, mostly with some to spare; or that are not known.
func drawSupply(t *rapid.T, slots int) *Supply {
	if rapid.IntRange(0, 3).Draw(t, "unknown") == 0 {
		return nil
	}
	share := Amount{rapid.IntRange(0, 3).Draw(t, "slot MHz"), rapid.IntRange(0, 3).Draw(t, "slot MB")}
	more := Amount{rapid.IntRange(0, 4).Draw(t, "MHz"), rapid.IntRange(0, 4).Draw(t, "MB")}
	return &Supply{Free: share.times(slots).plus(more), Slot: share, Aux: Amount{0, 1}, MHz: 8, Cores: 4}
}

// drawUses makes what a task holds; the tasks of a scene may hold more of a node than there is, because others have come.
func drawUses(t *rapid.T, n *Node, slots int) Amount {
	if n.Supply == nil || rapid.Bool().Draw(t, "unknown") {
		return Amount{}
	}
	return n.Supply.Of(drawAsk(t), slots)
}

func drawAsk(t *rapid.T) (a Ask) {
	if rapid.Bool().Draw(t, "asks") {
		a = Ask{CPUs: float64(rapid.IntRange(0, 4).Draw(t, "cpus")) / 2, MemoryMB: rapid.IntRange(0, 12).Draw(t, "memory")}
	}
	return a
}

func drawChoice(t *rapid.T) *Choice {
	c := &Choice{Unfit: map[string]string{}, Prefer: map[string]float64{}}
	spread := Spread{Weight: 1, Value: map[string]string{}, Share: map[string]float64{"x": 0.5, "y": 0.5}}
	for i := range 5 {
		id := fmt.Sprintf("id%d", i)
		switch rapid.IntRange(0, 5).Draw(t, "of a node") {
		case 0:
			c.Unfit[id] = "which is another one"
		case 1:
			c.Prefer[id] = float64(rapid.IntRange(-4, 4).Draw(t, "prefer")) / 4
		case 2:
			spread.Value[id] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
		}
	}
	if len(spread.Value) > 0 {
		c.Spread = []Spread{spread}
	}
	if rapid.Bool().Draw(t, "lists what fits") {
		c.Fit = map[string]bool{"elsewhere": true, "class:c": true} // the class of nodes that TestShortIsFewest adds
		for i := range 5 {
			if id := fmt.Sprintf("id%d", i); c.Unfit[id] == "" {
				c.Fit[id] = true
			}
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "models") == 0 {
		c.Models = map[string][]string{"id0": {"b"}, "id1": {"a"}, "id2": {}}
	}
	return c
}

func drawWorkspace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "workspace")
}

func drawUser(t *rapid.T) string { return rapid.SampledFrom([]string{"u", "v"}).Draw(t, "user") }

func drawRequest(t *rapid.T, i int) Request {
	r := Request{
		ID: fmt.Sprintf("q%d", i), Group: fmt.Sprintf("g%d", i%3), Slots: rapid.IntRange(0, 8).Draw(t, "slots"), Priority: rapid.IntRange(1, 5).Draw(t, "priority"),
		QueuedAt: epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "queued")) * time.Second), SingleNode: rapid.Bool().Draw(t, "single"),
		EqualParts: rapid.Bool().Draw(t, "equal"), MixModels: rapid.Bool().Draw(t, "mix"),
		Workspace: drawWorkspace(t), User: drawUser(t), Ask: drawAsk(t),
	}
	if rapid.IntRange(0, 3).Draw(t, "avoids") == 0 {
		r.Avoid = []string{fmt.Sprintf("id%d", rapid.IntRange(0, 4).Draw(t, "avoided"))}
	}
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		r.Exclude = []string{fmt.Sprintf("id%d", rapid.IntRange(0, 4).Draw(t, "excluded"))}
	}
	if rapid.IntRange(0, 3).Draw(t, "bounded") == 0 {
		most := rapid.IntRange(0, 8).Draw(t, "max")
		r.MaxSlots = &most
	}
	if rapid.IntRange(0, 9).Draw(t, "paused") == 0 {
		r.NotBefore = epoch.Add(time.Minute)
	}
	return r
}

// TestResultIsSound: no slot is assigned twice or against its state, each request is placed whole
// or not at all, each waiting request has a reason, and no limit is exceeded.
func TestResultIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		r := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if err := s.check(r); err != nil {
			t.Fatal(err)
		}
		held := map[string]int{}
		aux := map[string]int{}
		for _, run := range s.running {
			for _, p := range run.Parts {
				held[run.Group] += len(p.SlotIDs)
			}
		}
		for _, p := range r.Place {
			q := s.queued[slices.IndexFunc(s.queued, func(q Request) bool { return q.ID == p.ID })]
			held[q.Group] += q.Slots
			if q.Slots == 0 {
				aux[p.Parts[0].NodeID]++
			} else if q.MaxSlots != nil && held[q.Group] > *q.MaxSlots {
				t.Fatalf("%s holds %d slots, over the %d of %s", q.Group, held[q.Group], *q.MaxSlots, q.ID)
			}
		}
		for node, n := range aux {
			if n > s.pool.MaxAux {
				t.Fatalf("%d tasks of 0 slots on %s, over %d", n, node, s.pool.MaxAux)
			}
		}
	})
}

// TestOrderOfInputDoesNotMatter: the same sets give the same answer.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		want := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		rnd := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "shuffle")))
		nodes, running, queued := slices.Clone(s.nodes), slices.Clone(s.running), slices.Clone(s.queued)
		for i := range nodes {
			nodes[i].Slots = shuffled(rnd, nodes[i].Slots)
		}
		got := Plan(s.pool, shuffled(rnd, nodes), shuffled(rnd, running), shuffled(rnd, queued), epoch)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("the order of the input changed the plan:\n%s\n%s", show(want), show(got))
		}
	})
}

// TestAlikeRequests: the scheduler reuses its result for equal requests, and the plan is the same as
// without reuse.
func TestAlikeRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		for i := range s.queued {
			if c := s.queued[i].Choice; c != nil {
				c.Spread = nil // counts what else was placed for the choice
			}
		}
		want := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		alone := slices.Clone(s.queued)
		for i := range alone {
			c := Choice{}
			if alone[i].Choice != nil {
				c = *alone[i].Choice
				c.Fit = nil // and the scheduler looks at all nodes
			}
			alone[i].Choice = &c
		}
		if got := Plan(s.pool, s.nodes, s.running, alone, epoch); !reflect.DeepEqual(want, got) {
			t.Fatalf("each request for itself has another plan:\n%s\n%s", show(want), show(got))
		}
	})
}

func shuffled[T any](rnd *rand.Rand, list []T) []T {
	out := slices.Clone(list)
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestNobodyLeavesForNothing: each preempted attempt is necessary: without its slots a request that
// caused the preemption would not fit, even if all other preempted attempts end.
func TestNobodyLeavesForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.pool.Preemption = true
		for i := range s.running {
			s.running[i].Leaving = false // so that nobody is promised anything before the first asks
		}
		first := Plan(s.pool, s.nodes, s.running, s.queued, epoch)
		if len(first.Preempt) == 0 {
			return
		}
		// The test checks only the first request that preempts: later ones depend on the slots that
		// it was promised.
		asker := first.Preempt[0].For
		var victims []string
		for _, v := range first.Preempt {
			if v.For == asker {
				victims = append(victims, v.ID)
			}
		}
		for _, spared := range victims {
			if placedWithout(s, first, asker, victims, spared) {
				t.Fatalf("%s is asked to leave for %s, which has a place without that:\n%s", spared, asker, show(first))
			}
		}
		if !placedWithout(s, first, asker, victims, "") {
			t.Fatalf("%s has no place when all of %v have left", asker, victims)
		}
	})
}

// placedWithout reports whether a request starts once the others of a plan have
// started and its victims, all but one, have gone.
func placedWithout(s scene, first Result, asker string, victims []string, spared string) bool {
	running := slices.DeleteFunc(slices.Clone(s.running), func(r Running) bool {
		return r.ID != spared && slices.Contains(victims, r.ID)
	})
	for _, p := range first.Place {
		running = append(running, Running{ID: p.ID, Parts: p.Parts})
	}
	asking := s.queued[slices.IndexFunc(s.queued, func(q Request) bool { return q.ID == asker })]
	asking.MaxSlots, asking.Quotas = nil, nil
	without := *s.pool
	without.Preemption, without.Scheduler = false, pool.Scheduler{}
	return Plan(&without, s.nodes, running, []Request{asking}, epoch).Waiting[asker] == ""
}

// TestBackfillDoesNotDelayTheHead runs a pool to its end twice: with all requests, and without
// those behind the first request that could not start. This request starts at the same time in both
// runs.
func TestBackfillDoesNotDelayTheHead(t *testing.T) {
	delayed := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.pool.Preemption, s.pool.Scheduler = false, pool.Scheduler{}
		for i := range s.running {
			s.running[i].Leaving, s.running[i].Quotas = false, nil // nobody is asked to leave
		}
		for i := range s.queued {
			s.queued[i].MaxSlots, s.queued[i].NotBefore, s.queued[i].Quotas = nil, time.Time{}, nil
		}
		lasts := drawLasts(t, &s)
		head := headOf(s)
		if head == nil {
			return
		}
		// A request of no slots before it may take another place because of those behind it.
		s.queued = slices.DeleteFunc(s.queued, func(q Request) bool { return q.Slots == 0 && byImportance(&q, head) < 0 })
		if head = headOf(s); head == nil {
			return
		}
		delayed++
		alone := s
		alone.queued = nil
		for _, q := range s.queued {
			if byImportance(&q, head) <= 0 {
				alone.queued = append(alone.queued, q)
			}
		}
		with, without := play(s, lasts, head.ID), play(alone, lasts, head.ID)
		if with != without {
			t.Fatalf("%s starts at %d with requests behind it, at %d without them", head.ID, with, without)
		}
	})
	if delayed == 0 {
		t.Fatal("no pool was drawn in which a request had to wait")
	}
}

// drawLasts draws how many seconds everything runs, and what is known about that: some of what runs does not end before a time, and
// some requests run no longer than a bound.
func drawLasts(t *rapid.T, s *scene) map[string]int {
	lasts := map[string]int{}
	for i := range s.running {
		r := &s.running[i]
		lasts[r.ID] = rapid.IntRange(1, 12).Draw(t, "lasts")
		if rapid.Bool().Draw(t, "is known") {
			r.Earliest = epoch.Add(time.Duration(rapid.IntRange(1, lasts[r.ID]).Draw(t, "earliest")) * time.Second)
		}
	}
	for i := range s.queued {
		q := &s.queued[i]
		lasts[q.ID] = rapid.IntRange(1, 12).Draw(t, "lasts")
		if rapid.Bool().Draw(t, "is bounded") {
			lasts[q.ID] = rapid.IntRange(1, 4).Draw(t, "lasts")
			q.Longest = time.Duration(lasts[q.ID]+rapid.IntRange(0, 3).Draw(t, "longest")) * time.Second
		}
	}
	return lasts
}

// TestLoansAreReturnedInTime: under every policy, the head starts at the same time with the tasks that a plan has placed on loan, and without them,
// as long as no task ends earlier than it is expected to.
func TestLoansAreReturnedInTime(t *testing.T) {
	lent := map[pool.SchedulerType]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawCrowd(t)
		lasts := drawLasts(t, &s)
		p := planned(s)
		if p.head == nil {
			return
		}
		without, with := s, s
		without.pool, without.queued = &pool.Pool{Name: "gpu"}, []Request{*p.head}
		with.pool, with.queued = without.pool, without.queued
		loans := 0
		for _, placed := range p.result.Place {
			r := Running{ID: placed.ID, Parts: placed.Parts}
			with.running = append(slices.Clip(with.running), r)
			if placed.LentUntil.IsZero() {
				without.running = append(slices.Clip(without.running), r)
				continue
			}
			loans++
			lasts[placed.ID] = rapid.IntRange(1, int(placed.LentUntil.Sub(epoch)/time.Second)).Draw(t, "is lent for")
		}
		if loans == 0 {
			return
		}
		lent[s.pool.Scheduler.Type]++
		if a, b := play(with, lasts, p.head.ID), play(without, lasts, p.head.ID); a != b {
			t.Fatalf("%s starts at %d with tasks on loan, at %d without them", p.head.ID, a, b)
		}
	})
	for _, policy := range []pool.SchedulerType{"", pool.FairShare, pool.RoundRobin} {
		if lent[policy] == 0 {
			t.Errorf("under policy %q nothing was lent", policy)
		}
	}
}

// drawCrowd draws a pool of a few nodes on which little is free, a large request before all others, and small ones.
func drawCrowd(t *rapid.T) scene {
	s := scene{pool: &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: rapid.SampledFrom([]pool.SchedulerType{"", pool.FairShare, pool.RoundRobin}).Draw(t, "policy")}}}
	size := rapid.IntRange(3, 6).Draw(t, "slots")
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := Node{ID: fmt.Sprintf("n%d", i), Name: fmt.Sprintf("n%d", i), Schedulable: true, Supply: drawSupply(t, size)}
		for j := range size {
			n.Slots = append(n.Slots, Slot{ID: j, Healthy: true, Enabled: true})
		}
		s.nodes = append(s.nodes, n)
		for from := 0; from < size-1; {
			k := min(rapid.IntRange(1, 3).Draw(t, "held"), size-1-from)
			r := Running{ID: fmt.Sprintf("r%d.%d", i, from), Priority: 3, Workspace: drawWorkspace(t), User: drawUser(t), Parts: []Part{{NodeID: n.ID}}}
			for ; k > 0; k-- {
				r.Parts[0].SlotIDs = append(r.Parts[0].SlotIDs, from)
				from++
			}
			s.running = append(s.running, r)
			from += rapid.IntRange(0, 1).Draw(t, "gap")
		}
	}
	s.queued = []Request{{ID: "large", Slots: rapid.IntRange(2, 2*size).Draw(t, "large"), Priority: 1, QueuedAt: epoch.Add(-time.Hour), Workspace: "c", Ask: drawAsk(t)}}
	for i := range rapid.IntRange(1, 5).Draw(t, "queued") {
		s.queued = append(s.queued, Request{ID: fmt.Sprintf("q%d", i), Slots: rapid.IntRange(1, 3).Draw(t, "small"), Priority: 5, Workspace: drawWorkspace(t), User: drawUser(t), Ask: drawAsk(t)})
	}
	return s
}

// planned is Plan, with all that it has found out.
func planned(s scene) *planner {
	p := newPlanner(s.pool, s.nodes, s.running, len(s.queued))
	p.now = epoch
	p.policy = p.policyOf(inOrder(s.queued), epoch)
	for r := p.policy.next(); r != nil; r = p.policy.next() {
		p.policy.considered(p.consider(r, epoch))
	}
	return p
}

// TestTheFirstTaskWithoutSlotsIsNotDelayed: the first request of no slots that finds no processors or memory starts no later
// with requests behind it than without them.
func TestTheFirstTaskWithoutSlotsIsNotDelayed(t *testing.T) {
	delayed := 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		s.pool.Preemption, s.pool.Scheduler, s.pool.MaxAux = false, pool.Scheduler{}, 100
		for i := range s.running {
			s.running[i].Leaving, s.running[i].Quotas = false, nil
		}
		lasts := drawLasts(t, &s)
		for i := range s.queued {
			q := &s.queued[i]
			q.MaxSlots, q.NotBefore, q.Quotas = nil, time.Time{}, nil
			q.Slots *= rapid.IntRange(0, 1).Draw(t, "has slots")
		}
		p := newPlanner(s.pool, s.nodes, s.running, len(s.queued))
		p.now = epoch
		p.policy = newByPriority(p, nil)
		alone := s
		alone.queued = nil
		for _, q := range sortedByImportance(s.queued) {
			alone.queued = append(alone.queued, *q)
			if p.consider(q, epoch); p.auxHead != nil || p.head != nil {
				break
			}
		}
		if p.auxHead == nil {
			return
		}
		delayed++
		with, without := play(s, lasts, p.auxHead.ID), play(alone, lasts, p.auxHead.ID)
		if with != without {
			t.Fatalf("%s starts at %d with requests behind it, at %d without them", p.auxHead.ID, with, without)
		}
	})
	if delayed == 0 {
		t.Fatal("no pool was drawn in which a request had to wait")
	}
}

// headOf is the most important request that waits though the pool could hold it.
func headOf(s scene) *Request {
	p := newPlanner(s.pool, s.nodes, s.running, len(s.queued))
	p.now = epoch
	p.policy = newByPriority(p, nil)
	for _, q := range sortedByImportance(s.queued) {
		p.consider(q, epoch)
	}
	return p.head
}

func sortedByImportance(queued []Request) []*Request {
	order := make([]*Request, len(queued))
	for i := range queued {
		order[i] = &queued[i]
	}
	slices.SortFunc(order, byImportance)
	return order
}

// play runs a pool second by second until a request starts, and returns when it
// does. It does: every task ends.
func play(s scene, lasts map[string]int, until string) int {
	running, queued := slices.Clone(s.running), slices.Clone(s.queued)
	ends := map[string]int{}
	for _, r := range running {
		ends[r.ID] = lasts[r.ID]
	}
	for second := 0; ; second++ {
		running = slices.DeleteFunc(running, func(r Running) bool { return ends[r.ID] <= second })
		result := s.reserved.Plan(s.pool, s.nodes, running, queued, epoch.Add(time.Duration(second)*time.Second))
		for _, p := range result.Place {
			if p.ID == until {
				return second
			}
			ends[p.ID] = second + lasts[p.ID]
			started := Running{ID: p.ID, Parts: p.Parts, LentUntil: p.LentUntil}
			if s.reserved != nil {
				q := s.request(p.ID)
				started.Workspace, started.User = q.Workspace, q.User
				if q.Longest > 0 {
					started.Latest = epoch.Add(time.Duration(second)*time.Second + q.Longest)
				}
			}
			running = append(running, started)
			queued = slices.DeleteFunc(queued, func(q Request) bool { return q.ID == p.ID })
		}
		if second > 1000 {
			panic("the head never starts")
		}
	}
}
