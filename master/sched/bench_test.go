package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// The yardstick: 1,000 nodes of 8 slots, 10,000 queued, under 50 ms.

func benchNodes() []Node {
	nodes := make([]Node, 1000)
	for i := range nodes {
		nodes[i] = Node{ID: fmt.Sprintf("node-%04d", i), Name: fmt.Sprintf("node-%04d", i), Schedulable: true}
		for j := range 8 {
			nodes[i].Slots = append(nodes[i].Slots, Slot{ID: j, Healthy: true, Enabled: true, Device: fmt.Sprintf("GPU-%d-%d", i, j), Brand: "H200"})
		}
	}
	return nodes
}

func benchQueue(priority int) []Request {
	sizes := []int{1, 1, 2, 4, 8, 8, 16, 32, 3, 64}
	queued := make([]Request, 10_000)
	for i := range queued {
		queued[i] = Request{
			ID: fmt.Sprintf("request-%05d", i), Group: fmt.Sprintf("experiment %d", i%500), Slots: sizes[i%len(sizes)],
			Workspace: fmt.Sprint("workspace ", i%500%7), User: fmt.Sprint("user ", i%500%50),
			Priority: priority + i%7, QueuedAt: epoch.Add(time.Duration(i*7919%10_000) * time.Second),
		}
	}
	return queued
}

// benchRunning fills all slots with tasks of 1 to 8 slots.
func benchRunning(priority int, sizes ...int) []Running {
	var running []Running
	for i := range 1000 {
		for slot := 0; slot < 8; {
			n := min(sizes[len(running)%len(sizes)], 8-slot)
			var ids []int
			for range n {
				ids = append(ids, slot)
				slot++
			}
			running = append(running, Running{
				ID: fmt.Sprintf("running-%05d", len(running)), Group: fmt.Sprintf("experiment %d", i),
				Workspace: fmt.Sprint("workspace ", i%5), User: fmt.Sprint("user ", i%40), Priority: priority, Preemptible: true,
				StartedAt: epoch.Add(time.Duration(len(running)) * time.Second), Parts: []Part{{NodeID: fmt.Sprintf("node-%04d", i), SlotIDs: ids}},
			})
		}
	}
	return running
}

// benchConstrained lets each request use one node in ten.
func benchConstrained() []Request {
	queued := benchQueue(42)
	others, fit := map[string]string{}, map[string]bool{}
	for i := range 1000 {
		if i%10 != 0 {
			others[fmt.Sprintf("node-%04d", i)] = "which is another one"
		} else {
			fit[fmt.Sprintf("node-%04d", i)] = true
		}
	}
	choices := make([]Choice, len(queued))
	for i := range queued {
		queued[i].Choice = &choices[i%len(choices)]
		queued[i].Choice.Unfit, queued[i].Choice.Fit = others, fit
	}
	return queued
}

// benchNowhere lets no request use any node, each for a reason of its own.
func benchNowhere() []Request {
	queued := benchQueue(42)
	all := map[string]string{}
	for i := range 1000 {
		all[fmt.Sprintf("node-%04d", i)] = "which is another one"
	}
	for i := range queued {
		queued[i].Choice = &Choice{Unfit: all, Fit: map[string]bool{}}
	}
	return queued
}

// benchSpread spreads 500 groups over racks in four ways at once.
func benchSpread() []Request {
	queued := benchQueue(42)
	choice := &Choice{}
	for n := range 4 {
		s := Spread{Weight: 0.25, Value: map[string]string{}, Share: map[string]float64{}}
		for i := range 1000 {
			rack := fmt.Sprint(i % (10 * (n + 1)))
			s.Value[fmt.Sprintf("node-%04d", i)] = rack
			s.Share[rack] = 1 / float64(10*(n+1))
		}
		choice.Spread = append(choice.Spread, s)
	}
	for i := range queued {
		queued[i].Choice = choice
	}
	return queued
}

// benchDrawn draws each request to nodes with four strengths.
func benchDrawn() []Request {
	queued := benchQueue(42)
	draw := map[string]float64{}
	for i := range 1000 {
		draw[fmt.Sprintf("node-%04d", i)] = float64(i%4) / 4
	}
	choice := &Choice{Prefer: draw}
	for i := range queued {
		queued[i].Choice = choice
	}
	return queued
}

// benchRacks puts 20 nodes into each rack.
func benchRacks() []Node {
	nodes := benchNodes()
	for i := range nodes {
		nodes[i].Rack = fmt.Sprint("rack ", i%50)
	}
	return nodes
}

// benchLinks puts the slots of each node into link groups of this size.
func benchLinks(size int) []Node {
	nodes := benchNodes()
	for i := range nodes {
		for j := range nodes[i].Slots {
			nodes[i].Slots[j].LinkGroup = 1 + j/size
		}
	}
	return nodes
}

