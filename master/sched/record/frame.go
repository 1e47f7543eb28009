package record

import (
	"time"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A Frame is what has changed in the input of a pool's plans since the frame before, and what the plan decided. Times are nanoseconds since 1970;
// 0: none.
type Frame struct {
	Pool  string `json:"pool"`
	At    int64  `json:"at"`
	Whole bool   `json:"whole,omitempty"` // it has everything, and the frames before it do not matter
	// Gap says why the input is not known from here to the next whole frame; "" if it is.
	Gap string `json:"gap,omitempty"`
	// Planned is false if nothing waited, so there was no plan. Then nodes may have changed that the frame does not have.
	Planned  bool                 `json:"planned,omitempty"`
	Settings *Settings            `json:"settings,omitempty"` // of a whole frame
	Nodes    []Node               `json:"nodes,omitempty"`
	Gone     []string             `json:"gone,omitempty"` // nodes
	Choices  map[int]Choice       `json:"choices,omitempty"`
	Quotas   []Quota              `json:"quotas,omitempty"`
	Ended    []int                `json:"ended,omitempty"` // quotas that there are no more
	Reserved *[]sched.Reservation `json:"reserved,omitempty"`

	Queued  []Request        `json:"queued,omitempty"`
	Began   map[string]int64 `json:"began,omitempty"` // attempts that run as the frame before placed them, and since when
	Running []Running        `json:"running,omitempty"`
	Leaving []string         `json:"leaving,omitempty"` // running attempts that were asked to leave
	Left    []string         `json:"left,omitempty"`    // attempts that neither wait nor run any more

	Saved    map[string]int64 `json:"saved,omitempty"` // running attempts that would redo what they did since then
	Ago      map[string]int64 `json:"ago,omitempty"`   // the same for those that save when asked: for how long
	Earliest map[string]int64 `json:"earliest,omitempty"`
	Latest   map[string]int64 `json:"latest,omitempty"`
	Served   *Times           `json:"served,omitempty"`
	Recent   *Hours           `json:"recent,omitempty"`

	Place   []Placement  `json:"place,omitempty"`
	Preempt []Preemption `json:"preempt,omitempty"`
}

// Settings are what plans ask of a pool.
type Settings struct {
	Scheduler  pool.Scheduler
	SingleNode bool `json:",omitempty"`
	Preemption bool `json:",omitempty"`
	MaxAux     int  `json:",omitempty"`
	AuxOnSpot  bool `json:",omitempty"`
}

// Of returns the settings of a pool.
func Of(p *pool.Pool) *Settings {
	return &Settings{Scheduler: p.Scheduler, SingleNode: p.SingleNode, Preemption: p.Preemption, MaxAux: p.MaxAux, AuxOnSpot: p.AuxOnSpot}
}

// A Node is one without its address and its reasons.
type Node struct {
	ID     string        `json:"i"`
	Name   string        `json:"n,omitempty"`
	Out    bool          `json:"o,omitempty"` // not schedulable
	Spot   bool          `json:"p,omitempty"`
	Rack   string        `json:"r,omitempty"`
	Supply *sched.Supply `json:"u,omitempty"`
	Slots  []Slot        `json:"s,omitempty"`
}

// A Slot is one without its device.
type Slot struct {
	ID    int    `json:"i"`
	Brand string `json:"b,omitempty"`
	Sick  bool   `json:"h,omitempty"`
	Off   bool   `json:"o,omitempty"`
	Taken bool   `json:"t,omitempty"`
	Link  int    `json:"l,omitempty"`
}

// A Choice is one without its reasons.
type Choice struct {
	Unfit  []string            `json:"unfit,omitempty"`
	Models map[string][]string `json:"models,omitempty"`
	Prefer map[string]float64  `json:"prefer,omitempty"`
	Spread []sched.Spread      `json:"spread,omitempty"`
}

// A Quota is a bound, and whom it bounds.
type Quota struct {
	ID        int        `json:"id"`
	Of        string     `json:"of"`
	Pool      string     `json:"pool,omitempty"` // "": all
	Workspace string     `json:"workspace,omitempty"`
	User      string     `json:"user,omitempty"`
	Project   bool       `json:"project,omitempty"` // it bounds a part of a workspace that requests do not name
	Hours     bool       `json:"hours,omitempty"`   // it bounds slot-hours
	Kind      sched.Kind `json:"kind,omitempty"`
	Soft      *int       `json:"soft,omitempty"`
	Hard      *int       `json:"hard,omitempty"`
	All       int        `json:"all,omitempty"`     // held in other pools
	Leaving   int        `json:"leaving,omitempty"` // … by attempts that were asked to leave
	Spent     bool       `json:"spent,omitempty"`
}

// A Request is what an attempt that waits asks for.
type Request struct {
	ID          string     `json:"i"`
	Group       string     `json:"g,omitempty"`
	Slots       int        `json:"s,omitempty"`
	Ask         *sched.Ask `json:"a,omitempty"`
	Priority    int        `json:"p,omitempty"`
	QueuedAt    int64      `json:"q,omitempty"`
	SingleNode  bool       `json:"o,omitempty"`
	EqualParts  bool       `json:"e,omitempty"`
	MixModels   bool       `json:"x,omitempty"`
	Preemptible bool       `json:"r,omitempty"`
	OnSpot      bool       `json:"t,omitempty"`
	Exclude     []string   `json:"n,omitempty"`
	Avoid       []string   `json:"v,omitempty"`
	Choice      int        `json:"c,omitempty"` // 0: none
	MaxSlots    *int       `json:"m,omitempty"`
	Workspace   string     `json:"w,omitempty"`
	User        string     `json:"u,omitempty"`
	Weight      float64    `json:"h,omitempty"`
	Quotas      []int      `json:"k,omitempty"`
	Longest     int64      `json:"l,omitempty"`
}

// Running is an attempt that holds slots.
type Running struct {
	ID          string  `json:"i"`
	Group       string  `json:"g,omitempty"`
	Priority    int     `json:"p,omitempty"`
	StartedAt   int64   `json:"b,omitempty"`
	Preemptible bool    `json:"r,omitempty"`
	MaxSlots    *int    `json:"m,omitempty"`
	Leaving     bool    `json:"l,omitempty"`
	LentUntil   int64   `json:"n,omitempty"`
	Parts       []Part  `json:"s,omitempty"`
	Workspace   string  `json:"w,omitempty"`
	User        string  `json:"u,omitempty"`
	Weight      float64 `json:"h,omitempty"`
	Quotas      []int   `json:"k,omitempty"`
}

// A Part has the slots of an attempt on one node.
type Part struct {
	Node     string `json:"n"`
	Slots    []int  `json:"s,omitempty"`
	MHz      int    `json:"c,omitempty"`
	MemoryMB int    `json:"m,omitempty"`
}

// A Placement is what a plan decided about a request.
type Placement struct {
	ID        string `json:"i"`
	Parts     []Part `json:"s"`
	LentUntil int64  `json:"n,omitempty"`
}

// A Preemption is what a plan decided about a running attempt.
type Preemption struct {
	ID  string `json:"i"`
	For string `json:"f,omitempty"`
}

// Times are when workspaces, users in them and groups last held slots, and when users last received some. A user in a workspace is "workspace\x00user".
type Times struct {
	Workspaces map[string]int64 `json:"w,omitempty"`
	Users      map[string]int64 `json:"u,omitempty"`
	Groups     map[string]int64 `json:"g,omitempty"`
	Turns      map[string]int64 `json:"t,omitempty"`
}

// Hours are what workspaces and users in them used lately.
type Hours struct {
	Workspaces map[string]float64 `json:"w,omitempty"`
	Users      map[string]float64 `json:"u,omitempty"`
}

// nano is a time as frames have it.
func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Time is the time that a frame has as a number.
func Time(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Within is the key of a user in a workspace.
func Within(workspace, user string) string { return workspace + "\x00" + user }

// SameAs reports whether two quotas bound the slots of the same people in the same pools.
func (q *Quota) SameAs(o *Quota) bool {
	return q.Workspace == o.Workspace && q.User == o.User && q.Pool == o.Pool && !q.Project && !o.Project && !q.Hours && !o.Hours && q.Kind == sched.Slots && o.Kind == sched.Slots
}
