package replay

import (
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
)

// budget bounds the work of a simulation, in nodes, attempts and requests that plans look at. After a plan the next one of the pool waits for so much of the
// simulated time as the plan was of the budget: many small plans follow each other at once, and plans of long queues, whose jobs wait for
// long, have some minutes between them.
const budget = 8_000_000

// A simulation runs the jobs of a history in simulated time.
type simulation struct {
	*History
	settings *settings
	now      time.Time
	pools    []*site
	byPool   map[string]*site
	events   events
	next     int    // of the jobs: the next that comes at its own time
	runs     []*run // of jobs that have come
}

// A site is a pool in a simulation.
type site struct {
	sim      *simulation
	of       *pool.Pool
	past     *past
	nodes    []sched.Node
	reserved sched.Reserved
	changes  []change // those that are left
	running  []sched.Running
	runs     []*run // of running
	queued   []sched.Request
	waits    []*run // of queued
	dirty    bool
	ready    time.Time // the next plan is not made before
	wakes    bool      // there is an event for that time
	gaps     time.Duration
	woken    time.Time // the last time at which attempts may be preempted that had run too short
	plans    int
	leave    time.Duration
	usable   int // slots of schedulable nodes
	sized    time.Time
	capacity float64 // usable slots × seconds
	used     float64
	borrows  int // requests that say how long they run
	lent     int // running attempts on loan
	aux      int // requests of 0 slots
	bounded  int // running attempts with max_slots
	bounds   map[int]*sched.Quota
	lists    map[string][]*sched.Quota
	held     map[int]sched.Held
	shares   map[string]*share
	choices  map[*sched.Choice]*sched.Choice
}

// A share is what a policy knows of the past of a workspace, a user in it, a group or a user.
type share struct {
	held   int       // slots
	last   time.Time // when it last held some
	turn   time.Time // when it last received some
	recent float64   // slot-hours, as they count at …
	at     time.Time // …
}

// A run is a job in a simulation.
type run struct {
	*job
	site      *site
	at        int // where it is in running or queued; -1: in none
	waiting   bool
	came      time.Time
	first     time.Time
	began     time.Time
	done      time.Duration // what it need not do again
	leaves    time.Time     // when it has left; zero: it was not asked to leave
	turn      int           // of the last start: events of earlier ones do not count
	used      float64
	preempted int
	lost      float64
	quotas    []*sched.Quota
	ids       []int
	shares    [4]*share // of its workspace, its user there, its group, its user
}

// Simulate runs the jobs of a history with changed settings.
func (h *History) Simulate(changes []Change) (*Outcome, error) {
	if !h.Until.After(h.From) || len(h.pools) == 0 {
		return nil, fault.New(fault.Invalid, "the recording has nothing between these times")
	}
	set, err := h.settle(changes)
	if err != nil {
		return nil, err
	}
	s := &simulation{History: h, settings: set, now: h.From, byPool: map[string]*site{}}
	for _, p := range h.pools {
		s.open(p)
	}
	for s.advance() {
		for _, p := range s.pools {
			p.planIfDue()
		}
	}
	s.now = h.Until
	for _, p := range s.pools {
		p.resize(s.now)
		for _, r := range p.runs {
			r.count(s.now)
		}
	}
	return s.outcome(), nil
}

func (s *simulation) open(of *past) {
	p := &site{sim: s, of: s.settings.pools[of.pool.Name], past: of, reserved: of.reserve, changes: of.changes, leave: of.leaves(), sized: s.From,
		bounds: map[int]*sched.Quota{}, lists: map[string][]*sched.Quota{}, held: map[int]sched.Held{}, shares: map[string]*share{}, choices: map[*sched.Choice]*sched.Choice{}}
	p.setNodes(of.nodes)
	for key, used := range of.recent.Workspaces {
		p.share("w" + key).recent = used
	}
	for key, used := range of.recent.Users {
		p.share("u" + key).recent = used
	}
	for _, x := range p.shares {
		x.at = s.From
	}
	s.pools = append(s.pools, p)
	s.byPool[of.pool.Name] = p
	p.wakeFor()
}

