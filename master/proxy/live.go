package proxy

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
)

const (
	// lookAfter is the time between two looks at what is open.
	lookAfter = 3 * time.Second
	// lookWithin bounds a look.
	lookWithin = 5 * time.Second
)

// A visit is a request under way: for a moment, or for as long as a tunnel is open.
type visit struct {
	cancel context.CancelCauseFunc
	who    admission
	tunnel bool // it ends when somebody ends it
	began  time.Time
}

// An admission is what a visit stands on.
type admission struct {
	task, attempt string
	// session is whose visit it is; 0 for a tunnel that is open to everybody.
	session int64
	// address is where a visit without a session comes from.
	address string
}

// A standing is how things are now: the tasks and sessions of visits, of those that
// there still are.
type standing struct {
	tasks    map[string]Task
	sessions map[int64]auth.Who
}

// stands says why a visit may not go on.
func (a admission) stands(now standing) error {
	t, ok := now.tasks[a.task]
	switch {
	case !ok:
		return fault.New(fault.NotFound, "the task no longer exists")
	case t.Over || t.AllocationID != a.attempt:
		return fault.New(fault.Conflict, "this attempt of the task is over")
	case a.session == 0 && t.OwnerGone:
		return fault.New(fault.Forbidden, "%s, whose task this is, is deactivated", t.Owner)
	case a.session == 0:
		return nil
	}
	who, ok := now.sessions[a.session]
	switch {
	case !ok:
		return fault.New(fault.Unauthenticated, "the session has ended: sign in again")
	case !mayEnter(who, t):
		return fault.New(fault.Forbidden, "%s no longer has access", who.Username)
	}
	return nil
}

// live is the list of visits. Those with a session and those without are counted
// apart, so that strangers use up no place of the people whose the tasks are.
type live struct {
	mu     sync.Mutex
	open   map[*visit]struct{}
	counts map[place]int
	closed bool
	idle   chan struct{} // closed when it is closed and empty
}

// A place is what visits are counted by.
type place struct {
	stranger bool   // without a session
	task     string // "" for all
	address  string // of strangers; "" for all
}

func newLive() *live {
	return &live{open: map[*visit]struct{}{}, counts: map[place]int{}, idle: make(chan struct{})}
}

// Limits on what is open at once: of visits with a session, and of tunnels without.
const (
	maxOpen                   = 12_288
	maxPerTask                = 1_024
	maxStrangers              = 4_096
	maxStrangersPerTask       = 256
	maxStrangersPerAddress    = 256
	maxStrangersOfAddressHere = 32 // to one task
)

// places lists what a visit counts towards, and how many may be there.
func (a admission) places() map[place]int {
	if a.session != 0 {
		return map[place]int{{}: maxOpen, {task: a.task}: maxPerTask}
	}
	return map[place]int{
		{stranger: true}:                                   maxStrangers,
		{stranger: true, task: a.task}:                     maxStrangersPerTask,
		{stranger: true, address: a.address}:               maxStrangersPerAddress,
		{stranger: true, task: a.task, address: a.address}: maxStrangersOfAddressHere,
	}
}

var errTooMany = fault.New(fault.TooMany, "too many connections are open to this task, or to all of them; close some")

// errTooManyStrangers tells somebody who shows no token what helps.
var errTooManyStrangers = fault.New(fault.TooMany, "too many tunnels without a sign-in are open to this shell, to all shells, or from your address; close some, or sign in (det user login)")

// errStopping ends what is open when the master stops.
var errStopping = fault.New(fault.Unavailable, "the master is stopping; try again")

// begin adds a visit. Its context ends when it may not go on; the returned
// function is called at its end.
func (l *live) begin(ctx context.Context, who admission, tunnel bool) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	v := &visit{cancel: cancel, who: who, tunnel: tunnel, began: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		cancel(nil)
		return nil, nil, errStopping
	case l.full(who):
		cancel(nil)
		if who.session == 0 {
			return nil, nil, errTooManyStrangers
		}
		return nil, nil, errTooMany
	}
	l.open[v] = struct{}{}
	for p := range who.places() {
		l.counts[p]++
	}
	return ctx, func() { l.end(v) }, nil
}

// full tells whether a visit finds no place.
func (l *live) full(who admission) bool {
	for p, limit := range who.places() {
		if l.counts[p] >= limit {
			return true
		}
	}
	return false
}

func (l *live) end(v *visit) {
	v.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.open[v]; !there {
		return
	}
	delete(l.open, v)
	for p := range v.who.places() {
		if l.counts[p]--; l.counts[p] == 0 {
			delete(l.counts, p)
		}
	}
	if l.closed && len(l.open) == 0 {
		close(l.idle)
	}
}

// old lists the visits that began before a time.
func (l *live) old(before time.Time) []*visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*visit
	for v := range l.open {
		if v.began.Before(before) {
			list = append(list, v)
		}
	}
	return list
}

// look ends the visits that may not go on. It asks twice, whatever their number; a
// database that is away ends nothing.
func (l *live) look(ctx context.Context, dir Directory) error {
	list := l.old(time.Now().Add(-lookAfter / 2))
	if len(list) == 0 {
		return nil
	}
	tasks, sessions := map[string]bool{}, map[int64]bool{}
	for _, v := range list {
		tasks[v.who.task] = true
		if v.who.session != 0 {
			sessions[v.who.session] = true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var now standing
	var err error
	if now.tasks, err = dir.VisitTasks(ctx, slices.Collect(maps.Keys(tasks))); err != nil {
		return err
	}
	if now.sessions, err = dir.Sessions(ctx, slices.Collect(maps.Keys(sessions))); err != nil {
		return err
	}
	for _, v := range list {
		if err := v.who.stands(now); err != nil {
			v.cancel(err)
		}
	}
	return nil
}

// count is how many are open.
func (l *live) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// close takes no more visits and ends the tunnels; with all it ends the requests
// too. The channel says when everything has ended.
func (l *live) close(why error, all bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.open {
		if v.tunnel || all {
			v.cancel(why)
		}
	}
	if !l.closed && len(l.open) == 0 {
		close(l.idle)
	}
	l.closed = true
	return l.idle
}
