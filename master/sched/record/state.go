package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A State is what the frames of one pool add up to.
type State struct {
	Pool     pool.Pool
	At       time.Time
	Known    bool // a whole frame was added, and no gap since
	Reserved sched.Reserved
	Quotas   map[int]*Bound

	nodes   []*sched.Node    // in the order of their ids, as …
	running []*sched.Running // …
	queued  []*sched.Request // …
	choices map[int]*sched.Choice
	lists   map[string][]*sched.Quota // by the numbers of the quotas: requests with the same share one
	served  Times
	recent  Hours
	ago     map[string]time.Duration
	place   map[string]Placement // of the frame before
}

// A Bound is a quota as plans see it, with whom it bounds.
type Bound struct {
	sched.Quota
	Whom Quota
}

// Add adds a frame.
func (s *State) Add(f *Frame) error {
	s.At = Time(f.At)
	if f.Gap != "" {
		s.Known = false
		return nil
	}
	if f.Whole {
		if f.Settings == nil {
			return fmt.Errorf("the whole frame of pool %s at %s has no settings", f.Pool, s.At.Format(time.RFC3339Nano))
		}
		*s = State{At: s.At, Known: true, Quotas: map[int]*Bound{}, choices: map[int]*sched.Choice{}, lists: map[string][]*sched.Quota{}, ago: map[string]time.Duration{}}
		s.Pool = f.Settings.pool(f.Pool)
	}
	if !s.Known {
		return nil
	}
	s.addNodes(f)
	for id, c := range f.Choices {
		s.choices[id] = &sched.Choice{Unfit: each.Map(c.Unfit, func(node string) (string, string) { return node, "" }), Models: c.Models, Prefer: c.Prefer, Spread: c.Spread}
	}
	s.addQuotas(f)
	if f.Reserved != nil {
		s.Reserved = *f.Reserved
	}
	if err := s.addAttempts(f); err != nil {
		return err
	}
	s.addTimes(f)
	s.place = each.Map(f.Place, func(p Placement) (string, Placement) { return p.ID, p })
	return nil
}

func (w *Settings) pool(name string) pool.Pool {
	return pool.Pool{Name: name, Scheduler: w.Scheduler, SingleNode: w.SingleNode, Preemption: w.Preemption, MaxAux: w.MaxAux, AuxOnSpot: w.AuxOnSpot}
}

// Nodes, Running and Queued are what the plan was asked, in the order of ids. Who changes what the pointers point to changes the state.
func (s *State) Nodes() []*sched.Node      { return s.nodes }
func (s *State) Running() []*sched.Running { return s.running }
func (s *State) Queued() []*sched.Request  { return s.queued }

// Plan asks the plan again.
func (s *State) Plan() sched.Result {
	return s.Reserved.Plan(&s.Pool, values(s.nodes), values(s.running), values(s.queued), s.At)
}

func values[T any](list []*T) []T { return each.Of(list, func(x *T) T { return *x }) }

func (s *State) addNodes(f *Frame) {
	for i := range f.Nodes {
		put(&s.nodes, f.Nodes[i].node(), nodeID)
	}
	for _, id := range f.Gone {
		drop(&s.nodes, id, nodeID)
	}
}

func nodeID(n *sched.Node) string       { return n.ID }
func requestID(q *sched.Request) string { return q.ID }
func runningID(x *sched.Running) string { return x.ID }

