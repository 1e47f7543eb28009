package rest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// MaxPoll is the longest time that a request waits for an event.
const MaxPoll = 60 * time.Second

const (
	// FreeChecks is how often a poll looks at once when it is woken. Afterwards it looks after each pollPause at most: a program could
	// wake all polls of its attempt with each request.
	FreeChecks = 8
	pollPause  = 20 * time.Millisecond
	// MaxPolls of one caller, a user or a member of an attempt, are open at once in a master. Each process of a member has one or two.
	MaxPolls = 64
)

// polls counts open polls.
type polls struct {
	mu sync.Mutex
	of map[string]int
}

// begin counts a poll until the returned function is called.
func (p *polls) begin(who string) (end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[who] >= MaxPolls {
		return nil, fault.New(fault.TooMany, "%d requests already wait for an event in this master, for the same caller; wait for one of them", MaxPolls)
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

// Await calls check at once and after each wake-up, until check is satisfied or the time has
// passed; it returns whether check was satisfied.
func Await(ctx context.Context, wake <-chan struct{}, timeout time.Duration, check func(ctx context.Context) (bool, error)) (satisfied bool, err error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for checks := 1; ; checks++ {
		ok, err := check(ctx)
		if ok || err != nil {
			return ok, err
		}
		if checks >= FreeChecks { // somebody changes something again and again
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

// Ticks forwards wake-ups and adds one at a fixed interval, for changes that publish no
// wake-ups.
func Ticks(ctx context.Context, wake <-chan struct{}, every time.Duration) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
			case <-t.C:
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { cancel(); <-done }
}

// open is how many polls each caller has open.
func (p *polls) open() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of)
}
