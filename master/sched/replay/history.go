package replay

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
)

// A History is what happened in a recording, as far as a simulation needs it.
type History struct {
	From, Until time.Time
	pools       []*past
	byName      map[string]*past
	jobs        []*job // in the order in which they came
	quotas      map[int]record.Quota
}

// A past is that of one pool.
type past struct {
	pool    pool.Pool
	nodes   []sched.Node // at the beginning
	reserve sched.Reserved
	recent  record.Hours // what counted of the past then
	changes []change     // in the order of their times
	leave   []time.Duration
	state   record.State
	begun   bool // the recording of the pool has reached the beginning
}

// A change happened to nodes, reservations or quotas of a pool.
type change struct {
	at      time.Time
	all     bool // there are no nodes but these
	nodes   []sched.Node
	gone    []string
	reserve *sched.Reserved
	spent   map[int]bool
}

// A job is a trial or a task, with what its attempts did. An attempt that goes on after a preemption is the same job; one that follows
// another attempt for another reason is a job of its own.
type job struct {
	task, pool string
	ask        sched.Request // of its first attempt
	quotas     []int
	comes      time.Time
	after      *job          // it comes so long after the end of this job; nil: at its time
	lag        time.Duration // …
	follows    []*job        // those that come after this one
	runs       time.Duration // all attempts together, without what was done twice
	open       bool          // it had not ended when the recording ended
	ends       time.Time     // it waited when it was canceled; zero: it was not
	every      time.Duration // between two checkpoints; 0: it stores none
	asks       bool          // it stores one when it is asked to leave
	paced      bool          // its end was estimated
	first      time.Time     // its first start; zero: it waited until the end
	parts      []sched.Part  // what it held at the beginning; nil: it did not run then

	preempted int
	lost      time.Duration
}

// An attempt is one that has not ended.
type attempt struct {
	*job
	began   time.Time // zero: it waits
	saved   time.Time
	leaving time.Time
	asked   bool // a plan preempted it
}

// follow is how soon after the end of an attempt another one of its experiment comes if it comes because of that.
const follow = 10 * time.Second

// historian reads a recording.
type historian struct {
	*History
	live  map[string]*attempt // by pool and id
	last  map[string]*job     // by task: of a preempted attempt, which goes on
	ended map[string][]ending // by experiment: the ends of attempts, the first one first
}

type ending struct {
	*job
	at time.Time
}

// Read reads what happened from a time on until another one. The frames are in the order in which they were recorded, and begin with a whole one
// of each pool.
func Read(frames []*record.Frame, from, until time.Time) (*History, error) {
	h := &historian{History: &History{From: from, Until: until, byName: map[string]*past{}, quotas: map[int]record.Quota{}},
		live: map[string]*attempt{}, last: map[string]*job{}, ended: map[string][]ending{}}
	for _, f := range frames {
		at := record.Time(f.At)
		if !at.Before(until) {
			break
		}
		p := h.byName[f.Pool]
		if p == nil {
			p = &past{}
			h.byName[f.Pool] = p
			h.pools = append(h.pools, p)
		}
		if !p.begun && p.state.Known && !at.Before(from) {
			h.begin(p, from)
		}
		if err := p.state.Add(f); err != nil {
			return nil, err
		}
		if !p.begun && p.state.Known && !at.Before(from) { // the recording of the pool begins here
			h.begin(p, at)
			continue
		}
		if p.begun && p.state.Known {
			h.add(p, f, at)
		}
	}
	for _, p := range h.pools {
		if !p.begun && p.state.Known {
			h.begin(p, from)
		}
	}
	h.finish()
	return h.History, nil
}

// begin notes what there is when the history of a pool begins.
func (h *historian) begin(p *past, at time.Time) {
	p.begun, p.pool, p.nodes, p.reserve, p.recent = true, p.state.Pool, each.Of(p.state.Nodes(), func(n *sched.Node) sched.Node { return *n }), p.state.Reserved, p.state.Recent()
	for id, q := range p.state.Quotas {
		h.quotas[id] = q.Whom
	}
	for _, q := range p.state.Queued() {
		h.comes(p, q, at)
	}
	for _, x := range p.state.Running() {
		a := h.comes(p, requestOf(x), at)
		a.began, a.saved, a.first, a.parts = at, x.Saved, x.StartedAt, x.Parts
		if !x.Earliest.IsZero() {
			a.paced = true
		}
	}
}

// requestOf is what a running attempt would ask for.
func requestOf(x *sched.Running) *sched.Request {
	q := &sched.Request{ID: x.ID, Group: x.Group, Priority: x.Priority, QueuedAt: x.StartedAt, Preemptible: x.Preemptible, MaxSlots: x.MaxSlots,
		Workspace: x.Workspace, User: x.User, Weight: x.Weight, Quotas: x.Quotas}
	for _, part := range x.Parts {
		q.Slots += len(part.SlotIDs)
	}
	return q
}

