package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A Planner decides like sched.Plan.
type Planner func(of *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, now time.Time) sched.Result

// Options are a cluster and how it is run.
type Options struct {
	Seed           uint64
	Nodes, PerNode int
	Pool           *pool.Pool
	Plan           Planner
	Cycle          time.Duration // between two plans, if anything has changed
	Leave          time.Duration // from a preemption to the free slots: the checkpoint
	Resume         time.Duration // what a start from a checkpoint costs
	Checkpoint     time.Duration // between two checkpoints; work since the last is lost with a node
	NodeFails      time.Duration // mean time between two failures of a node; 0: never
	NodeOut        time.Duration // how long it is out then
	MaxTime        time.Duration
	Estimates      bool          // the ends of jobs that run are estimated from their progress
	Resident       int           // so many jobs run when the time begins; their waits do not count
	Teams          []Team        // they submit further jobs, as long as the time lasts
	Stops          time.Duration // the time ends then, whatever runs and waits; 0: after the last job
	Blind          bool          // the scheduler does not know of saves
}

// Usual returns a cluster of so many nodes of 8 slots.
func Usual(seed uint64, nodes int) Options {
	return Options{Seed: seed, Nodes: nodes, PerNode: 8, Plan: sched.Plan, Cycle: 30 * time.Second, Leave: time.Minute, Resume: time.Minute,
		Checkpoint: 30 * time.Minute, NodeFails: 30 * 24 * time.Hour, NodeOut: time.Hour, MaxTime: 365 * 24 * time.Hour}
}

// A Run is what happened.
type Run struct {
	Waits       []time.Duration // of each job from its arrival to its first start
	Slowdowns   []float64       // of each job: from arrival to end, over its work, at least 1; short jobs count as 10 minutes
	Preemptions int
	Loans       int           // starts on slots on loan
	Failures    int           // of attempts, by their nodes
	Lost        time.Duration // slots × time of work that was done twice
	Redone      time.Duration // what of it preempted jobs lost, and the time in which they stored a checkpoint
	Used        []Point       // slots in use over time
	Until       time.Duration // the last arrival
	Utilization float64       // until then, of all slots of all nodes
	Jain        float64       // over workspaces, until then: see jain
	Ended       time.Duration // of the last job
	Plans       int
	Queue       int                // the longest
	Held, Asked map[string]float64 // slots × seconds that each workspace held, and those that it held or waited for, until the last arrival
}

// A Point is a number of slots at a time.
type Point struct {
	At    time.Duration
	Slots int
}

// epoch is when the virtual clock begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// live is a job that has arrived and has not ended.
type live struct {
	*Job
	index   int
	done    time.Duration // work that a checkpoint keeps
	started time.Duration // of the current attempt
	work    time.Duration // when the current attempt begins to work
	parts   []sched.Part  // nil: it waits
	leaves  time.Duration // when it has stored its checkpoint; 0: it was not asked to
	lent    time.Time     // its slots are lent until then; zero: they are not
	ran     bool
}

type simulation struct {
	Options
	jobs    []Job
	run     *Run
	nodes   []sched.Node
	back    map[int]time.Duration // nodes that are out, and until when
	waiting []*live
	running []*live
	next    int // of jobs: the next to arrive
	now     time.Duration
	rnd     *rand.Rand
	fails   time.Duration // when the next node fails
	served  map[string]time.Time
	asked   map[string]float64 // slots × seconds that workspaces asked for until the last arrival
	got     map[string]float64
	inUse   int
	recent  map[string]float64 // slot-hours that workspaces and users used lately
}

func newSimulation(o Options, jobs []Job) *simulation {
	until := o.Stops
	if until == 0 {
		until = jobs[len(jobs)-1].Arrives
	}
	s := &simulation{Options: o, jobs: jobs, run: &Run{Waits: make([]time.Duration, len(jobs)), Slowdowns: make([]float64, len(jobs)), Until: until},
		back: map[int]time.Duration{}, rnd: rand.New(rand.NewPCG(o.Seed, 2)), served: map[string]time.Time{}, asked: map[string]float64{}, got: map[string]float64{}, recent: map[string]float64{}}
	for i := range o.Nodes {
		n := sched.Node{ID: fmt.Sprintf("node-%04d", i), Name: fmt.Sprintf("node-%04d", i), Schedulable: true}
		for j := range o.PerNode {
			n.Slots = append(n.Slots, sched.Slot{ID: j, Healthy: true, Enabled: true})
		}
		s.nodes = append(s.nodes, n)
	}
	s.fails = s.untilFailure()
	return s
}

