package sched

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/pool"
)

// Plan says which of the queued requests start and where, which running tasks
// are asked to end (preempted), and why the other requests wait. The same input gives
// the same answer, in any order of its lists.
func Plan(of *pool.Pool, nodes []Node, running []Running, queued []Request, now time.Time) Result {
	p := newPlanner(of, nodes, running, len(queued))
	if of.SingleNode || of.Scheduler.EqualParts {
		queued = slices.Clone(queued)
		for i := range queued {
			queued[i].keepTo(of)
		}
	}
	p.policy = p.policyOf(inOrder(queued), now)
	for r := p.policy.next(); r != nil; r = p.policy.next() {
		p.policy.considered(p.consider(r, now))
	}
	p.considerLate()
	return p.result
}

// keepTo adds what a pool demands of all its requests.
func (r *Request) keepTo(of *pool.Pool) {
	r.SingleNode = r.SingleNode || of.SingleNode
	r.EqualParts = r.EqualParts || of.Scheduler.EqualParts
}

// inOrder lists requests by importance. It compares copies of what decides, which lie side by side in
// memory: of ten thousand requests, most time would go into fetching them.
func inOrder(queued []Request) []*Request {
	type entry struct {
		priority int
		seconds  int64
		nanos    int
		r        *Request
	}
	entries := make([]entry, len(queued))
	for i := range queued {
		r := &queued[i]
		entries[i] = entry{r.Priority, r.QueuedAt.Unix(), r.QueuedAt.Nanosecond(), r}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.priority != b.priority:
			return cmp.Compare(a.priority, b.priority)
		case a.seconds != b.seconds:
			return cmp.Compare(a.seconds, b.seconds)
		case a.nanos != b.nanos:
			return cmp.Compare(a.nanos, b.nanos)
		}
		return strings.Compare(a.r.ID, b.r.ID)
	})
	order := make([]*Request, len(entries))
	for i := range entries {
		order[i] = entries[i].r
	}
	return order
}

func byImportance(a, b *Request) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID))
}

// A planner is one run of Plan.
type planner struct {
	pool    *pool.Pool
	policy  policy
	nodes   []Node // by name
	running []Running
	result  Result

	racks       []string        // of each node; nil if no node has one
	nodeIndex   map[string]int  // node id → index
	added       map[string]bool // by which ids choices rate nodes that could be added
	schedulable int             // nodes
	usable      int             // slots of those nodes that are ours to give
	outOfUse    string          // the other nodes, as the end of a sentence
	blocks      []block
	brands      []string       // of all blocks, ascending
	mixed       []string       // …, and anyBrand
	blocksOf    []span         // of each node
	linked      bool           // some blocks have link groups
	reach       []int          // reach[k] is how many slots k+1 link groups of a block have at most
	holds       [][]hold       // what each running task holds of the blocks
	aux         []int          // tasks of 0 slots on each node
	inGroup     map[string]int // slots held by each group, promises included
	bounds      bounds

	capacity *shelf // blocks by their usable slots
	opens    *shelf // … by block.open
	nows     *shelf // … by block.now
	laters   *shelf // … by block.later

	leaving  []bool   // running tasks that are asked to go, by us now or before
	ahead    *Request // the first request that found no room
	head     *Request // the first one that not even preemption finds room for
	headCuts []cut    // how the head could be placed

	ratings map[*Choice]*rating // made when first needed
	rating  *rating             // the one that was used last
	tallies map[tallyKey]*tally // where what is placed is spread
	tally   *tally              // the one that was used last
	byGroup map[string][]int    // of running, made when first needed
	onBlock [][]int             // the running tasks that hold slots of each block, made when first needed

	shapes map[shape]*found
	last   *found // the one that was used last
	noNode string // of whyNoNode
}

// span is a range of blocks.
type span struct{ from, to int }

// shape is all that decides how nodes could hold a request that excludes none by itself.
type shape struct {
	slots                int
	single, equal, mixed bool
	choice               *Choice
}

// found is what was found out for the requests of one shape, which are often thousands.
type found struct {
	shape
	spread  bool  // fewest is known
	fewest  way   // of planner.fewest
	ways    []way // of planner.ways; nil: not known
	without int   // no room was found when so many blocks had risen on nows; -1: some was
	whyNow  reason
	never   string // of whyNever
}

// A reason is a sentence, and when it is true: after so many moves of blocks on opens, behind the
// same request.
type reason struct {
	text  string
	moves int
	ahead *Request
}

// about returns what is known of requests like this one.
func (p *planner) about(r *Request) *found {
	key := shape{r.Slots, r.SingleNode, r.EqualParts, r.MixModels, r.Choice}
	if p.last != nil && p.last.shape == key {
		return p.last
	}
	f := p.shapes[key]
	if f == nil {
		f = &found{shape: key, without: -1}
		p.shapes[key] = f
	}
	p.last = f
	return f
}

