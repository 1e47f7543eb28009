package sched

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A share is what a workspace, one of its users, or one of a user's jobs has of a pool.
type share struct {
	level    int // below the pool, which is level 0
	name     string
	weight   float64
	parent   *share
	children []*share  // by name
	held     int       // slots, promises included, without those of tasks that are leaving
	wanted   int       // slots that it holds and that its requests ask for, as far as they can be had at all
	fair     float64   // slots
	last     time.Time // when it last held slots, as far as that is known
	recent   float64   // slot-hours that it used lately; 0 without a half-life
	past     float64   // slots that use as much in the time in which it is made up for

	waiting siblings // the children that have requests, the one to serve first at the top
	at      int      // the share's own index there; -1 if it has no requests
	told    string   // the last result of tells, …
	toldFor int      // … when held was this
	ended   string   // the last result of ends, …
	begun   string   // … for this sentence and …
	endedBy string   // … this result of tells

	// Of a job:
	queue  []*Request // by importance
	waits  bool       // one of its requests waits
	behind string     // the sentence for the requests behind it, made when it is needed
	tasks  []int      // running tasks that may be asked to leave, those that lose least first
	cursor int        // of tasks: those before it were asked for the current request
	most   *int       // its max_slots
	// Of all:
	mayLeave int      // tasks that may be asked to leave
	givers   []*share // the children that had any in the beginning, by name: of many children, most only wait
}

// The levels of shares.
const (
	poolLevel = iota
	workspaceLevel
	userLevel
	jobLevel
	levels
)

// siblings are shares under the same parent, as a heap: first the one that holds least in
// proportion to its weight. Of those that hold equally little, the one that has held nothing
// for the longest time is first: otherwise the older requests of one workspace could keep a
// gang of another waiting for ever, one request after the other, and a task that was preempted
// for somebody could take the slots itself.
type siblings []*share

func (s siblings) Len() int { return len(s) }
func (s siblings) Less(i, j int) bool {
	a, b := s[i], s[j]
	return cmp.Or(byLoad(a, b), a.last.Compare(b.last), byImportance(a.first(), b.first())) < 0
}

func (s siblings) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

// Push and Pop are what container/heap calls.
func (s *siblings) Push(x any) {
	c, _ := x.(*share)
	c.at = len(*s)
	*s = append(*s, c)
}

// Pop removes the last one.
func (s *siblings) Pop() any {
	old := *s
	c := old[len(old)-1]
	c.at = -1
	*s = old[:len(old)-1]
	return c
}

// byLoad compares what shares hold in proportion to their weights.
func byLoad(a, b *share) int {
	return cmp.Compare(float64(a.held)*b.weight, float64(b.held)*a.weight)
}

// first is the request of a share that is considered first.
func (s *share) first() *Request {
	for s.level != jobLevel {
		s = s.waiting[0]
	}
	return s.queue[0]
}

// lacks is what a share holds too little, in slots.
func (s *share) lacks() float64 { return max(0, s.fair-float64(s.held)) }

// nothing is less than any part of a slot that matters, and more than what computing with
// fractions adds to a number.
const nothing = 1e-6

// isOver reports whether a share holds more than what is fair.
func (s *share) isOver() bool { return float64(s.held) > s.fair+nothing }

// child finds or adds a child.
func (s *share) child(name string, weight float64) *share {
	i, found := slices.BinarySearchFunc(s.children, name, func(c *share, name string) int { return cmp.Compare(c.name, name) })
	if !found {
		s.children = slices.Insert(s.children, i, &share{level: s.level + 1, name: name, weight: weight, parent: s, at: -1})
	}
	return s.children[i]
}

// divide computes what is fair: the weighted max-min division of the parent's fair slots. Each
// child gets slots in proportion to its weight, but not more than it wants; what it does not
// want is divided among the others.
func (s *share) divide() {
	if len(s.children) == 0 {
		return
	}
	s.weigh()
	order := slices.Clone(s.children)
	slices.SortStableFunc(order, func(a, b *share) int {
		return cmp.Compare(float64(a.wanted)*b.weight, float64(b.wanted)*a.weight)
	})
	weights := make([]float64, len(order)+1) // of the share and those behind it
	for i := len(order) - 1; i >= 0; i-- {
		weights[i] = weights[i+1] + order[i].weight
	}
	left := s.fair
	for i, c := range order {
		c.fair = min(float64(c.wanted), left*c.weight/weights[i])
		left = max(0, left-c.fair)
	}
	for _, c := range s.children {
		c.divide()
	}
}

