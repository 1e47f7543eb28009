package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// Kueue returns Kueue's rules: each workspace is a ClusterQueue with an equal nominal quota, all of one
// cohort, with the settings BestEffortFIFO, reclaimWithinCohort Any and withinClusterQueue LowerPriority.
// A queue may borrow what others leave unused. A request that does not fit has jobs preempted: of its own
// queue those of lower priority; of queues that borrow any job, until the request fits without
// borrowing; with fair sharing also while its queue borrows, as long as the shares of what is
// borrowed become more equal (LessThanOrEqualToFinalShare, then LessThanInitialShare).
//
// Kueue leaves the choice of nodes to Kubernetes, unless it is told the topology. Here it is told: a job
// is admitted only if nodes have room for it, as few as possible.
func Kueue(fair bool) Planner {
	return func(_ *pool.Pool, nodes []sched.Node, running []sched.Running, queued []sched.Request, now time.Time) sched.Result {
		k := &kueue{board: newBoard(nodes, running, false), fair: fair, queues: map[string]*clusterQueue{}, later: make([]int, len(nodes))}
		for i := range nodes {
			k.quota += len(nodes[i].Slots)
		}
		copy(k.later, k.free)
		k.admitted(running)
		order := byArrival(queued)
		slices.SortStableFunc(order, func(a, b *sched.Request) int { return cmp.Compare(a.Priority, b.Priority) })
		for _, q := range order {
			queue := k.queue(q.Workspace)
			queue.pending = append(queue.pending, q)
		}
		for k.cycle() {
		}
		return k.result
	}
}

type kueue struct {
	*board
	fair   bool
	quota  int   // slots of the cohort
	used   int   // of them, by jobs that are leaving too
	stays  int   // …, without those that are leaving, with what is kept for requests
	later  []int // slots of each node that are free when the jobs that were asked to leave have left, without what is kept
	queues map[string]*clusterQueue
	names  []string // of queues, ascending
	result sched.Result
}

// A clusterQueue is a ClusterQueue of Kueue: the jobs of a workspace.
type clusterQueue struct {
	pending  []*sched.Request
	admitted []*victim    // the one that leaves first is first
	usage    int          // slots, without those of jobs that are leaving, with what is kept for requests
	failed   map[ask]bool // what did not fit in this plan
}

type ask struct{ slots, priority int }

type victim struct {
	*sched.Running
	slots int
	gone  bool
	of    *clusterQueue
}

func (k *kueue) queue(name string) *clusterQueue {
	q := k.queues[name]
	if q == nil {
		q = &clusterQueue{failed: map[ask]bool{}}
		k.queues[name] = q
		i, _ := slices.BinarySearch(k.names, name)
		k.names = slices.Insert(k.names, i, name)
	}
	return q
}

// nominal is the quota of each queue.
func (k *kueue) nominal() int { return k.quota / workspaces }

func (k *kueue) admitted(running []sched.Running) {
	for i := range running {
		x := &victim{Running: &running[i], of: k.queue(running[i].Workspace)}
		for _, p := range x.Parts {
			x.slots += len(p.SlotIDs)
		}
		k.used += x.slots
		if x.Leaving {
			k.shift(x, 1)
			continue
		}
		k.stays += x.slots
		x.of.usage += x.slots
		x.of.admitted = append(x.of.admitted, x)
	}
	for _, q := range k.queues {
		slices.SortFunc(q.admitted, func(a, b *victim) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
		})
	}
}

// shift counts the slots of a job as free soon, or with -1 takes them back.
func (k *kueue) shift(x *victim, times int) {
	for _, p := range x.Parts {
		k.later[k.index[p.NodeID]] += times * len(p.SlotIDs)
	}
}

// share is how much a queue borrows if it uses this many slots.
func (k *kueue) share(usage int) int { return max(0, usage-k.nominal()) }

// cycle considers the first request of each queue, and reports whether there was any. With fair sharing the queue
// whose share would be smallest is first; else requests that need not borrow are, then the more important and older
// ones.
func (k *kueue) cycle() bool {
	type head struct {
		*sched.Request
		of *clusterQueue
	}
	var heads []head
	for _, name := range k.names {
		if q := k.queues[name]; len(q.pending) > 0 {
			heads = append(heads, head{q.pending[0], q})
			q.pending = q.pending[1:]
		}
	}
	slices.SortStableFunc(heads, func(a, b head) int {
		x, y := k.share(a.of.usage+a.Slots), k.share(b.of.usage+b.Slots)
		if !k.fair {
			x, y = min(x, 1), min(y, 1)
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.Priority, b.Priority), earlier(a.Request, b.Request))
	})
	for _, h := range heads {
		k.consider(h.Request, h.of)
	}
	return len(heads) > 0
}

