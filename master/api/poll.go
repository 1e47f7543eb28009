package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxPoll is the longest time that a request waits for an event.
const maxPoll = 60 * time.Second

const (
	// freeChecks is how often a poll looks at once when it is woken. Afterwards it looks after each pollPause at most: a program could
	// wake all polls of its attempt with each request.
	freeChecks = 8
	pollPause  = 20 * time.Millisecond
	// maxPolls of one caller, a user or a member of an attempt, are open at once in a master. Each process of a member has one or two.
	maxPolls = 64
)

// polls counts open polls.
type polls struct {
	mu sync.Mutex
	of map[string]int
}

// begin counts a poll until the returned function is called.
func (p *polls) begin(c *call, r *route) (end func(), err error) {
	who := "user " + c.who.Username
	if c.who.IsTask() {
		who = fmt.Sprintf("member %d of %s", c.who.Rank, c.who.AllocationID)
	}
	if r.Path == v1.WatchAllocation.Path { // the runner's own, which its program must not keep away
		who = "runner of " + who
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[who] >= maxPolls {
		return nil, fault.New(fault.TooMany, "%d requests already wait for an event in this master, for the same caller; wait for one of them", maxPolls)
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.of[who]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.of[who]--; p.of[who] == 0 {
			delete(p.of, who)
		}
	}, nil
}

// await calls check at once and after each wake-up, until check is satisfied or the time has
// passed; it returns whether check was satisfied.
func await(ctx context.Context, wake <-chan struct{}, timeout time.Duration, check func(ctx context.Context) (bool, error)) (satisfied bool, err error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for checks := 1; ; checks++ {
		ok, err := check(ctx)
		if ok || err != nil {
			return ok, err
		}
		if checks >= freeChecks { // somebody changes something again and again
			_ = sleep.For(ctx, min(pollPause, timeout)) // its end is seen below
		}
		select {
		case <-wake:
		case <-t.C:
			return false, nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return false, fault.New(fault.Unavailable, "the master is stopping; try again")
			}
			return false, nil
		}
	}
}
