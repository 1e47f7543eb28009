package record

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// An Input is what a plan was asked, and what it decided.
type Input struct {
	Pool     *pool.Pool
	At       time.Time
	Planned  bool // false: nothing waited, and the nodes are not known
	Nodes    []sched.Node
	Running  []sched.Running
	Queued   []sched.Request
	Reserved sched.Reserved
	Quotas   map[*sched.Quota]Quota // whom each bounds; numbers and bounds are added here
	Result   sched.Result
}

// Bounds of a recorder.
const (
	maxFrame   = 32 << 20       // bytes of one frame: a larger one becomes a gap
	leastWhole = 1 << 20        // bytes of changes after which there is a whole frame, at least
	wholeAfter = 24 * time.Hour // there is one after this time in any case
	gapPause   = 10 * time.Minute
)

// A Recorder makes the frames of one pool during one term of a leader.
type Recorder struct {
	settings *Settings
	queued   map[string]sched.Request
	running  map[string]*held
	nodes    map[string]Node
	quotas   map[int]Quota
	reserved []sched.Reservation
	choices  numbers
	placed   map[string]sched.Running // what the requests of the last plan become
	served   Times
	recent   Hours

	wholeAt      time.Time // of the last whole frame; zero: there was none, and the next frame is one
	whole, since int       // bytes of the last whole frame, and of those after it
	gap          time.Time // until then nothing is recorded
}

// held is a running attempt as it was recorded.
type held struct {
	sched.Running
	moves bool          // Saved moves with the time of the plans: …
	ago   time.Duration // … it is so long before each
}

// Note returns the frame of an input, as JSON; nil if nothing has changed and nothing was decided.
func (r *Recorder) Note(in Input) (frame []byte, whole bool, err error) {
	if in.At.Before(r.gap) {
		return nil, false, nil
	}
	if r.wholeAt.IsZero() || in.Planned && (r.since > max(leastWhole, 2*r.whole) || in.At.Sub(r.wholeAt) > wholeAfter) {
		*r = Recorder{settings: Of(in.Pool), queued: map[string]sched.Request{}, running: map[string]*held{}, nodes: map[string]Node{}, quotas: map[int]Quota{},
			placed: map[string]sched.Running{}}
		whole = true
	}
	f := r.frame(&in, whole)
	if f == nil {
		return nil, false, nil
	}
	if r.choices.rated > maxRated {
		return r.stop(&in, fmt.Sprintf("the constraints of jobs rate nodes %d times, and at most %d are compared", r.choices.rated, maxRated))
	}
	if frame, err = json.Marshal(f); err != nil {
		return nil, false, fmt.Errorf("frame of pool %s: %w", in.Pool.Name, err)
	}
	if len(frame) > maxFrame {
		return r.stop(&in, fmt.Sprintf("the input of a plan needs %d MiB, and at most %d are recorded", len(frame)>>20, maxFrame>>20))
	}
	if r.since += len(frame); whole {
		r.wholeAt, r.whole, r.since = in.At, len(frame), 0
	}
	return frame, whole, nil
}

// stop records nothing for a while, and the reason.
func (r *Recorder) stop(in *Input, why string) ([]byte, bool, error) {
	*r = Recorder{gap: in.At.Add(gapPause)}
	frame, err := json.Marshal(Frame{Pool: in.Pool.Name, At: nano(in.At), Gap: why})
	return frame, false, err
}

// Forget makes the next frame a whole one: what was recorded since the last one was lost.
func (r *Recorder) Forget() { *r = Recorder{} }

