package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// lookAfter is the time between two looks at what is open.
	lookAfter = 3 * time.Second
	// lookWithin bounds a look at one of them.
	lookWithin = 5 * time.Second
)

// A visit is a request under way: for a moment, or for as long as a tunnel is open.
type visit struct {
	cancel context.CancelCauseFunc
	task   string
	tunnel bool // it ends when somebody ends it
	// allowed says that it may go on; any other fault than Unavailable ends it.
	allowed func(ctx context.Context) error
	began   time.Time
}

// live is the list of visits.
type live struct {
	mu     sync.Mutex
	open   map[*visit]struct{}
	byTask map[string]int
	closed bool
	idle   chan struct{} // closed when it is closed and empty
}

func newLive() *live {
	return &live{open: map[*visit]struct{}{}, byTask: map[string]int{}, idle: make(chan struct{})}
}

// Limits on what is open at once.
const (
	mostOpen    = 16_384
	mostPerTask = 1_024
)

// errStopping ends what is open when the master stops.
var errStopping = fault.New(fault.Unavailable, "the master is stopping; try again")

// begin adds a visit. Its context ends when it may not go on; the returned
// function is called at its end.
func (l *live) begin(ctx context.Context, task string, tunnel bool, allowed func(context.Context) error) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	v := &visit{cancel: cancel, task: task, tunnel: tunnel, allowed: allowed, began: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		cancel(nil)
		return nil, nil, errStopping
	case len(l.open) >= mostOpen || l.byTask[task] >= mostPerTask:
		cancel(nil)
		return nil, nil, fault.New(fault.TooMany, "too many connections are open to this task, or to all of them; close some")
	}
	l.open[v] = struct{}{}
	l.byTask[task]++
	return ctx, func() { l.end(v) }, nil
}

func (l *live) end(v *visit) {
	v.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.open[v]; !there {
		return
	}
	delete(l.open, v)
	if l.byTask[v.task]--; l.byTask[v.task] == 0 {
		delete(l.byTask, v.task)
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

// look ends the visits that may not go on.
func (l *live) look(ctx context.Context) {
	for _, v := range l.old(time.Now().Add(-lookAfter / 2)) {
		if ctx.Err() != nil {
			return
		}
		call, cancel := context.WithTimeout(ctx, lookWithin)
		err := v.allowed(call)
		cancel()
		switch fault.CodeOf(err) {
		case fault.Unauthenticated, fault.Forbidden, fault.NotFound, fault.Conflict:
			if err != nil {
				v.cancel(err)
			}
		}
	}
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