// find returns where an entry of a list that is in the order of its ids is, or would be.
func find[T any](list []*T, id string, idOf func(*T) string) (int, bool) {
	low, high := 0, len(list)
	for low < high {
		mid := (low + high) / 2
		if strings.Compare(idOf(list[mid]), id) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(list) && idOf(list[low]) == id
}

func put[T any](list *[]*T, v T, idOf func(*T) string) {
	i, found := find(*list, idOf(&v), idOf)
	if found {
		(*list)[i] = &v
		return
	}
	*list = slices.Insert(*list, i, &v)
}

func drop[T any](list *[]*T, id string, idOf func(*T) string) bool {
	i, found := find(*list, id, idOf)
	if found {
		*list = slices.Delete(*list, i, i+1)
	}
	return found
}

func (w *Node) node() sched.Node {
	n := sched.Node{ID: w.ID, Name: w.Name, Schedulable: !w.Out, Spot: w.Spot, Rack: w.Rack, Supply: w.Supply, Slots: make([]sched.Slot, len(w.Slots))}
	for i, s := range w.Slots {
		n.Slots[i] = sched.Slot{ID: s.ID, Brand: s.Brand, Healthy: !s.Sick, Enabled: !s.Off, LinkGroup: s.Link}
		if s.Taken {
			n.Slots[i].Taken = "another job"
		}
	}
	return n
}

func (s *State) addQuotas(f *Frame) {
	for _, w := range f.Quotas {
		b := s.Quotas[w.ID]
		if b == nil {
			b = &Bound{}
			s.Quotas[w.ID] = b
		}
		b.Whom = w
		b.Quota = sched.Quota{Of: w.Of, Where: "pool " + w.Pool, Kind: w.Kind, Soft: w.Soft, Hard: w.Hard, Elsewhere: sched.Held{All: w.All, Leaving: w.Leaving}}
		if w.Pool == "" {
			b.Where = "all pools"
		}
		if w.Spent {
			b.Spent = w.Of + " has used its slot-hours"
		}
	}
	for _, id := range f.Ended {
		delete(s.Quotas, id)
	}
}

// list returns the quotas with these numbers.
func (s *State) list(ids []int) ([]*sched.Quota, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	key := fmt.Sprint(ids)
	if list, known := s.lists[key]; known {
		return list, nil
	}
	list := make([]*sched.Quota, len(ids))
	for i, id := range ids {
		b := s.Quotas[id]
		if b == nil {
			return nil, fmt.Errorf("pool %s at %s: there is no quota %d", s.Pool.Name, s.At.Format(time.RFC3339Nano), id)
		}
		list[i] = &b.Quota
	}
	s.lists[key] = list
	return list, nil
}

func (s *State) addAttempts(f *Frame) error {
	if len(f.Ended) > 0 {
		clear(s.lists)
	}
	for id, at := range f.Began {
		i, waits := find(s.queued, id, requestID)
		p, was := s.place[id]
		if !waits || !was {
			return fmt.Errorf("pool %s at %s: %s began, and no frame placed it", f.Pool, s.At.Format(time.RFC3339Nano), id)
		}
		x := begun(s.queued[i], places(p.Parts), Time(p.LentUntil))
		x.StartedAt, x.Quotas = Time(at), s.queued[i].Quotas
		put(&s.running, x, runningID)
		drop(&s.queued, id, requestID)
	}
	for i := range f.Queued {
		q, err := s.request(&f.Queued[i])
		if err != nil {
			return err
		}
		put(&s.queued, q, requestID)
		drop(&s.running, q.ID, runningID)
	}
	for i := range f.Running {
		x, err := s.attempt(&f.Running[i])
		if err != nil {
			return err
		}
		put(&s.running, x, runningID)
		drop(&s.queued, x.ID, requestID)
		delete(s.ago, x.ID)
	}
	for _, id := range f.Leaving {
		if i, runs := find(s.running, id, runningID); runs {
			s.running[i].Leaving = true
		}
	}
	for _, id := range f.Left {
		if !drop(&s.running, id, runningID) {
			drop(&s.queued, id, requestID)
		}
		delete(s.ago, id)
	}
	return nil
}

func (s *State) request(w *Request) (q sched.Request, err error) {
	q = sched.Request{ID: w.ID, Group: w.Group, Slots: w.Slots, Priority: w.Priority, QueuedAt: Time(w.QueuedAt), SingleNode: w.SingleNode, EqualParts: w.EqualParts, MixModels: w.MixModels,
		Preemptible: w.Preemptible, OnSpot: w.OnSpot, Exclude: w.Exclude, Avoid: w.Avoid, MaxSlots: w.MaxSlots, Workspace: w.Workspace, User: w.User, Weight: w.Weight,
		Longest: time.Duration(w.Longest)}
	if w.Ask != nil {
		q.Ask = *w.Ask
	}
	if w.Choice != 0 {
		if q.Choice = s.choices[w.Choice]; q.Choice == nil {
			return q, fmt.Errorf("pool %s at %s: there is no choice %d", s.Pool.Name, s.At.Format(time.RFC3339Nano), w.Choice)
		}
	}
	q.Quotas, err = s.list(w.Quotas)
	return q, err
}

func (s *State) attempt(w *Running) (x sched.Running, err error) {
	x = sched.Running{ID: w.ID, Group: w.Group, Priority: w.Priority, StartedAt: Time(w.StartedAt), Preemptible: w.Preemptible, MaxSlots: w.MaxSlots, Leaving: w.Leaving,
		LentUntil: Time(w.LentUntil), Parts: places(w.Parts), Workspace: w.Workspace, User: w.User, Weight: w.Weight}
	x.Quotas, err = s.list(w.Quotas)
	return x, err
}

func places(parts []Part) []sched.Part {
	return each.Of(parts, func(p Part) sched.Part {
		return sched.Part{NodeID: p.Node, SlotIDs: p.Slots, Uses: sched.Amount{MHz: p.MHz, MemoryMB: p.MemoryMB}}
	})
}

// addTimes adds what changes without a decision.
func (s *State) addTimes(f *Frame) {
	set := func(times map[string]int64, to func(x *sched.Running, at int64)) {
		for id, at := range times {
			if i, runs := find(s.running, id, runningID); runs {
				to(s.running[i], at)
			}
		}
	}
	set(f.Saved, func(x *sched.Running, at int64) { delete(s.ago, x.ID); x.Saved = Time(at) })
	set(f.Ago, func(x *sched.Running, ago int64) { s.ago[x.ID] = time.Duration(ago) })
	set(f.Earliest, func(x *sched.Running, at int64) { x.Earliest = Time(at) })
	set(f.Latest, func(x *sched.Running, at int64) { x.Latest = Time(at) })
	for id, ago := range s.ago {
		if i, runs := find(s.running, id, runningID); runs {
			s.running[i].Saved = s.At.Add(-ago)
		}
	}
	if t := f.Served; t != nil {
		for _, m := range []struct {
			to   *map[string]int64
			from map[string]int64
		}{{&s.served.Workspaces, t.Workspaces}, {&s.served.Users, t.Users}, {&s.served.Groups, t.Groups}, {&s.served.Turns, t.Turns}} {
			for key, at := range m.from {
				*m.to = with(*m.to, key, at)
			}
		}
	}
	if h := f.Recent; h != nil {
		for key, used := range h.Workspaces {
			s.recent.Workspaces = with(s.recent.Workspaces, key, used)
		}
		for key, used := range h.Users {
			s.recent.Users = with(s.recent.Users, key, used)
		}
	}
	s.share()
}

// share adds to attempts what their policy knows of the past of those who ask.
func (s *State) share() {
	fair := s.Pool.Scheduler.Type == pool.FairShare
	if !fair && s.Pool.Scheduler.Type != pool.RoundRobin {
		return
	}
	for i := range s.queued {
		q := s.queued[i]
		q.Recent = s.RecentOf(q.Workspace, q.User)
		if q.Served = (sched.Served{Turn: Time(s.served.Turns[q.User])}); fair {
			q.Served = sched.Served{Workspace: Time(s.served.Workspaces[q.Workspace]), User: Time(s.served.Users[Within(q.Workspace, q.User)]), Group: Time(s.served.Groups[q.Group])}
		}
	}
	for i := range s.running {
		s.running[i].Recent = s.RecentOf(s.running[i].Workspace, s.running[i].User)
	}
}

// RecentOf is what a user in a workspace used lately.
func (s *State) RecentOf(workspace, user string) sched.Recent {
	return sched.Recent{Workspace: s.recent.Workspaces[workspace], User: s.recent.Users[Within(workspace, user)]}
}

// Request returns a request that waits; nil if there is none with this id.
func (s *State) Request(id string) *sched.Request {
	if i, waits := find(s.queued, id, requestID); waits {
		return s.queued[i]
	}
	return nil
}

// Attempt returns an attempt that runs; nil if there is none with this id.
func (s *State) Attempt(id string) *sched.Running {
	if i, runs := find(s.running, id, runningID); runs {
		return s.running[i]
	}
	return nil
}

// Node returns a node; nil if there is none with this id.
func (s *State) Node(id string) *sched.Node {
	if i, known := find(s.nodes, id, nodeID); known {
		return s.nodes[i]
	}
	return nil
}

// Recent is what everybody used lately.
func (s *State) Recent() Hours {
	return Hours{maps.Clone(s.recent.Workspaces), maps.Clone(s.recent.Users)}
}