func (r *Recorder) frame(in *Input, whole bool) *Frame {
	f := &Frame{Pool: in.Pool.Name, At: nano(in.At), Whole: whole, Planned: in.Planned}
	if whole {
		f.Settings = r.settings
	}
	ids := r.noteQuotas(f, in)
	r.choices.begin()
	r.noteQueued(f, in, ids)
	r.noteRunning(f, in, ids)
	r.noteLeft(f, in)
	r.noteNodes(f, in)
	if !slices.EqualFunc(in.Reserved, r.reserved, sameReservation) {
		r.reserved = slices.Clone(in.Reserved)
		f.Reserved = &r.reserved
	}
	decided := len(in.Result.Place)+len(in.Result.Preempt) > 0
	if !whole && !decided && len(f.Queued)+len(f.Running)+len(f.Began)+len(f.Leaving)+len(f.Left)+len(f.Nodes)+len(f.Gone)+len(f.Ended) == 0 && f.Reserved == nil &&
		!slices.ContainsFunc(f.Quotas, func(q Quota) bool { return r.quotas[q.ID].unlike(q) }) {
		return nil
	}
	for _, q := range f.Quotas {
		r.quotas[q.ID] = q
	}
	r.noteEnds(f, in)
	r.noteShares(f, in)
	r.noteResult(f, in)
	return f
}

// unlike reports whether quotas differ by more than what is held elsewhere, which changes all the time.
func (q Quota) unlike(o Quota) bool {
	q.All, q.Leaving = o.All, o.Leaving
	return !reflect.DeepEqual(q, o)
}

// noteQuotas adds the quotas that have changed, and returns the number of each.
func (r *Recorder) noteQuotas(f *Frame, in *Input) quotaIDs {
	ids := quotaIDs{of: in.Quotas, lists: map[**sched.Quota][]int{}}
	there := map[int]bool{}
	for q, of := range in.Quotas {
		of.Of, of.Kind, of.Soft, of.Hard, of.Spent, of.All, of.Leaving = q.Of, q.Kind, copyOf(q.Soft), copyOf(q.Hard), q.Spent != "", q.Elsewhere.All, q.Elsewhere.Leaving
		there[of.ID] = true
		if last, known := r.quotas[of.ID]; !known || !reflect.DeepEqual(last, of) {
			f.Quotas = append(f.Quotas, of)
		}
	}
	slices.SortFunc(f.Quotas, func(a, b Quota) int { return a.ID - b.ID })
	for id := range r.quotas {
		if !there[id] {
			f.Ended = append(f.Ended, id)
			delete(r.quotas, id)
		}
	}
	slices.Sort(f.Ended)
	return ids
}

func copyOf(n *int) *int {
	if n == nil {
		return nil
	}
	return new(*n)
}

// quotaIDs are the numbers of quotas. Requests of one sharer have the same list.
type quotaIDs struct {
	of    map[*sched.Quota]Quota
	lists map[**sched.Quota][]int
}

func (q quotaIDs) list(of []*sched.Quota) []int {
	if len(of) == 0 {
		return nil
	}
	ids, known := q.lists[&of[0]]
	if !known {
		ids = each.Of(of, func(x *sched.Quota) int { return q.of[x].ID })
		q.lists[&of[0]] = ids
	}
	return ids
}

func (r *Recorder) noteQueued(f *Frame, in *Input, ids quotaIDs) {
	for i := range in.Queued {
		q := &in.Queued[i]
		last, known := r.queued[q.ID]
		if known && r.sameRequest(&last, q, ids) {
			continue
		}
		kept := *q
		kept.Quotas, kept.Because = nil, nil
		kept.Choice = nil
		r.queued[q.ID] = kept
		r.choices.used[q.ID] = r.choices.number(f, q.Choice)
		r.choices.lists[q.ID] = ids.list(q.Quotas)
		delete(r.running, q.ID)
		f.Queued = append(f.Queued, requestOf(q, r.choices.used[q.ID], ids.list(q.Quotas)))
	}
}