// benchBroken holds every other slot of each node, so that no link group of two has both.
func benchBroken() []Running {
	running := benchRunning(42, 1)
	var kept []Running
	for i := range running {
		if i%2 == 0 {
			kept = append(kept, running[i])
		}
	}
	return kept
}

// benchRooms knows what each node has beside slots.
func benchRooms() []Node {
	nodes := benchNodes()
	for i := range nodes {
		nodes[i].Supply = &Supply{Free: Amount{256_000, 1_024_000}, Slot: Amount{28_000, 112_000}, Aux: Amount{100, 256}, Least: Amount{50, 64}, MHz: 256_000, Cores: 128}
	}
	return nodes
}

// benchAsking lets each request ask for so much memory, and each by itself for some more.
func benchAsking(slots, memory, more int) []Request {
	queued := benchQueue(42)
	for i := range queued {
		if slots >= 0 {
			queued[i].Slots = slots
		}
		queued[i].Ask.MemoryMB = memory + more*i
	}
	return queued
}

// A benchCase is a pool with a large queue.
type benchCase struct {
	name    string
	pool    *pool.Pool
	running []Running
	queued  []Request
}

func benchCases() []benchCase {
	fair := &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, Workspaces: map[string]float64{"workspace 6": 5}}}
	turns := &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.RoundRobin}}
	alone := benchQueue(42) // each its own experiment
	for i := range alone {
		alone[i].Group = alone[i].ID
	}
	remembers := &pool.Pool{Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare, HalfLife: 24 * time.Hour}}
	used, asked := benchMemory(benchRunning(42, 1), slices.Clone(alone))
	return []benchCase{
		{"empty", &pool.Pool{Name: "gpu"}, nil, benchQueue(42)},
		{"full", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)},
		{"half", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchQueue(42)},
		{"preempt", &pool.Pool{Name: "gpu", Preemption: true}, benchRunning(90, 1, 2, 4, 8, 3), benchQueue(42)},
		{"constrained", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3), benchConstrained()},
		{"nowhere", &pool.Pool{Name: "gpu"}, nil, benchNowhere()},
		{"spread", &pool.Pool{Name: "gpu"}, nil, benchSpread()},
		{"drawn", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchDrawn()},
		{"preempt-crumbs", &pool.Pool{Name: "gpu", Preemption: true}, benchRunning(90, 1), benchQueue(42)},
		{"fair-empty", fair, nil, benchQueue(42)},
		{"fair-full", fair, benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)},
		{"fair-half", fair, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchQueue(42)},
		{"fair-crumbs", fair, benchRunning(42, 1), benchQueue(42)},
		{"fair-alone", fair, benchRunning(42, 1), alone},
		{"fair-memory", remembers, used, asked},
		{"turns-empty", turns, nil, benchQueue(42)},
		{"turns-full", turns, benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)},
		{"turns-half", turns, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchQueue(42)},
	}
}

// benchMemory lets workspaces and users have used different amounts lately, and each task be a job of its own that last saved at another time.
func benchMemory(running []Running, queued []Request) ([]Running, []Request) {
	past := func(workspace, user string) Recent {
		return Recent{Workspace: float64(len(workspace)+int(workspace[len(workspace)-1])) * 5, User: float64(user[len(user)-1])}
	}
	for i := range running {
		r := &running[i]
		r.Group, r.Recent, r.Saved = r.ID, past(r.Workspace, r.User), r.StartedAt.Add(time.Duration(i*7919%10_000)*time.Second)
	}
	for i := range queued {
		queued[i].Recent = past(queued[i].Workspace, queued[i].User)
	}
	return running, queued
}

// benchCrumbs leaves one slot of each node free.
func benchCrumbs() []Running {
	return slices.DeleteFunc(benchRunning(42, 1), func(r Running) bool { return r.Parts[0].SlotIDs[0] == 0 })
}

// benchLoans knows of each running task before when it does not end, and of each request how long it runs, all different.
func benchLoans(running []Running, queued []Request) ([]Running, []Request) {
	for i := range running {
		running[i].Earliest = epoch.Add(time.Duration(i*7919%10_000) * time.Second)
	}
	for i := range queued {
		queued[i].Longest = time.Duration(1+i*104_729%20_000) * time.Second
	}
	return running, queued
}