func (p *site) share(key string) *share {
	x := p.shares[key]
	if x == nil {
		x = &share{at: p.sim.From}
		p.shares[key] = x
	}
	return x
}

// setNodes replaces the nodes: those that were, without those that are taken away, and with those that are added.
func (p *site) setNodes(list []sched.Node) {
	name := p.of.Name
	p.nodes = slices.DeleteFunc(slices.Clone(list), func(n sched.Node) bool { return p.sim.settings.gone[name][n.ID] })
	p.nodes = append(p.nodes, p.sim.settings.nodes[name]...)
	p.resize(p.sim.now)
}

// resize counts the slots that there were until now.
func (p *site) resize(now time.Time) {
	p.capacity += float64(p.usable) * now.Sub(p.sized).Seconds()
	p.sized, p.usable, p.dirty = now, 0, true
	for i := range p.nodes {
		if p.nodes[i].Schedulable {
			for _, s := range p.nodes[i].Slots {
				if s.Healthy && s.Enabled && s.Taken == "" {
					p.usable++
				}
			}
		}
	}
}

// wakeFor plans at the times of reservations.
func (p *site) wakeFor() {
	for _, v := range p.reserved {
		for _, at := range []time.Time{v.From.Add(-time.Hour), v.From, v.Until} {
			if at.After(p.sim.now) {
				p.sim.events.add(event{at: at, site: p})
			}
		}
	}
}

// advance lets the clock go to the next time at which something happens, and lets it happen; false: nothing more does.
func (s *simulation) advance() bool {
	at := s.soonest()
	if at.IsZero() || !at.Before(s.Until) {
		return false
	}
	s.now = later(s.now, at)
	for ; !at.IsZero() && !at.After(s.now); at = s.soonest() {
		s.happen(at)
	}
	return true
}

// soonest is when something happens next; zero: never.
func (s *simulation) soonest() (at time.Time) {
	first := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for s.next < len(s.jobs) && s.jobs[s.next].after != nil {
		s.next++
	}
	if s.next < len(s.jobs) {
		first(s.jobs[s.next].comes)
	}
	if len(s.events) > 0 {
		first(s.events[0].at)
	}
	for _, p := range s.pools {
		if len(p.changes) > 0 {
			first(p.changes[0].at)
		}
	}
	return at
}

// happen does one thing that happens at a time.
func (s *simulation) happen(at time.Time) {
	for _, p := range s.pools {
		if len(p.changes) > 0 && !p.changes[0].at.After(at) {
			p.change(&p.changes[0], at)
			p.changes = p.changes[1:]
			return
		}
	}
	if len(s.events) > 0 && !s.events[0].at.After(at) {
		e := s.events.take()
		switch r := e.run; {
		case e.job != nil:
			s.come(e.job, e.at)
		case e.site != nil && e.due:
			e.site.wakes = false
		case e.site != nil:
			e.site.dirty = true
		case r.at < 0 || e.turn != r.turn && !e.cancel:
		case e.cancel || !r.leaves.Equal(e.at):
			r.end(e.at)
		default:
			r.leave(e.at)
		}
		return
	}
	s.come(s.jobs[s.next], at)
	s.next++
}

// change changes nodes, reservations and quotas as it was recorded.
func (p *site) change(c *change, at time.Time) {
	now := p.sim.now
	p.sim.now = at
	switch gone := p.sim.settings.gone[p.of.Name]; {
	case c.all:
		p.setNodes(c.nodes)
	case len(c.nodes)+len(c.gone) > 0:
		p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), func(n sched.Node) bool {
			return slices.Contains(c.gone, n.ID) || slices.ContainsFunc(c.nodes, func(m sched.Node) bool { return m.ID == n.ID })
		})
		for _, n := range c.nodes {
			if !gone[n.ID] {
				p.nodes = append(p.nodes, n)
			}
		}
		p.resize(at)
	}
	if c.reserve != nil {
		p.reserved, p.dirty = *c.reserve, true
		p.wakeFor()
	}
	for id, spent := range c.spent {
		if q := p.bounds[id]; q != nil {
			if q.Spent = ""; spent {
				q.Spent = q.Of + " has used its slot-hours"
			}
			p.dirty = true
		}
	}
	p.sim.now = now
}