// Crowd returns a cluster at one moment: jobs hold nearly all slots, and waiting more jobs wait.
func Crowd(seed uint64, of Shape, nodes, waiting int) ([]sched.Node, []sched.Running, []sched.Request) {
	o := Usual(seed, nodes)
	jobs, resident := of.Jobs(seed, waiting, nodes*o.PerNode, 1, 0.95)
	s := newSimulation(o, jobs)
	s.Plan = BestFit
	s.arriveUntil(resident)
	s.plan()
	s.waiting = nil
	s.arriveUntil(len(jobs))
	running, queued, _ := s.state()
	return s.nodes, running, queued
}

// Simulate runs the jobs, which are ordered by their arrival, to their end.
func Simulate(o Options, jobs []Job) (*Run, error) {
	s := newSimulation(o, jobs)
	for s.Stops > 0 && s.now < s.Stops || s.Stops == 0 && (s.next < len(jobs) || len(s.waiting)+len(s.running) > 0) {
		changed := s.advance()
		if s.now > o.MaxTime {
			return nil, fmt.Errorf("after %v %d jobs wait and %d run", o.MaxTime, len(s.waiting), len(s.running))
		}
		if changed {
			s.plan()
		}
	}
	s.run.Ended = s.now
	s.run.Utilization /= float64(o.Nodes*o.PerNode) * s.run.Until.Seconds()
	s.run.Jain, s.run.Held, s.run.Asked = s.jain(), s.got, s.asked
	s.run.Waits, s.run.Slowdowns = s.run.Waits[o.Resident:], s.run.Slowdowns[o.Resident:]
	return s.run, nil
}

func (s *simulation) untilFailure() time.Duration {
	if s.NodeFails == 0 {
		return 1 << 62
	}
	return s.now + time.Duration(s.rnd.ExpFloat64()*float64(s.NodeFails)/float64(s.Nodes))
}

// advance lets the clock jump to the next cycle in which something happens, and reports whether a
// plan can change anything.
func (s *simulation) advance() bool {
	until := s.soonest()
	cycles := max(1, (until-s.now+s.Cycle-1)/s.Cycle)
	s.count(cycles * s.Cycle)
	s.remember(cycles * s.Cycle)
	s.now += cycles * s.Cycle
	changed := s.arrive()
	changed = s.end() || changed
	return s.fail() || changed
}

// soonest is when something happens next.
func (s *simulation) soonest() time.Duration {
	at := s.fails
	if len(s.Teams) > 0 {
		at = min(at, (s.now/time.Hour+1)*time.Hour) // when a team may begin to work
	}
	if s.next < len(s.jobs) {
		at = min(at, s.jobs[s.next].Arrives)
	}
	for _, x := range s.running {
		at = min(at, x.endsAt())
	}
	for _, back := range s.back {
		at = min(at, back)
	}
	return at
}

func (x *live) endsAt() time.Duration {
	at := x.work + x.Lasts - x.done
	if x.leaves > 0 {
		at = min(at, x.leaves)
	}
	return at
}

// count adds up what is held until the last arrival.
func (s *simulation) count(span time.Duration) {
	span = min(span, max(0, s.run.Until-s.now))
	if span <= 0 {
		return
	}
	s.run.Utilization += float64(s.inUse) * span.Seconds()
	for _, x := range s.running {
		s.got[x.Workspace] += float64(x.Slots) * span.Seconds()
		s.asked[x.Workspace] += float64(x.Slots) * span.Seconds()
	}
	for _, x := range s.waiting {
		s.asked[x.Workspace] += float64(x.Slots) * span.Seconds()
	}
}

