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
	// checkEvery is the time between two checks of the open connections.
	checkEvery = 3 * time.Second
	// checkTimeout bounds a check.
	checkTimeout = 5 * time.Second
)

// A connection is a request or a tunnel that is open.
type connection struct {
	cancel context.CancelCauseFunc
	who    access
	tunnel bool // it has no end of its own, unlike a request
	began  time.Time
}

// An access has what allows a connection: its session, or its client's address.
type access struct {
	task, attempt string
	// session is that of the user; 0 without a sign-in.
	session int64
	// address is that of a client without a session.
	address string
}

// An accessState has the tasks and sessions of open connections that still exist.
type accessState struct {
	tasks    map[string]Task
	sessions map[int64]auth.Who
}

// valid returns why a connection must be closed; nil if it may stay open.
func (a access) valid(now accessState) error {
	t, ok := now.tasks[a.task]
	switch {
	case !ok:
		return fault.New(fault.NotFound, "the task no longer exists")
	case t.Over || t.AllocationID != a.attempt:
		return fault.New(fault.Conflict, "this attempt of the task is over")
	case a.session == 0 && t.OwnerGone:
		return fault.New(fault.Forbidden, "the task's owner %s is deactivated", t.Owner)
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

// live is the list of connections. Those with a session and those without are counted
// apart, so that anonymous ones leave the limits of signed-in users alone.
type live struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	counts map[limitKey]int
	closed bool
	idle   chan struct{} // closed when it is closed and empty
}

// A limitKey identifies a count of connections.
type limitKey struct {
	anonymous bool   // without a session
	task      string // "" for all
	address   string // of anonymous clients; "" for all
}

func newLive() *live {
	return &live{open: map[*connection]struct{}{}, counts: map[limitKey]int{}, idle: make(chan struct{})}
}

// Limits on open connections: those with a session, and those without one, to shells and to
// ports that are open to everybody.
const (
	maxOpen                       = 12_288
	maxPerTask                    = 1_024
	maxAnonymous                  = 4_096
	maxAnonymousPerTask           = 256
	maxAnonymousPerAddress        = 256
	maxAnonymousPerAddressAndTask = 32 // to one task
)

// Limits for new tunnels to a shell without a session, from one address: a number at once, and one
// more in each interval. Only the shell's SSH server can check whether a client has the key. Without
// these limits, clients without the key could use up its connections.
const (
	maxKeys   = 64
	keysEvery = time.Second
)

// limits lists what a connection counts towards, with the limit of each.
func (a access) limits() map[limitKey]int {
	if a.session != 0 {
		return map[limitKey]int{{}: maxOpen, {task: a.task}: maxPerTask}
	}
	return map[limitKey]int{
		{anonymous: true}:                                   maxAnonymous,
		{anonymous: true, task: a.task}:                     maxAnonymousPerTask,
		{anonymous: true, address: a.address}:               maxAnonymousPerAddress,
		{anonymous: true, task: a.task, address: a.address}: maxAnonymousPerAddressAndTask,
	}
}

var errTooMany = fault.New(fault.TooMany, "too many open connections to this task, or to all tasks; close some")

// errTooManyAnonymous tells a client without a token what to do.
var errTooManyAnonymous = fault.New(fault.TooMany, "too many open connections without a session: to this task, to all tasks, or from your address; close some, or sign in (det user login)")

var errTooFast = fault.New(fault.TooMany, "too many connections to this shell without a session from your address; at most one each second can begin, or sign in (det user login)")

// errStopping is the reason for closing connections when the master stops.
var errStopping = fault.New(fault.Unavailable, "the master is stopping; try again")

// begin adds a connection. Its context ends when the connection must be closed; the
// caller calls the returned function at the end.
func (l *live) begin(ctx context.Context, who access, tunnel bool) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	v := &connection{cancel: cancel, who: who, tunnel: tunnel, began: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		cancel(nil)
		return nil, nil, errStopping
	case l.full(who):
		cancel(nil)
		if who.session == 0 {
			return nil, nil, errTooManyAnonymous
		}
		return nil, nil, errTooMany
	}
	l.open[v] = struct{}{}
	for p := range who.limits() {
		l.counts[p]++
	}
	return ctx, func() { l.end(v) }, nil
}

// full reports whether a limit is reached.
func (l *live) full(who access) bool {
	for p, limit := range who.limits() {
		if l.counts[p] >= limit {
			return true
		}
	}
	return false
}

func (l *live) end(v *connection) {
	v.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.open[v]; !there {
		return
	}
	delete(l.open, v)
	for p := range v.who.limits() {
		if l.counts[p]--; l.counts[p] == 0 {
			delete(l.counts, p)
		}
	}
	if l.closed && len(l.open) == 0 {
		close(l.idle)
	}
}

// old lists the connections that began before a time.
func (l *live) old(before time.Time) []*connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*connection
	for v := range l.open {
		if v.began.Before(before) {
			list = append(list, v)
		}
	}
	return list
}

// check closes the connections that are no longer allowed. It makes two queries for any number of
// connections; while the database is unavailable it closes none.
func (l *live) check(ctx context.Context, dir Directory) error {
	list := l.old(time.Now().Add(-checkEvery / 2))
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
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var now accessState
	var err error
	if now.tasks, err = dir.Tasks(ctx, slices.Collect(maps.Keys(tasks))); err != nil {
		return err
	}
	if now.sessions, err = dir.Sessions(ctx, slices.Collect(maps.Keys(sessions))); err != nil {
		return err
	}
	for _, v := range list {
		if err := v.who.valid(now); err != nil {
			v.cancel(err)
		}
	}
	return nil
}

// count returns the number of open connections.
func (l *live) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// close accepts no more connections and ends the tunnels; with all it ends the requests
// too. The channel is closed when everything has ended.
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
