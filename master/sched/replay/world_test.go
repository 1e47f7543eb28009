package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
)

var begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// A world is a pool whose plans are recorded, as the loop does it: quotas and choices are new values in each cycle.
type world struct {
	t        testing.TB
	rnd      *rand.Rand
	pool     *pool.Pool
	now      time.Time
	nodes    []sched.Node
	running  []sched.Running
	queued   []sched.Request
	reserved sched.Reserved
	ends     map[string]time.Time
	lasts    map[string]time.Duration
	hard     int  // quota of workspace a; 0: none
	rich     bool // requests have choices, limits and ends
	served   map[string]time.Time
	recorder record.Recorder
	frames   []*record.Frame
	placed   int
	made     int
}

func newWorld(t testing.TB, seed uint64, p *pool.Pool, nodes, slots int) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), pool: p, now: begin, ends: map[string]time.Time{}, lasts: map[string]time.Duration{}, served: map[string]time.Time{}}
	for i := range nodes {
		n := sched.Node{ID: fmt.Sprintf("n%d", i), Name: fmt.Sprintf("node-%d", i), Schedulable: true}
		for j := range slots {
			n.Slots = append(n.Slots, sched.Slot{ID: j, Healthy: true, Enabled: true, Brand: "A100", LinkGroup: 1 + j/2})
		}
		w.nodes = append(w.nodes, n)
	}
	return w
}

// submit queues an attempt.
func (w *world) submit(id, group, workspace, user string, slots int, lasts time.Duration) *sched.Request {
	w.queued = append(w.queued, sched.Request{ID: id, Group: group, Slots: slots, Priority: 42, QueuedAt: w.now, Preemptible: true, Workspace: workspace, User: user, Weight: 1})
	w.lasts[id] = lasts
	return &w.queued[len(w.queued)-1]
}

// cycle lets attempts end, plans and records.
func (w *world) cycle(span time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(span)
	w.running = slices.DeleteFunc(w.running, func(x sched.Running) bool {
		if w.ends[x.ID].After(w.now) {
			return false
		}
		for _, key := range []string{"w" + x.Workspace, "u" + x.User, "g" + x.Group} {
			w.served[key] = w.now
		}
		if x.Leaving { // it goes on
			task, run, _ := cutLast(x.ID)
			q := w.submit(task+"."+run+"1", x.Group, x.Workspace, x.User, len(x.Parts[0].SlotIDs), w.lasts[x.ID])
			q.Priority = x.Priority
		}
		return true
	})
	quota := &sched.Quota{Of: "workspace a", Hard: &w.hard}
	quotas := map[*sched.Quota]record.Quota{}
	list := []*sched.Quota{quota}
	if w.hard > 0 {
		quotas[quota] = record.Quota{ID: 5, Workspace: "a"}
	}
	choice := &sched.Choice{Unfit: map[string]string{"n0": "which is small"}, Fit: map[string]bool{"n1": true, "n2": true, "n3": true}, Prefer: map[string]float64{"n2": 0.5}}
	for i := range w.queued {
		q := &w.queued[i]
		q.Served = sched.Served{Workspace: w.served["w"+q.Workspace], User: w.served["u"+q.User], Group: w.served["g"+q.Group], Turn: w.served["t"+q.User]}
		if q.Quotas = nil; w.hard > 0 && q.Workspace == "a" {
			q.Quotas = list
		}
		if q.Choice = nil; w.rich && q.User == "u1" {
			q.Choice = choice
		}
	}
	for i := range w.running {
		x := &w.running[i]
		if x.Quotas = nil; w.hard > 0 && x.Workspace == "a" {
			x.Quotas = list
		}
		if w.rich {
			x.Earliest, x.Latest = w.ends[x.ID].Add(-time.Duration(w.rnd.Int64N(int64(time.Minute)))), w.ends[x.ID].Add(time.Minute)
			if x.Saved = w.now.Add(-3 * time.Second); x.User == "u2" {
				x.Saved = w.now.Truncate(10 * time.Minute)
			}
		}
	}
	in := record.Input{Pool: w.pool, At: w.now, Running: w.running, Queued: w.queued, Reserved: w.reserved, Quotas: quotas}
	if len(w.queued) > 0 || w.reserved.Active(w.now) {
		in.Planned, in.Nodes = true, w.nodes
		in.Result = w.reserved.Plan(w.pool, w.nodes, w.running, w.queued, w.now)
	}
	text, _, err := w.recorder.Note(in)
	if err != nil {
		w.t.Fatal(err)
	}
	if text != nil {
		f := &record.Frame{}
		if err := json.Unmarshal(text, f); err != nil {
			w.t.Fatal(err)
		}
		w.frames = append(w.frames, f)
	}
	w.apply(in.Result)
}

