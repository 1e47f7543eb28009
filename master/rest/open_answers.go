package rest

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
)

const (
	// permissionInterval is the time between two checks of the callers of open responses.
	permissionInterval = 2 * time.Second
	// rechecksEvery is the number of these checks of which one reads the objects of the responses too.
	rechecksEvery = 5
	// permissionTimeout limits a check.
	permissionTimeout = 10 * time.Second
)

// An openAnswer is a response that stays open: a stream, or a long poll.
type openAnswer struct {
	who     auth.Who
	allowed func(auth.Who) error // the route's check of the caller
	again   []recheck            // whether its objects are still the caller's to see
	cancel  context.CancelCauseFunc
}

// openAnswers are the open responses of this master. All are checked together by two queries,
// every two seconds and when an account or a session has changed. A response ends when its
// session or attempt has ended, when its user was deactivated, or when its caller lost a right
// that the route requires. Every ten seconds the objects of responses are read as well: a response ends when its object
// was moved to where the caller may not see it. While the database does not answer, none ends.
type openAnswers struct {
	cfg *Config

	mu   sync.Mutex
	open map[*openAnswer]struct{}
	done chan struct{} // closed when run has returned
}

func newOpenAnswers(cfg *Config) *openAnswers {
	return &openAnswers{cfg: cfg, open: map[*openAnswer]struct{}{}, done: make(chan struct{})}
}

// follow returns the context of an open response, which ends with within, and when the caller
// loses the permission. The returned function must be called at its end.
func (f *openAnswers) follow(within context.Context, c *Call) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(within)
	one := &openAnswer{who: c.who, allowed: c.allowed, again: c.again, cancel: cancel}
	if c.who.UserID == 0 {
		return ctx, func() { cancel(nil) }
	}
	f.mu.Lock()
	f.open[one] = struct{}{}
	f.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		f.mu.Lock()
		delete(f.open, one)
		f.mu.Unlock()
	}
}

// run checks until ctx ends.
func (f *openAnswers) run(ctx context.Context) {
	defer close(f.done)
	wake, stop := f.cfg.AccessChanges()
	defer stop()
	tick := time.NewTicker(permissionInterval)
	defer tick.Stop()
	for ticks := 0; ; {
		select {
		case <-wake:
		case <-tick.C:
			ticks++
		case <-ctx.Done():
			return
		}
		f.check(ctx, ticks == rechecksEvery)
		ticks %= rechecksEvery
	}
}

// list is what is open, with its callers, each once.
func (f *openAnswers) list() (list []*openAnswer, callers []auth.Who) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[openCaller]bool{}
	for one := range f.open {
		list = append(list, one)
		if k := one.caller(); !seen[k] {
			seen[k] = true
			callers = append(callers, one.who)
		}
	}
	return list, callers
}

// An openCaller identifies a session, or an attempt.
type openCaller struct {
	attempt string // "" for a session
	session int64
}

func (one *openAnswer) caller() openCaller {
	if one.who.IsTask() {
		return openCaller{attempt: one.who.AllocationID}
	}
	return openCaller{session: one.who.SessionID}
}

// check ends the responses that may not go on; objects says whether it reads their objects.
func (f *openAnswers) check(ctx context.Context, objects bool) {
	list, callers := f.list()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	now, err := f.cfg.Again(ctx, callers)
	if err != nil {
		return
	}
	for _, one := range list {
		who, err := now(one.who)
		if err == nil {
			err = one.allowed(who)
		}
		if objects {
			for i := 0; err == nil && i < len(one.again); i++ {
				err = one.again[i](ctx, who)
			}
		}
		if err != nil {
			one.cancel(err)
		}
	}
}

// len is how many answers are open.
func (f *openAnswers) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}

// Refused is the error if the context ended because the caller lost the permission.
func Refused(ctx context.Context) error {
	err := context.Cause(ctx)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}
