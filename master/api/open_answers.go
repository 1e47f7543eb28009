package api

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

const (
	// permissionInterval is the time between two checks of the callers of open responses.
	permissionInterval = 2 * time.Second
	// permissionTimeout limits a check.
	permissionTimeout = 10 * time.Second
)

// An openAnswer is a response that stays open: a stream, or a long poll.
type openAnswer struct {
	who     auth.Who
	allowed func(auth.Who) error // the route's check of the caller
	cancel  context.CancelCauseFunc
}

// openAnswers are the open responses of this master. All are checked together by two queries,
// every two seconds and when an account or a session has changed. A response ends when its
// session or attempt has ended, when its user was deactivated, or when its caller lost a right
// that the route requires. While the database does not answer, none ends.
type openAnswers struct {
	db  *store.DB
	bus *database.Bus

	mu   sync.Mutex
	open map[*openAnswer]struct{}
	done chan struct{} // closed when run has returned
}

func newOpenAnswers(db *store.DB, bus *database.Bus) *openAnswers {
	return &openAnswers{db: db, bus: bus, open: map[*openAnswer]struct{}{}, done: make(chan struct{})}
}

// follow returns the context of an open response, which ends with within, and when the caller
// loses the permission. The returned function must be called at its end.
func (f *openAnswers) follow(within context.Context, c *call) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(within)
	one := &openAnswer{who: c.who, allowed: c.allowed, cancel: cancel}
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
	wake, stop := f.bus.Subscribe(store.TopicAccess)
	defer stop()
	tick := time.NewTicker(permissionInterval)
	defer tick.Stop()
	for {
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		f.check(ctx)
	}
}

func (f *openAnswers) list() (list []*openAnswer, sessions []int64, attempts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[int64]bool{}
	asked := map[string]bool{}
	for one := range f.open {
		list = append(list, one)
		switch w := one.who; {
		case w.IsTask() && !asked[w.AllocationID]:
			asked[w.AllocationID] = true
			attempts = append(attempts, w.AllocationID)
		case !w.IsTask() && !seen[w.SessionID]:
			seen[w.SessionID] = true
			sessions = append(sessions, w.SessionID)
		}
	}
	return list, sessions, attempts
}

func (f *openAnswers) check(ctx context.Context) {
	list, sessions, attempts := f.list()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	users, err := f.db.ValidSessions(ctx, sessions)
	if err != nil {
		return
	}
	tasks, err := f.db.AttemptStatuses(ctx, attempts)
	if err != nil {
		return
	}
	for _, one := range list {
		if err := one.stillAllowed(users, tasks); err != nil {
			one.cancel(err)
		}
	}
}

// stillAllowed fails if the caller may not receive the response any more.
func (one *openAnswer) stillAllowed(users map[int64]auth.Who, tasks map[string]store.AttemptStatus) error {
	if !one.who.IsTask() {
		who, ok := users[one.who.SessionID]
		if !ok {
			return fault.New(fault.Unauthenticated, "the session has ended: sign in again with det user login")
		}
		return one.allowed(who)
	}
	now, ok := tasks[one.who.AllocationID]
	if !ok {
		return fault.New(fault.Unauthenticated, "attempt %s does not exist any more", one.who.AllocationID)
	}
	who := one.who
	who.Ended, who.OwnerGone, who.Grants = now.Ended, now.OwnerGone, now.Grants
	return one.allowed(who)
}

// refused is the error if the context ended because the caller lost the permission.
func refused(ctx context.Context) error {
	err := context.Cause(ctx)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}