func (w *world) apply(r sched.Result) {
	for _, p := range r.Place {
		i := slices.IndexFunc(w.queued, func(q sched.Request) bool { return q.ID == p.ID })
		q := w.queued[i]
		w.queued = slices.Delete(w.queued, i, i+1)
		w.running = append(w.running, sched.Running{ID: q.ID, Group: q.Group, Priority: q.Priority, StartedAt: w.now.Add(7 * time.Millisecond), Preemptible: q.Preemptible, MaxSlots: q.MaxSlots,
			Parts: p.Parts, LentUntil: p.LentUntil, Workspace: q.Workspace, User: q.User, Weight: q.Weight})
		w.ends[q.ID] = w.now.Add(w.lasts[q.ID])
		w.served["t"+q.User] = w.now
		w.placed++
	}
	for _, x := range r.Preempt {
		i := slices.IndexFunc(w.running, func(r sched.Running) bool { return r.ID == x.ID })
		w.running[i].Leaving = true
		w.ends[x.ID] = w.now.Add(20 * time.Second)
	}
}

// live lets random things happen for some cycles.
func (w *world) live(cycles int) {
	w.t.Helper()
	for range cycles {
		for range w.rnd.IntN(3) {
			w.made++
			user := w.rnd.IntN(4)
			q := w.submit(fmt.Sprintf("job%d.1", w.made), fmt.Sprintf("experiment %d", w.made/2), string(rune('a'+user%3)), fmt.Sprintf("u%d", user), w.rnd.IntN(5), time.Duration(1+w.rnd.IntN(40))*time.Minute)
			q.Priority = 40 + w.rnd.IntN(4)
			if w.rich && w.rnd.IntN(2) == 0 {
				q.Longest = w.lasts[q.ID] + time.Minute
			}
			if w.rich && w.rnd.IntN(6) == 0 {
				q.MaxSlots = new(6)
			}
		}
		switch w.rnd.IntN(30) {
		case 0:
			n := &w.nodes[w.rnd.IntN(len(w.nodes))]
			n.Schedulable = !n.Schedulable
		case 1:
			slots := slices.Clone(w.nodes[1].Slots)
			slots[0].Healthy = !slots[0].Healthy
			w.nodes[1].Slots = slots
		case 2:
			if len(w.queued) > 0 {
				w.queued = slices.Delete(w.queued, 0, 1)
			}
		case 3:
			if len(w.queued) > 0 {
				w.queued[0].Priority = 1
			}
		case 4:
			if w.rich {
				w.reserved = sched.Reserved{{ID: w.made, Workspace: "b", Slots: 4, From: w.now.Add(10 * time.Minute), Until: w.now.Add(40 * time.Minute)}}
			}
		case 5:
			w.recorder.Forget()
		case 6:
			w.hard = w.rnd.IntN(8)
		}
		w.cycle(time.Duration(1+w.rnd.IntN(300)) * time.Second)
	}
}

func policies() map[string]*pool.Pool {
	return map[string]*pool.Pool{
		"priority":    {Name: "gpu", MaxAux: 2},
		"preemption":  {Name: "gpu", MaxAux: 2, Preemption: true},
		"fair_share":  {Name: "gpu", MaxAux: 2, Scheduler: pool.Scheduler{Type: pool.FairShare, MinRunTime: 5 * time.Minute, Workspaces: map[string]float64{"a": 2}}},
		"round_robin": {Name: "gpu", MaxAux: 2, Scheduler: pool.Scheduler{Type: pool.RoundRobin, Fitting: pool.WorstFit}},
	}
}

// TestEveryPlanIsMadeAgain: whatever happens, the recorded input of a plan makes the same plan.
func TestEveryPlanIsMadeAgain(t *testing.T) {
	for name, p := range policies() {
		for _, rich := range []bool{false, true} {
			w := newWorld(t, 1, p, 4, 4)
			w.rich = rich
			w.live(400)
			var c Check
			for _, part := range Parts(w.frames) {
				x, err := CheckPart(part)
				if err != nil {
					t.Fatal(err)
				}
				c.Add(x)
			}
			if c.Deviations > 0 {
				t.Errorf("%s: %+v, the first one %+v", name, c, c.First)
			}
			if c.Placements != w.placed || w.placed < 100 || p.Preempts() && c.Preemptions == 0 {
				t.Errorf("%s: %+v of %d placements", name, c, w.placed)
			}
		}
	}
}

// TestADeviationIsNamed: a recording with another decision is noticed.
func TestADeviationIsNamed(t *testing.T) {
	w := newWorld(t, 1, policies()["priority"], 1, 4)
	w.submit("a.1", "experiment 1", "a", "ann", 4, time.Hour)
	w.submit("b.1", "experiment 2", "b", "bob", 4, time.Hour)
	w.cycle(time.Second)
	w.frames[0].Place[0].ID = "b.1"
	c, err := CheckPart(w.frames)
	if err != nil || c.Deviations != 2 || c.First == nil || c.First.Attempt != "b.1" || c.First.Why != "it was placed on node n0 (slots [0 1 2 3]), and now it waits: needs 4 slots on one node; all 4 of pool gpu are in use" {
		t.Errorf("%+v %+v %v", c, c.First, err)
	}
}