func newPlanner(of *pool.Pool, nodes []Node, running []Running, queued int) *planner {
	p := &planner{
		pool: of, nodes: slices.Clone(nodes), running: slices.Clone(running),
		result:    Result{Waiting: make(map[string]string, queued)},
		nodeIndex: make(map[string]int, len(nodes)),
		blocksOf:  make([]span, len(nodes)),
		holds:     make([][]hold, len(running)),
		aux:       make([]int, len(nodes)),
		inGroup:   map[string]int{},
		leaving:   make([]bool, len(running)),
		ratings:   map[*Choice]*rating{},
		tallies:   map[tallyKey]*tally{},
		shapes:    map[shape]*found{},
	}
	slices.SortFunc(p.nodes, byName)
	slices.SortFunc(p.running, func(a, b Running) int { return cmp.Compare(a.ID, b.ID) })
	p.index()
	p.findRacks()
	p.makeBlocks()
	p.mixed = append(slices.Clone(p.brands), anyBrand)
	p.occupy()
	p.describeOutOfUse()
	for i := range p.running {
		for _, part := range p.running[i].Parts {
			p.inGroup[p.running[i].Group] += len(part.SlotIDs)
		}
		p.leaving[i] = p.running[i].Leaving
	}
	p.countHeld()
	p.capacity = newShelf(p.blocks, func(b *block) int { return len(b.slots) })
	p.opens = newShelf(p.blocks, (*block).open)
	p.nows = newShelf(p.blocks, (*block).now)
	p.laters = newShelf(p.blocks, (*block).later)
	p.shrink()
	return p
}

func (p *planner) index() {
	for i := range p.nodes {
		p.nodeIndex[p.nodes[i].ID] = i
		if like := p.nodes[i].like; like != "" {
			if p.added == nil {
				p.added = map[string]bool{}
			}
			p.added[like] = true
		}
	}
}

// consider places one request or says why it waits.
func (p *planner) consider(r *Request, now time.Time) outcome {
	if now.Before(r.NotBefore) {
		p.wait(r, p.whyPaused(r))
		return aside
	}
	if r.Slots <= 0 {
		p.considerAux(p.avoid(r))
		return aside
	}
	r = p.avoid(r)
	if p.overMax(r) {
		p.wait(r, p.whyQuota(r))
		return aside
	}
	if p.fewest(r).nodes == 0 {
		p.wait(r, p.whyNever(r))
		return aside
	}
	if why := p.overHard(r); why != "" {
		p.wait(r, why)
		return aside
	}
	if p.overSoft(r) != nil {
		p.bounds.late = append(p.bounds.late, r)
		return aside
	}
	if picks := p.room(r); picks != nil {
		p.place(r, picks)
		return served
	}
	if p.head != nil {
		p.wait(r, p.policy.why(r, p.whyNow(r)))
		return waits
	}
	picks := p.find(p.laters, r)
	if picks == nil {
		picks = p.reclaim(r, now)
	}
	if picks == nil {
		picks = p.policy.makeWay(r)
	}
	result := served
	if picks != nil {
		p.promise(r, picks)
	} else {
		p.wait(r, p.policy.why(r, p.whyNow(r)))
		p.protect(r)
		result = waits
	}
	if p.ahead == nil {
		p.ahead = r
	}
	return result
}

// overMax reports whether a request would bring its group over the slots that the group may hold.
func (p *planner) overMax(r *Request) bool {
	return r.MaxSlots != nil && p.inGroup[r.Group]+r.Slots > *r.MaxSlots
}

// room finds what may be given at once. What found none finds none while no block has more to give.
func (p *planner) room(r *Request) []hold {
	if len(r.Exclude) > 0 {
		return p.find(p.nows, r)
	}
	about := p.about(r)
	if about.without == p.nows.rises {
		return nil
	}
	picks := p.find(p.nows, r)
	about.without = -1
	if picks == nil {
		about.without = p.nows.rises
	}
	return picks
}

func (p *planner) wait(r *Request, why string) { p.result.Waiting[r.ID] = why }

func (p *planner) place(r *Request, picks []hold) {
	placement := Placement{ID: r.ID, Parts: make([]Part, len(picks))}
	for i, h := range picks {
		b := &p.blocks[h.block]
		placement.Parts[i] = Part{NodeID: p.nodes[b.node].ID, SlotIDs: b.take(h.n)}
		if p.head != nil {
			b.spare = p.spareOf(h.block)
		}
		p.changed(h.block)
	}
	p.inGroup[r.Group] += r.Slots
	p.addHeld(r.Quotas, r.Slots, 0)
	p.placed(r, placement)
}

// promise keeps slots for a request until those who hold them have left.
func (p *planner) promise(r *Request, picks []hold) {
	p.wait(r, p.whyPromised(r, picks))
	for _, h := range picks {
		b := &p.blocks[h.block]
		b.promised += h.n
		b.tasks = append(b.tasks, h.n)
		p.changed(h.block)
	}
	p.inGroup[r.Group] += r.Slots
	p.addHeld(r.Quotas, r.Slots, 0)
}

// changed puts a block where it belongs on every shelf.
func (p *planner) changed(i int) {
	b := &p.blocks[i]
	p.opens.move(i, b.open())
	p.nows.move(i, b.now())
	p.laters.move(i, b.later())
}

// nameOf is how a sentence names what a task belongs to.
func nameOf(group, id string) string {
	if group == "" {
		group = id
	} else if uuid.Validate(group) != nil { // experiment 12
		return group
	}
	return "task " + group
}