// remember counts what is held, for a policy with a memory.
func (s *simulation) remember(span time.Duration) {
	life := s.Pool.Scheduler.HalfLife
	if life == 0 {
		return
	}
	held := map[string]float64{}
	for _, x := range s.running {
		held["w "+x.Workspace] += float64(x.Slots)
		held["u "+x.User] += float64(x.Slots)
	}
	for key, used := range s.recent {
		s.recent[key] = used * sched.Kept(span, life)
	}
	for key, slots := range held {
		s.recent[key] += sched.Use(slots, span, life)
	}
}

// recentOf is what counts of the past of a job's workspace and user.
func (s *simulation) recentOf(x *live) sched.Recent {
	return sched.Recent{Workspace: s.recent["w "+x.Workspace], User: s.recent["u "+x.User]}
}

func (s *simulation) arrive() (changed bool) {
	changed = s.submit()
	until := s.next
	for until < len(s.jobs) && s.jobs[until].Arrives <= s.now {
		until++
	}
	changed = changed || until > s.next
	s.arriveUntil(until)
	s.run.Queue = max(s.run.Queue, len(s.waiting))
	return changed
}

func (s *simulation) arriveUntil(index int) {
	for ; s.next < index; s.next++ {
		s.waiting = append(s.waiting, &live{Job: &s.jobs[s.next], index: s.next})
	}
}

// end takes jobs out that have done their work or have made way.
func (s *simulation) end() (changed bool) {
	s.running = slices.DeleteFunc(s.running, func(x *live) bool {
		if x.endsAt() > s.now {
			return false
		}
		changed = true
		s.release(x)
		if finished := x.work + x.Lasts - x.done; finished <= s.now {
			took := max(finished, s.now-s.Cycle) - x.Arrives
			s.run.Slowdowns[x.index] = max(1, float64(took)/float64(max(x.Lasts, 10*time.Minute)))
			return true
		}
		kept := x.leaves
		if x.Every > 0 {
			kept = max(x.work, s.kept(x, x.leaves))
			s.run.Redone += time.Duration(x.Slots) * max(0, x.leaves-kept)
		}
		x.done += max(0, kept-x.work)
		s.requeue(x)
		return true
	})
	return changed
}

// kept is until when a checkpoint keeps the work of a running job, if it leaves at a time. A job that saves when it is asked does so at once; the time
// until it has left is lost.
func (s *simulation) kept(x *live, at time.Duration) time.Duration {
	if x.Saves {
		return at - s.Leave
	}
	return x.work + max(0, at-s.Leave-x.work)/x.Every*x.Every
}

func (s *simulation) release(x *live) {
	s.inUse -= x.Slots
	at := epoch.Add(s.now)
	for _, key := range []string{"w " + x.Workspace, "u " + x.User, "g " + x.ID} {
		s.served[key] = at
	}
}

func (s *simulation) requeue(x *live) {
	x.parts, x.leaves, x.lent = nil, 0, time.Time{}
	s.waiting = append(s.waiting, x)
}

// fail takes a node out when its time has come, with all that runs there, and brings others back.
func (s *simulation) fail() (changed bool) {
	for i, back := range s.back {
		if back <= s.now {
			s.nodes[i].Schedulable, changed = true, true
			delete(s.back, i)
		}
	}
	for ; s.fails <= s.now; s.fails = s.untilFailure() {
		i := s.rnd.IntN(s.Nodes)
		s.nodes[i].Schedulable, s.nodes[i].Why, s.back[i] = false, "is down", s.now+s.NodeOut
		changed = true
		s.running = slices.DeleteFunc(s.running, func(x *live) bool {
			if !slices.ContainsFunc(x.parts, func(p sched.Part) bool { return p.NodeID == s.nodes[i].ID }) {
				return false
			}
			s.run.Failures++
			worked := max(0, s.now-x.work)
			every := cmp.Or(x.Every, s.Checkpoint)
			kept := worked / every * every
			s.run.Lost += time.Duration(x.Slots) * (worked - kept)
			x.done += kept
			s.release(x)
			s.requeue(x)
			return true
		})
	}
	return changed
}