// serve notes when a job, its user and its workspace last held slots.
func (s *share) noteHeld(at Served) {
	s.last = latest(s.last, at.Group)
	s.parent.last = latest(s.parent.last, at.User)
	s.parent.parent.last = latest(s.parent.parent.last, at.Workspace)
}

// sum adds up what jobs want for their users, workspaces and the pool.
func (s *share) sum() {
	if s.level == jobLevel {
		if s.most != nil {
			s.wanted = min(s.wanted, max(*s.most, s.held))
		}
		return
	}
	for _, c := range s.children {
		c.sum()
		s.wanted += c.wanted
	}
}

// arrange makes the heaps of the shares below, and returns whether the share has requests.
func (s *share) arrange() bool {
	if s.level == jobLevel {
		slices.SortFunc(s.queue, byImportance)
		return len(s.queue) > 0
	}
	for _, c := range s.children {
		if c.arrange() {
			c.at = len(s.waiting)
			s.waiting = append(s.waiting, c)
		}
	}
	heap.Init(&s.waiting)
	return len(s.waiting) > 0
}

// settle puts a share and its ancestors where they belong in their heaps.
func (s *share) settle() {
	for ; s.parent != nil; s = s.parent {
		switch empty := len(s.queue) == 0 && len(s.waiting) == 0; {
		case s.at < 0:
		case empty:
			heap.Remove(&s.parent.waiting, s.at)
		default:
			heap.Fix(&s.parent.waiting, s.at)
		}
	}
}

// findGivers sets givers of the share and of the shares below.
func (s *share) findGivers() {
	for _, c := range s.children {
		if c.mayLeave > 0 {
			s.givers = append(s.givers, c)
			c.findGivers()
		}
	}
}

// fullest is the child that holds most slots more than what is fair, of those with tasks that
// may be asked to leave, and without one of them; nil if there is none.
func (s *share) fullest(without *share) *share {
	var found *share
	for _, c := range s.givers {
		if c != without && c.mayLeave > 0 && (found == nil || float64(c.held)-c.fair > float64(found.held)-found.fair) {
			found = c
		}
	}
	return found
}

// ends completes a sentence with what the share holds.
func (s *share) ends(sentence string) string {
	if tells := s.tells(); s.ended == "" || s.begun != sentence || s.endedBy != tells {
		s.ended, s.begun, s.endedBy = sentence+"; "+tells, sentence, tells
	}
	return s.ended
}

// tells says what a share holds of what is fair.
func (s *share) tells() string {
	if s.told != "" && s.toldFor == s.held {
		return s.told
	}
	fair := strconv.FormatFloat(math.Round(s.fair*10)/10, 'f', -1, 64) + " slots"
	if fair == "1 slots" {
		fair = "1 slot"
	}
	switch s.level {
	case workspaceLevel:
		s.told = fmt.Sprintf("workspace %s holds %d of its fair %s%s", s.name, s.held, fair, s.tellsRecent())
	case userLevel:
		s.told = fmt.Sprintf("user %s holds %d of a fair %s in workspace %s%s", s.name, s.held, fair, s.parent.name, s.tellsRecent())
	default:
		s.told = fmt.Sprintf("%s holds %d of its fair %s", s.name, s.held, fair)
	}
	s.toldFor = s.held
	return s.told
}

// tellsRecent says what a share used lately; "" for nothing that counts. Two digits are enough, and change seldom.
func (s *share) tellsRecent() string {
	if s.recent < 0.1 {
		return ""
	}
	decimals := 1 - int(math.Floor(math.Log10(s.recent)))
	step := math.Pow10(-decimals)
	return fmt.Sprintf(", having used %.*f slot-hours lately", max(0, decimals), math.Round(s.recent/step)*step)
}