// sameRequest reports whether a request is as it was recorded.
func (r *Recorder) sameRequest(a, b *sched.Request, ids quotaIDs) bool {
	return a.Group == b.Group && a.Slots == b.Slots && a.Ask == b.Ask && a.Priority == b.Priority && a.QueuedAt.Equal(b.QueuedAt) &&
		a.SingleNode == b.SingleNode && a.EqualParts == b.EqualParts && a.MixModels == b.MixModels && a.Preemptible == b.Preemptible && a.OnSpot == b.OnSpot &&
		a.Workspace == b.Workspace && a.User == b.User && a.Weight == b.Weight && a.Longest == b.Longest && sameInt(a.MaxSlots, b.MaxSlots) &&
		slices.Equal(a.Exclude, b.Exclude) && slices.Equal(a.Avoid, b.Avoid) && slices.Equal(r.choices.lists[b.ID], ids.list(b.Quotas)) && r.choices.is(b.Choice, r.choices.used[b.ID])
}

func sameInt(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

func requestOf(q *sched.Request, choice int, quotas []int) Request {
	w := Request{ID: q.ID, Group: q.Group, Slots: q.Slots, Priority: q.Priority, QueuedAt: nano(q.QueuedAt), SingleNode: q.SingleNode, EqualParts: q.EqualParts, MixModels: q.MixModels,
		Preemptible: q.Preemptible, OnSpot: q.OnSpot, Exclude: q.Exclude, Avoid: q.Avoid, Choice: choice, MaxSlots: q.MaxSlots, Workspace: q.Workspace, User: q.User,
		Weight: q.Weight, Quotas: quotas, Longest: int64(q.Longest)}
	if q.Ask != (sched.Ask{}) {
		w.Ask = &q.Ask
	}
	return w
}

func (r *Recorder) noteRunning(f *Frame, in *Input, ids quotaIDs) {
	for i := range in.Running {
		x := &in.Running[i]
		last := r.running[x.ID]
		if last != nil && r.sameRunning(&last.Running, x, ids) {
			continue
		}
		before, began := r.placed[x.ID]
		began = began && last == nil && before.Leaving == x.Leaving
		if before.StartedAt = x.StartedAt; began {
			began = r.sameRunning(&before, x, ids)
		}
		left := false
		if last != nil {
			y := last.Running
			y.Leaving = true
			left = x.Leaving && r.sameRunning(&y, x, ids)
		}
		switch {
		case began:
			f.Began = with(f.Began, x.ID, nano(x.StartedAt))
		case left:
			f.Leaving = append(f.Leaving, x.ID)
		default:
			f.Running = append(f.Running, runningOf(x, ids.list(x.Quotas)))
		}
		kept := *x
		kept.Quotas, kept.Recent = nil, sched.Recent{}
		kept.Saved, kept.Earliest, kept.Latest = time.Time{}, time.Time{}, time.Time{} // see noteEnds
		now := &held{Running: kept}
		if left {
			now.Saved, now.Earliest, now.Latest, now.moves, now.ago = last.Saved, last.Earliest, last.Latest, last.moves, last.ago
		}
		r.running[x.ID] = now
		r.choices.lists[x.ID] = ids.list(x.Quotas)
		delete(r.queued, x.ID)
	}
}

// with adds to a map that may be nil.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

func (r *Recorder) sameRunning(a, b *sched.Running, ids quotaIDs) bool {
	return a.Group == b.Group && a.Priority == b.Priority && a.StartedAt.Equal(b.StartedAt) && a.Preemptible == b.Preemptible && a.Leaving == b.Leaving &&
		a.LentUntil.Equal(b.LentUntil) && a.Workspace == b.Workspace && a.User == b.User && a.Weight == b.Weight && sameInt(a.MaxSlots, b.MaxSlots) &&
		slices.Equal(r.choices.lists[b.ID], ids.list(b.Quotas)) && slices.EqualFunc(a.Parts, b.Parts, samePart)
}

func samePart(a, b sched.Part) bool {
	return a.NodeID == b.NodeID && a.Uses == b.Uses && slices.Equal(a.SlotIDs, b.SlotIDs)
}

func runningOf(x *sched.Running, quotas []int) Running {
	return Running{ID: x.ID, Group: x.Group, Priority: x.Priority, StartedAt: nano(x.StartedAt), Preemptible: x.Preemptible, MaxSlots: x.MaxSlots, Leaving: x.Leaving,
		LentUntil: nano(x.LentUntil), Parts: PartsOf(x.Parts), Workspace: x.Workspace, User: x.User, Weight: x.Weight, Quotas: quotas}
}

// PartsOf are parts as frames have them.
func PartsOf(parts []sched.Part) []Part {
	return each.Of(parts, func(p sched.Part) Part {
		return Part{Node: p.NodeID, Slots: p.SlotIDs, MHz: p.Uses.MHz, MemoryMB: p.Uses.MemoryMB}
	})
}

// noteLeft adds the attempts that neither wait nor run any more.
func (r *Recorder) noteLeft(f *Frame, in *Input) {
	if len(r.queued) == len(in.Queued) && len(r.running) == len(in.Running) {
		return
	}
	here := make(map[string]bool, len(in.Queued)+len(in.Running))
	for i := range in.Queued {
		here[in.Queued[i].ID] = true
	}
	for i := range in.Running {
		here[in.Running[i].ID] = true
	}
	for id := range r.queued {
		if !here[id] {
			f.Left = append(f.Left, id)
			delete(r.queued, id)
		}
	}
	for id := range r.running {
		if !here[id] {
			f.Left = append(f.Left, id)
			delete(r.running, id)
		}
	}
	for _, id := range f.Left {
		delete(r.choices.used, id)
		delete(r.choices.lists, id)
	}
	slices.Sort(f.Left)
}

func (r *Recorder) noteNodes(f *Frame, in *Input) {
	if !in.Planned {
		return
	}
	here := make(map[string]bool, len(in.Nodes))
	for i := range in.Nodes {
		n := &in.Nodes[i]
		here[n.ID] = true
		last, known := r.nodes[n.ID]
		if known && last.is(n) {
			continue
		}
		now := nodeOf(n)
		r.nodes[n.ID] = now
		f.Nodes = append(f.Nodes, now)
	}
	for id := range r.nodes {
		if !here[id] {
			f.Gone = append(f.Gone, id)
			delete(r.nodes, id)
		}
	}
	slices.Sort(f.Gone)
}

func (w *Node) is(n *sched.Node) bool {
	if w.Name != n.Name || w.Out == n.Schedulable || w.Spot != n.Spot || w.Rack != n.Rack || len(w.Slots) != len(n.Slots) ||
		(w.Supply == nil) != (n.Supply == nil) || w.Supply != nil && *w.Supply != *n.Supply {
		return false
	}
	for i := range n.Slots {
		if w.Slots[i] != slotOf(&n.Slots[i]) {
			return false
		}
	}
	return true
}

func slotOf(s *sched.Slot) Slot {
	return Slot{ID: s.ID, Brand: s.Brand, Sick: !s.Healthy, Off: !s.Enabled, Taken: s.Taken != "", Link: s.LinkGroup}
}

func nodeOf(n *sched.Node) Node {
	w := Node{ID: n.ID, Name: n.Name, Out: !n.Schedulable, Spot: n.Spot, Rack: n.Rack, Slots: make([]Slot, len(n.Slots))}
	if n.Supply != nil {
		w.Supply = new(*n.Supply)
	}
	for i := range n.Slots {
		w.Slots[i] = slotOf(&n.Slots[i])
	}
	return w
}

func sameReservation(a, b sched.Reservation) bool {
	return a.ID == b.ID && a.Workspace == b.Workspace && a.User == b.User && a.Slots == b.Slots && slices.Equal(a.Nodes, b.Nodes) && a.From.Equal(b.From) && a.Until.Equal(b.Until)
}

// noteEnds adds when running attempts last saved and when they are expected to end. Expected ends change with each report of a program, so they
// are recorded only if a plan can look at them: the earliest ones for requests that know how long they run, the latest ones for reservations.
func (r *Recorder) noteEnds(f *Frame, in *Input) {
	borrows := slices.ContainsFunc(in.Queued, func(q sched.Request) bool { return q.Longest > 0 })
	for i := range in.Running {
		x, last := &in.Running[i], r.running[in.Running[i].ID]
		if last == nil {
			continue
		}
		ago := in.At.Sub(x.Saved)
		switch {
		case last.moves && !x.Saved.IsZero() && ago == last.ago, !last.moves && x.Saved.Equal(last.Saved):
		case !last.moves && !last.Saved.IsZero() && x.Saved.After(last.Saved) && ago >= 0 && ago < time.Hour: // most likely it saves when it is asked to leave
			last.moves, last.ago = true, ago
			f.Ago = with(f.Ago, x.ID, int64(ago))
		default:
			last.moves, last.Saved = false, x.Saved
			f.Saved = with(f.Saved, x.ID, nano(x.Saved))
		}
		if borrows && !x.Earliest.Equal(last.Earliest) {
			last.Earliest = x.Earliest
			f.Earliest = with(f.Earliest, x.ID, nano(x.Earliest))
		}
		if len(in.Reserved) > 0 && !x.Latest.Equal(last.Latest) {
			last.Latest = x.Latest
			f.Latest = with(f.Latest, x.ID, nano(x.Latest))
		}
	}
}

// noteShares adds what the policy knows of the past of those who ask. Who holds slots last held them now, whatever the past; but plans of reservations
// look at some of the running attempts only.
func (r *Recorder) noteShares(f *Frame, in *Input) {
	fair := in.Pool.Scheduler.Type == pool.FairShare
	if !fair && in.Pool.Scheduler.Type != pool.RoundRobin {
		return
	}
	holds := map[string]bool{}
	var next Times
	var hours Hours
	recent := func(workspace, user string, of sched.Recent) {
		if fair && in.Pool.Scheduler.HalfLife > 0 {
			hours.Workspaces, hours.Users = with(hours.Workspaces, workspace, of.Workspace), with(hours.Users, Within(workspace, user), of.User)
		}
	}
	for i := range in.Running {
		x := &in.Running[i]
		recent(x.Workspace, x.User, x.Recent)
		if len(in.Reserved) == 0 && slices.ContainsFunc(x.Parts, func(p sched.Part) bool { return len(p.SlotIDs) > 0 }) {
			user := Within(x.Workspace, x.User)
			holds["w"+x.Workspace], holds["u"+user], holds["g"+Within(user, x.Group)] = true, true, true
		}
	}
	for i := range in.Queued {
		q := &in.Queued[i]
		recent(q.Workspace, q.User, q.Recent)
		if !fair {
			next.Turns = with(next.Turns, q.User, nano(q.Served.Turn))
			continue
		}
		user := Within(q.Workspace, q.User)
		if !holds["w"+q.Workspace] {
			next.Workspaces = with(next.Workspaces, q.Workspace, nano(q.Served.Workspace))
		}
		if !holds["u"+user] {
			next.Users = with(next.Users, user, nano(q.Served.User))
		}
		if !holds["g"+Within(user, q.Group)] {
			next.Groups = with(next.Groups, q.Group, nano(q.Served.Group))
		}
	}
	times := Times{changed(r.served.Workspaces, next.Workspaces), changed(r.served.Users, next.Users), changed(r.served.Groups, next.Groups), changed(r.served.Turns, next.Turns)}
	if len(times.Workspaces)+len(times.Users)+len(times.Groups)+len(times.Turns) > 0 {
		f.Served = &times
	}
	used := Hours{changed(r.recent.Workspaces, hours.Workspaces), changed(r.recent.Users, hours.Users)}
	if len(used.Workspaces)+len(used.Users) > 0 {
		f.Recent = &used
	}
	r.served, r.recent = next, hours
}

// changed returns the entries that are not as they were.
func changed[V comparable](last, now map[string]V) (out map[string]V) {
	for key, v := range now {
		if old, known := last[key]; !known || old != v {
			out = with(out, key, v)
		}
	}
	return out
}

func (r *Recorder) noteResult(f *Frame, in *Input) {
	clear(r.placed)
	for _, p := range in.Result.Place {
		f.Place = append(f.Place, Placement{ID: p.ID, Parts: PartsOf(p.Parts), LentUntil: nano(p.LentUntil)})
		if q, known := r.queued[p.ID]; known {
			r.placed[p.ID] = begun(&q, p.Parts, p.LentUntil)
		}
	}
	for _, p := range in.Result.Preempt {
		f.Preempt = append(f.Preempt, Preemption{ID: p.ID, For: p.For})
	}
}

// begun is what a request becomes when it has begun where a plan placed it, without the time of its start.
func begun(q *sched.Request, parts []sched.Part, lent time.Time) sched.Running {
	return sched.Running{ID: q.ID, Group: q.Group, Priority: q.Priority, Preemptible: q.Preemptible, MaxSlots: q.MaxSlots, LentUntil: lent, Parts: parts,
		Workspace: q.Workspace, User: q.User, Weight: q.Weight}
}

// maxRated is how many ratings of nodes by choices one frame compares.
const maxRated = 500_000

// numbers numbers choices, which many requests share. Choices with the same ratings have one number, also when they were rated anew.
type numbers struct {
	last  int
	byPtr map[*sched.Choice]int
	bySum map[sum]int
	used  map[string]int   // by request
	lists map[string][]int // the quotas of each attempt
	seeds [2]maphash.Seed
	rated int
}

// A sum tells choices apart: they have the same only if they rate all nodes in the same way.
type sum [2]uint64

// begin forgets choices that no request has any more, when they are the majority.
func (n *numbers) begin() {
	if n.rated = 0; n.used == nil {
		*n = numbers{used: map[string]int{}, lists: map[string][]int{}, byPtr: map[*sched.Choice]int{}, bySum: map[sum]int{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	}
	const few = 100
	if len(n.byPtr) > few+2*len(n.used) {
		clear(n.byPtr)
	}
	if len(n.bySum) > few+2*len(n.used) {
		live := map[int]bool{}
		for id := range maps.Values(n.used) {
			live[id] = true
		}
		maps.DeleteFunc(n.bySum, func(_ sum, id int) bool { return !live[id] })
	}
}

// is reports whether a choice has this number.
func (n *numbers) is(c *sched.Choice, number int) bool {
	if c == nil {
		return number == 0
	}
	id, known := n.byPtr[c]
	if !known {
		if id, known = n.bySum[n.sumOf(c)]; known {
			n.byPtr[c] = id
		}
	}
	return known && id == number
}

// number returns the number of a choice, and adds the choice to the frame if it is new.
func (n *numbers) number(f *Frame, c *sched.Choice) int {
	if c == nil {
		return 0
	}
	if id, known := n.byPtr[c]; known {
		return id
	}
	of := n.sumOf(c)
	id, known := n.bySum[of]
	if !known {
		n.last++
		id = n.last
		n.bySum[of] = id
		if f.Choices == nil {
			f.Choices = map[int]Choice{}
		}
		f.Choices[id] = Choice{Unfit: slices.Sorted(maps.Keys(c.Unfit)), Models: c.Models, Prefer: c.Prefer, Spread: c.Spread}
	}
	n.byPtr[c] = id
	return id
}

// sumOf adds up a sum of each rating, in any order.
func (n *numbers) sumOf(c *sched.Choice) (s sum) {
	add := func(kind string, parts ...string) {
		text := kind + strings.Join(parts, "\x00")
		s[0], s[1], n.rated = s[0]+maphash.String(n.seeds[0], text), s[1]+maphash.String(n.seeds[1], text), n.rated+1
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for id := range c.Unfit {
		add("u", id)
	}
	for id, models := range c.Models {
		add("m", id, strings.Join(models, "\x00"))
	}
	for id, x := range c.Prefer {
		add("p", id, number(x))
	}
	for i, spread := range c.Spread {
		at := strconv.Itoa(i)
		add("w", at, number(spread.Weight))
		for id, value := range spread.Value {
			add("v", at, id, value)
		}
		for value, share := range spread.Share {
			add("s", at, value, number(share))
		}
	}
	return s
}
