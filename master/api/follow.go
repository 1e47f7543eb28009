package api

import (
	"context"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
)

const (
	// permissionInterval is the time between two looks at who may still have what is open.
	permissionInterval = 2 * time.Second
	// permissionTimeout bounds a look.
	permissionTimeout = 10 * time.Second
)

// A following is an answer that stays open: a stream, or a request that waits.
type following struct {
	who    auth.Who
	takes  func(auth.Who) error // the route's own rule
	cancel context.CancelCauseFunc
}

// followings are the open answers of this master. They are looked through together,
// by two queries however many there are, every two seconds and when an account or a
// session has changed. One ends when its session is over, when its user was
// deactivated, when the attempt that asked is over, or when a right that its route
// asks for is gone. A database that is away ends nothing.
type followings struct {
	db  *store.DB
	bus *store.Bus

	mu   sync.Mutex
	open map[*following]struct{}
	done chan struct{} // closed when run has returned
}

func newFollowings(db *store.DB, bus *store.Bus) *followings {
	return &followings{db: db, bus: bus, open: map[*following]struct{}{}, done: make(chan struct{})}
}

// follow gives an answer that stays open its context, which ends when the caller may
// not have it any more, and with within. The returned function is called at its end.
func (f *followings) follow(within context.Context, c *call) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(within)
	one := &following{who: c.who, takes: c.takes, cancel: cancel}
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

// run looks until ctx ends.
func (f *followings) run(ctx context.Context) {
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
		f.look(ctx)
	}
}

func (f *followings) list() (list []*following, sessions []int64, attempts []string) {
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

func (f *followings) look(ctx context.Context) {
	list, sessions, attempts := f.list()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	people, err := f.db.ValidSessions(ctx, sessions)
	if err != nil {
		return
	}
	tasks, err := f.db.AttemptStatuses(ctx, attempts)
	if err != nil {
		return
	}
	for _, one := range list {
		if err := one.stillAllowed(people, tasks); err != nil {
			one.cancel(err)
		}
	}
}

// stillAllowed fails when the caller may not have the answer any more.
func (one *following) stillAllowed(people map[int64]auth.Who, tasks map[string]store.AttemptStatus) error {
	if !one.who.IsTask() {
		who, ok := people[one.who.SessionID]
		if !ok {
			return fault.New(fault.Unauthenticated, "the session has ended: sign in again with det user login")
		}
		return one.takes(who)
	}
	now, ok := tasks[one.who.AllocationID]
	if !ok {
		return fault.New(fault.Unauthenticated, "attempt %s is no more", one.who.AllocationID)
	}
	who := one.who
	who.Ended, who.OwnerGone = now.Ended, now.OwnerGone
	return one.takes(who)
}

// refused is why somebody may not have an answer any more, if that is what ended
// its context.
func refused(ctx context.Context) error {
	err := context.Cause(ctx)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
		return err
	}
	return nil
}
