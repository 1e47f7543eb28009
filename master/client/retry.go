package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
)

// repeatable is when a call may be repeated.
type repeatable int

const (
	once   repeatable = iota // only if the request was never sent
	safely                   // also if the master may have executed it
	never                    // the caller repeats it, if anybody does
)

// A backoff is the pauses between tries: from 100 ms, doubling up to 2 s, each shortened by up
// to a half at random so that many clients do not retry at once.
type backoff struct {
	next     time.Duration
	deadline time.Time
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

func newBackoff(patience time.Duration) *backoff {
	return &backoff{next: firstPause, deadline: time.Now().Add(patience)}
}

// pause waits before the next try, at least as long as the server demands. It returns false
// when patience or ctx has ended.
func (b *backoff) pause(ctx context.Context, atLeast time.Duration, tell func(time.Duration)) bool {
	d := b.next/2 + rand.N(b.next/2)
	b.next = min(2*b.next, maxPause)
	d = max(d, atLeast)
	if time.Now().Add(d).After(b.deadline) {
		return false
	}
	tell(d)
	return sleep.For(ctx, d) == nil
}

// again reports whether a failed call may be repeated.
func (c *Client) again(err error, how repeatable) bool {
	if how == never || c.opts.Patience < 0 || !fault.Is(err, fault.Unavailable) {
		return false
	}
	if ce, ok := errors.AsType[*ConnectError](err); ok && isDial(ce.Err) {
		return c.opts.Insist || c.reached.Load()
	}
	return how == safely
}

// retryAfter parses how long the server demands to wait.
func retryAfter(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	secs, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || secs < 0 || secs > 60 {
		return 0
	}
	return time.Duration(secs) * time.Second
}

func (c *Client) tell(err error) func(time.Duration) {
	return func(d time.Duration) {
		if c.opts.OnRetry != nil {
			c.opts.OnRetry(err, d)
		}
	}
}