func taskOf(id string) string {
	task, _, found := cutLast(id)
	if !found {
		return id
	}
	return task
}

func cutLast(id string) (task, run string, found bool) {
	i := strings.LastIndexByte(id, '.')
	if i < 0 {
		return id, "", false
	}
	return id[:i], id[i+1:], true
}

// comes notes a new attempt.
func (h *historian) comes(p *past, q *sched.Request, at time.Time) *attempt {
	key := p.state.Pool.Name + "\x00" + q.ID
	task := taskOf(q.ID)
	if of := h.last[task]; of != nil && of.pool == p.state.Pool.Name { // it goes on
		delete(h.last, task)
		a := &attempt{job: of}
		h.live[key] = a
		return a
	}
	j := &job{task: q.ID, pool: p.state.Pool.Name, ask: *q, comes: at, quotas: numbersOf(p, q.Quotas)}
	j.ask.Quotas, j.ask.Served, j.ask.Recent = nil, sched.Served{}, sched.Recent{}
	if at.Equal(h.From) && q.QueuedAt.Before(at) {
		j.comes = q.QueuedAt
	}
	if ends := h.ended[q.Group]; !at.Equal(h.From) {
		for len(ends) > 0 && at.Sub(ends[0].at) > follow {
			ends = ends[1:]
		}
		if len(ends) > 0 {
			j.after, j.lag = ends[0].job, at.Sub(ends[0].at)
			ends = ends[1:]
		}
		if h.ended[q.Group] = ends; len(ends) == 0 {
			delete(h.ended, q.Group)
		}
	}
	h.jobs = append(h.jobs, j)
	a := &attempt{job: j}
	h.live[key] = a
	return a
}