func BenchmarkPlan(b *testing.B) {
	nodes := benchNodes()
	cases := benchCases()
	for _, of := range []*pool.Pool{{Name: "gpu"}, {Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare}}} {
		for name, running := range map[string][]Running{"loans-full": benchRunning(42, 1, 2, 4, 8, 3), "loans-half": benchRunning(42, 1, 2, 4, 8, 3)[:1100], "loans-crumbs": benchCrumbs()} {
			running, queued := benchLoans(running, benchQueue(42))
			cases = append(cases, benchCase{name + "-" + string(of.Scheduler.Type), of, running, queued})
		}
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(c.pool, nodes, c.running, c.queued, epoch)
			}
		})
	}
	racks, queued := benchRacks(), benchQueue(42)
	b.Run("racks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Plan(&pool.Pool{Name: "gpu"}, racks, nil, queued, epoch)
		}
	})
	rooms := benchRooms()
	for _, c := range []benchCase{
		{"rooms-empty", &pool.Pool{Name: "gpu"}, nil, benchQueue(42)},
		{"rooms-half", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchQueue(42)},
		{"rooms-preempt", &pool.Pool{Name: "gpu", Preemption: true}, benchRunning(90, 1, 2, 4, 8, 3), benchQueue(42)},
		{"rooms-large", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchAsking(-1, 600_000, 0)},
		{"rooms-differ", &pool.Pool{Name: "gpu"}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchAsking(-1, 600_000, 1)},
		{"rooms-differ-preempt", &pool.Pool{Name: "gpu", Preemption: true}, benchRunning(90, 1, 2, 4, 8, 3), benchAsking(-1, 600_000, 1)},
		{"rooms-no-slots", &pool.Pool{Name: "gpu", MaxAux: 100}, benchRunning(42, 1, 2, 4, 8, 3)[:1100], benchAsking(0, 300_000, 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(c.pool, rooms, c.running, c.queued, epoch)
			}
		})
	}
	for _, c := range []struct {
		name    string
		size    int
		running []Running
	}{
		{"links-empty", 4, nil},
		{"links-half", 4, benchRunning(42, 1, 2, 4, 8, 3)[:1100]},
		{"links-pairs", 2, nil},
		{"links-broken", 2, benchBroken()},
	} {
		nodes := benchLinks(c.size)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(&pool.Pool{Name: "gpu"}, nodes, c.running, queued, epoch)
			}
		})
	}
}

// BenchmarkStarts: when the first of 10,000 requests start, with the most ends that are played.
func BenchmarkStarts(b *testing.B) {
	nodes, running, queued := benchNodes(), benchRunning(42, 1, 2, 4, 8, 3), benchQueue(42)
	ends := map[string]End{}
	for i, r := range running {
		ends[r.ID] = End{At: epoch.Add(time.Duration(i) * time.Second)}
	}
	b.ReportAllocs()
	for b.Loop() {
		Starts(&pool.Pool{Name: "gpu"}, nodes, running, queued, ends, epoch)
	}
}

// BenchmarkReserved is a plan with reservations that have begun, that begin soon and later, and with maintenances.
func BenchmarkReserved(b *testing.B) {
	nodes, queued := benchNodes(), benchQueue(42)
	for i := range queued {
		queued[i].Preemptible = i%3 > 0
		queued[i].Longest = time.Duration(i%5) * 20 * time.Minute
	}
	all := Reserved{
		{ID: 1, Workspace: "workspace 1", Slots: 64, From: epoch.Add(-time.Minute), Until: epoch.Add(time.Hour)},
		{ID: 2, Workspace: "workspace 2", Slots: 128, From: epoch.Add(30 * time.Minute), Until: epoch.Add(2 * time.Hour)},
		{ID: 3, User: "user 3", Slots: 13, From: epoch.Add(100 * time.Hour), Until: epoch.Add(200 * time.Hour)},
		{ID: 4, Nodes: []string{"node-0500", "node-0501", "node-0502"}, From: epoch.Add(10 * time.Minute), Until: epoch.Add(2 * time.Hour)},
		{ID: 5, Nodes: []string{"node-0600"}, From: epoch.Add(-time.Minute), Until: epoch.Add(2 * time.Hour)},
	}
	var large Reserved // as many as a pool may have, each of half of it
	for i := range 30 {
		at := epoch.Add(time.Duration(i) * time.Hour)
		large = append(large, Reservation{ID: i + 1, Workspace: fmt.Sprint("workspace ", i%7), Slots: 4000, From: at, Until: at.Add(2 * time.Hour)})
	}
	for _, of := range []*pool.Pool{{Name: "gpu"}, {Name: "gpu", Preemption: true}, {Name: "gpu", Scheduler: pool.Scheduler{Type: pool.FairShare}}} {
		for name, running := range map[string][]Running{"empty": nil, "full": benchRunning(42, 1, 2, 4, 8, 3)} {
			for _, reserved := range []Reserved{nil, all, large} {
				b.Run(fmt.Sprint(name, "-", of.Scheduler.Type, "-", of.Preemption, "-", len(reserved)), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						reserved.Plan(of, nodes, running, queued, epoch)
					}
				})
			}
		}
	}
}