// consider admits a request, or keeps for it the slots of jobs that are leaving, or asks more jobs to leave.
func (k *kueue) consider(r *sched.Request, q *clusterQueue) {
	key := ask{r.Slots, r.Priority}
	if q.failed[key] {
		return
	}
	if k.used+r.Slots <= k.quota {
		if on := k.fullest(r.Slots, func(i int) int { return min(k.free[i], k.later[i]) }); on != nil {
			k.used += r.Slots
			k.keep(r, q, on)
			k.result.Place = append(k.result.Place, sched.Placement{ID: r.ID, Parts: k.give(r.Slots, on)})
			return
		}
	}
	if on := k.fits(r); on != nil {
		k.keep(r, q, on)
		return
	}
	if k.makeWay(r, q) {
		k.keep(r, q, k.fits(r))
		return
	}
	q.failed[key] = true
}

// fits chooses nodes that have room when all jobs that were asked to leave have left.
func (k *kueue) fits(r *sched.Request) []int {
	if k.stays+r.Slots > k.quota {
		return nil
	}
	return k.fullest(r.Slots, func(i int) int { return k.later[i] })
}

// keep counts slots as used.
func (k *kueue) keep(r *sched.Request, q *clusterQueue, on []int) {
	for j, i := range on {
		k.later[i] -= (r.Slots + len(on) - 1 - j) / len(on)
	}
	k.stays += r.Slots
	q.usage += r.Slots
}

// A search looks for jobs that leave for a request.
type search struct {
	*kueue
	r       *sched.Request
	q       *clusterQueue
	need    int // nodes
	part    int // slots on each of them
	enough  int // nodes that have so many
	targets []*victim
}

// makeWay preempts jobs until a request fits, and none without which it fits too.
func (k *kueue) makeWay(r *sched.Request, q *clusterQueue) bool {
	s := &search{kueue: k, r: r, q: q}
	s.need, s.part = k.nodesFor(r.Slots)
	for _, n := range k.later {
		if n >= s.part {
			s.enough++
		}
	}
	var found bool
	if k.fair {
		found = s.fairly(func(without *victim) bool { return k.share(q.usage+r.Slots) <= k.share(without.of.usage-without.slots) }) ||
			s.fairly(func(without *victim) bool { return k.share(q.usage+r.Slots) < k.share(without.of.usage) })
	} else {
		found = s.classic(true) || s.classic(false)
	}
	if !found {
		for _, x := range s.targets {
			s.stay(x)
		}
		return false
	}
	for _, x := range slices.Backward(slices.Clone(s.targets)) {
		s.stay(x)
		if !s.done() {
			s.leave(x)
		}
	}
	for _, x := range s.targets {
		k.result.Preempt = append(k.result.Preempt, sched.Preemption{ID: x.ID, For: r.ID})
	}
	for _, other := range k.queues {
		other.admitted = slices.DeleteFunc(other.admitted, func(x *victim) bool { return x.gone })
	}
	return true
}

// done reports whether the request fits.
func (s *search) done() bool { return s.enough >= s.need && s.stays+s.r.Slots <= s.quota }

func (s *search) leave(x *victim) {
	s.targets = append(s.targets, x)
	s.count(x, 1)
}

func (s *search) stay(x *victim) {
	s.targets = slices.DeleteFunc(s.targets, func(y *victim) bool { return x == y })
	s.count(x, -1)
}

func (s *search) count(x *victim, times int) {
	x.gone = times > 0
	x.of.usage -= times * x.slots
	s.stays -= times * x.slots
	for _, p := range x.Parts {
		i := s.index[p.NodeID]
		before := s.later[i] >= s.part
		s.later[i] += times * len(p.SlotIDs)
		switch after := s.later[i] >= s.part; {
		case after && !before:
			s.enough++
		case before && !after:
			s.enough--
		}
	}
}

// mayLeave reports whether a job of the request's own queue may leave for it, or one of a queue that borrows.
func (s *search) mayLeave(x *victim) bool {
	if x.of == s.q {
		return x.Priority > s.r.Priority
	}
	return s.share(x.of.usage) > 0
}

// classic asks jobs of other queues too, if the request does not borrow then; else jobs of its own queue only.
func (s *search) classic(others bool) bool {
	if others && s.share(s.q.usage+s.r.Slots) > 0 {
		return false
	}
	for _, x := range slices.Clone(s.targets) {
		s.stay(x)
	}
	var candidates []*victim
	for _, name := range s.names {
		if q := s.queues[name]; q == s.q || others {
			candidates = append(candidates, q.admitted...)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *victim) int {
		own := func(x *victim) int {
			if x.of == s.q {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(b.Priority, a.Priority), b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, x := range candidates {
		if s.mayLeave(x) {
			if s.leave(x); s.done() {
				return true
			}
		}
	}
	return false
}

// fairly asks jobs of the queue with the largest share, again and again, that the strategy allows.
func (s *search) fairly(strategy func(x *victim) bool) bool {
	done := map[*clusterQueue]bool{}
	for !s.done() {
		var from *clusterQueue
		for _, name := range s.names {
			q := s.queues[name]
			if !done[q] && (from == nil || s.share(q.usage) > s.share(from.usage)) {
				from = q
			}
		}
		if from == nil {
			return false
		}
		i := slices.IndexFunc(from.admitted, func(x *victim) bool { return !x.gone && s.mayLeave(x) && (x.of == s.q || strategy(x)) })
		if i < 0 {
			done[from] = true
			continue
		}
		s.leave(from.admitted[i])
	}
	return true
}