// numbersOf are the numbers of quotas.
func numbersOf(p *past, of []*sched.Quota) (ids []int) {
	for _, q := range of {
		for id, b := range p.state.Quotas {
			if &b.Quota == q {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// add notes what a frame changed.
func (h *historian) add(p *past, f *record.Frame, at time.Time) {
	name := p.state.Pool.Name
	h.addChange(p, f, at)
	if f.Whole {
		h.addWhole(p, at)
		return
	}
	for _, id := range f.Left {
		h.end(p, name+"\x00"+id, at)
	}
	for i := range f.Queued {
		h.waits(p, f.Queued[i].ID, at)
	}
	for id, began := range f.Began {
		h.runs(p, id, record.Time(began))
	}
	for i := range f.Running {
		h.runs(p, f.Running[i].ID, record.Time(f.Running[i].StartedAt))
		if f.Running[i].Leaving {
			h.leaves(name, f.Running[i].ID, at)
		}
	}
	for _, id := range f.Leaving {
		h.leaves(name, id, at)
	}
	for _, x := range f.Preempt {
		if a := h.live[name+"\x00"+x.ID]; a != nil {
			a.asked = true
		}
	}
	for id := range f.Ago {
		if a := h.live[name+"\x00"+id]; a != nil {
			a.asks = true
		}
	}
	for id, saved := range f.Saved {
		if a := h.live[name+"\x00"+id]; a != nil {
			if now := record.Time(saved); !a.saved.IsZero() && now.After(a.saved) {
				a.every = cmp.Or(a.every, now.Sub(a.saved))
				a.saved = now
			} else {
				a.saved = now
			}
		}
	}
	for id, earliest := range f.Earliest {
		if a := h.live[name+"\x00"+id]; a != nil && earliest != 0 {
			a.paced = true
		}
	}
}

// addWhole compares a whole frame, which does not say what has changed, with what there was.
func (h *historian) addWhole(p *past, at time.Time) {
	name := p.state.Pool.Name
	here := map[string]bool{}
	for _, q := range p.state.Queued() {
		here[name+"\x00"+q.ID] = true
	}
	for _, x := range p.state.Running() {
		here[name+"\x00"+x.ID] = true
	}
	var left []string
	for key, a := range h.live {
		if a.pool == name && !here[key] {
			left = append(left, key)
		}
	}
	slices.Sort(left)
	for _, key := range left {
		h.end(p, key, at)
	}
	for _, q := range p.state.Queued() {
		h.waits(p, q.ID, at)
	}
	for _, x := range p.state.Running() {
		h.runs(p, x.ID, x.StartedAt)
		if x.Leaving {
			h.leaves(name, x.ID, at)
		}
	}
}

func (h *historian) addChange(p *past, f *record.Frame, at time.Time) {
	c := change{at: at, gone: f.Gone, all: f.Whole && f.Planned}
	for _, w := range f.Nodes {
		if n := p.state.Node(w.ID); n != nil {
			c.nodes = append(c.nodes, *n)
		}
	}
	if f.Reserved != nil || f.Whole {
		c.reserve = new(p.state.Reserved)
	}
	for _, q := range f.Quotas {
		if _, known := h.quotas[q.ID]; !known {
			h.quotas[q.ID] = q
		}
		if q.Hours {
			if c.spent == nil {
				c.spent = map[int]bool{}
			}
			c.spent[q.ID] = q.Spent
		}
	}
	if len(c.nodes)+len(c.gone)+len(c.spent) > 0 || c.reserve != nil || c.all {
		p.changes = append(p.changes, c)
	}
}

// waits notes that an attempt waits.
func (h *historian) waits(p *past, id string, at time.Time) {
	if h.live[p.state.Pool.Name+"\x00"+id] == nil {
		if q := p.state.Request(id); q != nil {
			h.comes(p, q, at)
		}
	}
}

// runs notes that an attempt runs.
func (h *historian) runs(p *past, id string, began time.Time) {
	a := h.live[p.state.Pool.Name+"\x00"+id]
	x := p.state.Attempt(id)
	if a == nil && x != nil {
		a = h.comes(p, requestOf(x), began)
	}
	if a == nil || !a.began.IsZero() {
		return
	}
	if a.began = began; a.first.IsZero() {
		a.first = began
	}
}

func (h *historian) leaves(pool, id string, at time.Time) {
	if a := h.live[pool+"\x00"+id]; a != nil && a.leaving.IsZero() {
		a.leaving = at
	}
}

// end notes the end of an attempt, or that it waits no more.
func (h *historian) end(p *past, key string, at time.Time) {
	a := h.live[key]
	if a == nil {
		return
	}
	delete(h.live, key)
	if a.began.IsZero() {
		if a.ends = at; a.preempted == 0 {
			h.ended[a.ask.Group] = append(h.ended[a.ask.Group], ending{a.job, at})
		}
		return
	}
	a.runs += max(0, at.Sub(a.began))
	if !a.asked {
		h.ended[a.ask.Group] = append(h.ended[a.ask.Group], ending{a.job, at})
		return
	}
	kept := a.began
	if a.saved.After(kept) {
		kept = a.saved
	}
	if left := cmpTime(a.leaving, at); a.asks && left.After(kept) {
		kept = left
	}
	again := max(0, at.Sub(kept))
	a.preempted, a.lost, a.runs = a.preempted+1, a.lost+again, a.runs-again
	if !a.leaving.IsZero() {
		p.leave = append(p.leave, at.Sub(a.leaving))
	}
	h.last[taskOf(a.task)] = a.job
}

// cmpTime is the first of two times that is not zero.
func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// finish notes what there still is when the recording ends.
func (h *historian) finish() {
	for _, a := range h.live {
		if !a.began.IsZero() {
			a.runs += max(0, h.Until.Sub(a.began))
		}
		a.open = !a.began.IsZero() || a.preempted > 0
	}
	slices.SortStableFunc(h.jobs, func(a, b *job) int { return cmp.Or(a.comes.Compare(b.comes), strings.Compare(a.task, b.task)) })
	known := map[string][]time.Duration{}
	for _, j := range h.jobs {
		if j.after != nil {
			j.after.follows = append(j.after.follows, j)
		}
		if !j.first.IsZero() {
			for _, key := range j.alike() {
				known[key] = append(known[key], j.runs)
			}
		}
	}
	for _, list := range known {
		slices.Sort(list)
	}
	for _, j := range h.jobs {
		for _, key := range j.alike() {
			if list := known[key]; j.first.IsZero() && j.ends.IsZero() && len(list) > 0 {
				j.runs = list[len(list)/2]
				break
			}
		}
	}
	for _, p := range h.pools {
		slices.Sort(p.leave)
	}
}

// alike are the jobs of which one that never started would most likely have run as long as the median: those of its experiment, else of its user,
// its workspace, its pool.
func (j *job) alike() []string {
	return []string{"g" + j.ask.Group, "u" + record.Within(j.ask.Workspace, j.ask.User), "w" + j.ask.Workspace, "p" + j.pool}
}

// Jobs is how many jobs there are.
func (h *History) Jobs() int { return len(h.jobs) }

// leaves is how long attempts of a pool take to leave when they are asked to: the median.
func (p *past) leaves() time.Duration {
	if len(p.leave) == 0 {
		return 30 * time.Second
	}
	return p.leave[len(p.leave)/2]
}