// state is the scheduler's input, and the jobs by their ids.
func (s *simulation) state() ([]sched.Running, []sched.Request, map[string]*live) {
	running, queued := make([]sched.Running, len(s.running)), make([]sched.Request, len(s.waiting))
	byID := make(map[string]*live, len(running)+len(queued))
	for i, x := range s.running {
		byID[x.ID] = x
		running[i] = sched.Running{ID: x.ID, Group: x.ID, Priority: x.Priority, StartedAt: epoch.Add(x.started), Preemptible: true, Leaving: x.leaves > 0,
			Saved: s.saved(x), Parts: x.parts, Workspace: x.Workspace, User: x.User, LentUntil: x.lent, Earliest: s.earliest(x), Recent: s.recentOf(x)}
	}
	for i, x := range s.waiting {
		byID[x.ID] = x
		queued[i] = sched.Request{Longest: s.longest(x), ID: x.ID, Group: x.ID, Slots: x.Slots, Priority: x.Priority, QueuedAt: epoch.Add(x.Arrives), Preemptible: true,
			Workspace: x.Workspace, User: x.User, Recent: s.recentOf(x), Served: sched.Served{Workspace: s.served["w "+x.Workspace], User: s.served["u "+x.User], Group: s.served["g "+x.ID], Turn: s.served["t "+x.User]}}
	}
	return running, queued, byID
}

// saved is since when a running job would do its work again if it were asked to leave now.
func (s *simulation) saved(x *live) time.Time {
	if x.Every == 0 || s.Blind {
		return time.Time{}
	}
	return epoch.Add(s.kept(x, s.now+s.Leave))
}

// plan asks the scheduler for a plan and applies it.
func (s *simulation) plan() {
	s.run.Plans++
	running, queued, byID := s.state()
	result := s.Plan(s.Pool, s.nodes, running, queued, epoch.Add(s.now))
	for _, p := range result.Place {
		s.start(byID[p.ID], p)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(x *live) bool { return x.parts != nil })
	for _, p := range result.Preempt {
		byID[p.ID].leaves = s.now + s.Leave
		s.run.Preemptions++
	}
	s.run.Used = append(s.run.Used, Point{s.now, s.inUse})
}

// longest is how long a job that waits runs at most; 0 if nobody knows.
func (s *simulation) longest(x *live) time.Duration {
	if x.Limit == 0 {
		return 0
	}
	return x.Limit - x.done + s.Resume
}

// earliest is when a job that runs ends at the earliest, by an estimate from a twentieth of its work on; zero before.
func (s *simulation) earliest(x *live) time.Time {
	done := x.done + max(0, s.now-x.work)
	if !s.Estimates || done < x.Lasts/20 {
		return time.Time{}
	}
	return epoch.Add(s.now + time.Duration((1+x.Error)*(1-estimateWidth)*float64(x.Lasts-done)))
}

func (s *simulation) start(x *live, p sched.Placement) {
	if !p.LentUntil.IsZero() {
		s.run.Loans++
	}
	x.lent = p.LentUntil
	x.parts, x.started, x.work = p.Parts, s.now, s.now
	if x.ran {
		x.work += s.Resume
	} else {
		s.run.Waits[x.index] = s.now - x.Arrives
	}
	x.ran = true
	s.inUse += x.Slots
	s.served["t "+x.User] = epoch.Add(s.now)
	s.running = append(s.running, x)
}

// jain is Jain's index of what workspaces held of what was fair: over the time until the last
// arrival, each workspace is due the weighted max-min part of all slots that were held, by what it
// asked for. 1: each has held its part.
func (s *simulation) jain() float64 {
	names := slices.Sorted(maps.Keys(s.asked))
	held := 0.0
	for _, name := range names {
		held += s.got[name]
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(s.asked[a], s.asked[b]), cmp.Compare(a, b)) })
	sum, squares := 0.0, 0.0
	for i, name := range names {
		fair := min(s.asked[name], held/float64(len(names)-i))
		held -= fair
		if fair <= 0 {
			continue
		}
		x := s.got[name] / fair
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(names)) * squares)
}

// Wait is a quantile of the waiting times.
func (r *Run) Wait(q float64) time.Duration { return quantile(slices.Clone(r.Waits), q) }

// Slowdown is a quantile of how much longer jobs took than their work.
func (r *Run) Slowdown(q float64) float64 {
	sorted := slices.Sorted(slices.Values(r.Slowdowns))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