// come lets a job come.
func (s *simulation) come(j *job, at time.Time) {
	p := s.byPool[j.pool]
	r := &run{job: j, site: p, at: -1, came: at}
	s.runs = append(s.runs, r)
	r.quotas, r.ids = p.quotasOf(j)
	q := &j.ask
	r.shares = [4]*share{p.share("w" + q.Workspace), p.share("u" + record.Within(q.Workspace, q.User)), p.share("g" + q.Group), p.share("t" + q.User)}
	if !j.ends.IsZero() {
		s.events.add(event{at: later(j.ends, at), run: r, cancel: true})
	}
	if j.parts != nil {
		r.first = j.first
		r.start(j.parts, time.Time{}, s.From)
		p.running[r.at].StartedAt = j.first
		return
	}
	r.wait()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// wait puts a job into the queue.
func (r *run) wait() {
	p := r.site
	q := r.ask
	q.Quotas, q.Choice = r.quotas, p.choiceOf(r.ask.Choice)
	if r.after != nil && r.ask.QueuedAt.Equal(r.comes) || r.ask.QueuedAt.After(r.came) {
		q.QueuedAt = r.came
	}
	r.waiting, r.at = true, len(p.queued)
	p.queued, p.waits, p.dirty = append(p.queued, q), append(p.waits, r), true
	p.tally(&q, 1)
}

func (p *site) tally(q *sched.Request, n int) {
	if q.Longest > 0 {
		p.borrows += n
	}
	if q.Slots <= 0 {
		p.aux += n
	}
}

// start lets a job run.
func (r *run) start(parts []sched.Part, lent, at time.Time) {
	p := r.site
	q := &r.ask
	x := sched.Running{ID: q.ID, Group: q.Group, Priority: q.Priority, StartedAt: at, Preemptible: q.Preemptible, MaxSlots: q.MaxSlots, Parts: parts, LentUntil: lent,
		Workspace: q.Workspace, User: q.User, Weight: q.Weight, Quotas: r.quotas}
	if q.Longest > 0 {
		x.Latest = at.Add(q.Longest)
	}
	if r.waiting {
		p.tally(q, -1)
		r.remove()
	}
	r.began, r.leaves, r.at = at, time.Time{}, len(p.running)
	r.turn++
	if r.first.IsZero() {
		r.first = at
	}
	p.running, p.runs = append(p.running, x), append(p.runs, r)
	if !r.open && r.ends.IsZero() {
		p.sim.events.add(event{at: at.Add(max(0, r.runs()-r.done)), run: r, turn: r.turn})
	}
	if !lent.IsZero() {
		p.lent++
		p.sim.events.add(event{at: lent, site: p})
	}
	if q.MaxSlots != nil {
		p.bounded++
	}
	p.hold(r, parts, 1)
	r.shares[3].turn = at
}

func (r *run) runs() time.Duration { return r.job.runs }

// hold counts what a job holds, or holds no more.
func (p *site) hold(r *run, parts []sched.Part, n int) {
	for _, x := range r.shares[:3] {
		p.settleShare(x)
		x.held += n * r.ask.Slots
		x.last = p.sim.now
	}
	if len(r.ids) == 0 || len(p.sim.pools) < 2 {
		return
	}
	for i, q := range r.quotas {
		h := p.held[r.ids[i]]
		h.All += n * q.Kind.Of(parts, p.supplyOn)
		p.held[r.ids[i]] = h
	}
}

func (p *site) supplyOn(node string) *sched.Supply {
	for i := range p.nodes {
		if p.nodes[i].ID == node {
			return p.nodes[i].Supply
		}
	}
	return nil
}

// settleShare counts what a share used until now.
func (p *site) settleShare(x *share) {
	life := p.of.Scheduler.HalfLife
	if life <= 0 || p.of.Scheduler.Type != pool.FairShare || !p.sim.now.After(x.at) {
		return
	}
	span := p.sim.now.Sub(x.at)
	x.recent = x.recent*sched.Kept(span, life) + sched.Use(float64(x.held), span, life)
	x.at = p.sim.now
}

// remove takes a job out of the queue or of those that run.
func (r *run) remove() {
	p := r.site
	if r.waiting {
		last := len(p.queued) - 1
		p.queued[r.at], p.waits[r.at] = p.queued[last], p.waits[last]
		p.waits[r.at].at = r.at
		p.queued, p.waits = p.queued[:last], p.waits[:last]
	} else {
		last := len(p.running) - 1
		p.running[r.at], p.runs[r.at] = p.running[last], p.runs[last]
		p.runs[r.at].at = r.at
		p.running, p.runs = p.running[:last], p.runs[:last]
	}
	r.at, r.waiting, p.dirty = -1, false, true
}

// release frees the slots of a job that runs.
func (r *run) release(at time.Time) {
	x := &r.site.running[r.at]
	r.site.hold(r, x.Parts, -1)
	if !x.LentUntil.IsZero() {
		r.site.lent--
	}
	if x.MaxSlots != nil {
		r.site.bounded--
	}
	r.count(at)
	r.remove()
}

// count adds what a job used.
func (r *run) count(at time.Time) {
	used := float64(r.ask.Slots) * max(0, at.Sub(later(r.began, r.site.sim.From)).Seconds())
	r.used += used
	r.site.used += used
}

// end ends a job, and lets those come that come after it.
func (r *run) end(at time.Time) {
	if r.waiting {
		r.site.tally(&r.ask, -1)
		r.remove()
	} else {
		r.release(at)
	}
	for _, j := range r.follows {
		r.site.sim.events.add(event{at: at.Add(j.lag), job: j})
	}
}

// askToLeave asks a job to leave.
func (r *run) askToLeave() {
	p := r.site
	p.running[r.at].Leaving = true
	r.leaves = p.sim.now.Add(max(p.leave, time.Second))
	r.preempted++
	p.sim.events.add(event{at: r.leaves, run: r, turn: r.turn})
}

// leave lets a job wait again that was asked to leave.
func (r *run) leave(at time.Time) {
	kept := r.kept(at.Add(-r.site.leave))
	r.done += max(0, kept.Sub(r.began))
	r.lost += float64(r.ask.Slots) * max(0, at.Sub(later(kept, r.began)).Seconds())
	r.release(at)
	r.leaves = time.Time{}
	r.wait()
}

// kept is until when a checkpoint has the work of a job that runs, if it is asked to leave at a time.
func (r *run) kept(at time.Time) time.Time {
	switch {
	case r.asks:
		return at
	case r.every > 0:
		return r.began.Add(max(0, at.Sub(r.began)) / r.every * r.every)
	}
	return r.began
}

// choiceOf is a choice that rates added nodes like the nodes that they are like.
func (p *site) choiceOf(c *sched.Choice) *sched.Choice {
	added := p.sim.settings.nodes[p.of.Name]
	if c == nil || len(added) == 0 {
		return c
	}
	if of := p.choices[c]; of != nil {
		return of
	}
	of := &sched.Choice{Unfit: maps.Clone(c.Unfit), Models: maps.Clone(c.Models), Prefer: maps.Clone(c.Prefer), Spread: slices.Clone(c.Spread)}
	for i := range of.Spread {
		of.Spread[i].Value = maps.Clone(of.Spread[i].Value)
	}
	for _, n := range added {
		like := p.sim.settings.like[n.ID]
		if why, unfit := c.Unfit[like]; unfit {
			of.Unfit[n.ID] = why
		}
		if models, some := c.Models[like]; some {
			of.Models[n.ID] = models
		}
		if score, some := c.Prefer[like]; some {
			of.Prefer[n.ID] = score
		}
		for i := range of.Spread {
			if value, some := of.Spread[i].Value[like]; some {
				of.Spread[i].Value[n.ID] = value
			}
		}
	}
	p.choices[c] = of
	return of
}
