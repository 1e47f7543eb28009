package masters

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/sleep"
)

// A process that is stopped keeps its connections, and nothing tells its clients. So the List asks a master that is silent, and the others, for
// their health, and leaves the silent one only if it does not answer and another is healthy: when all masters are slow, no request is sent
// twice. One inquiry at a time serves all requests, and one master is left in leaveEvery.

// Limits for silent masters.
const (
	silentAfter  = time.Second      // a master that has sent nothing for so long is asked for its health, later after twice the time, and so on
	healthWait   = time.Second      // how long the answer may take
	maxSilence   = 30 * time.Second // the longest time between two inquiries of one request
	leaveEvery   = 10 * time.Second
	maxInquiries = 4 // masters that are asked at once
)

// silence is what a List knows about silent masters.
type silence struct {
	heard   string    // the address of the master that answered a request last
	heardAt time.Time // when it did
	left    string    // the address of the master that was left last
	leftAt  time.Time
	asking  *inquiry  // nil: none is in progress
	probed  time.Time // when a master was healthy at a Probe
}

// Heard is when a master answered last; zero: none has.
func (l *List) Heard() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silence.probed.After(l.silence.heardAt) {
		return l.silence.probed
	}
	return l.silence.heardAt
}

// Probe asks the masters for their health, so that Heard is right while no request is made or all wait.
func (l *List) Probe(ctx context.Context, within time.Duration) {
	l.mu.Lock()
	l.refresh()
	asked := slices.Clone(l.urls)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var all sync.WaitGroup
	for _, u := range asked[:min(len(asked), maxInquiries)] {
		all.Go(func() {
			if l.healthy(ctx, u) {
				l.mu.Lock()
				l.silence.probed = time.Now()
				l.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// An inquiry asks masters for their health.
type inquiry struct {
	about string
	done  chan struct{} // closed at the end
	leave bool          // the result
}

// watch ends a request by leave when its master is silent and another is healthy. The result ends watching; afterwards leave is not called.
func (l *List) watch(ctx context.Context, base *url.URL, leave context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := l.silentAfter; sleep.For(ctx, wait) == nil; wait = min(2*wait, maxSilence) {
			if l.silent(ctx, base) {
				leave(fmt.Errorf("%s: %w, and another master is healthy", base.Host, ErrSilent))
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// silent reports whether a request should leave its master.
func (l *List) silent(ctx context.Context, base *url.URL) bool {
	l.mu.Lock()
	s, now := &l.silence, time.Now()
	switch {
	case len(l.urls) < 2:
		l.mu.Unlock()
		return false
	case s.left == base.String() && l.urls[l.current%len(l.urls)].String() != s.left:
		l.mu.Unlock()
		return true // like the other requests
	case s.heard == base.String() && now.Sub(s.heardAt) < l.silentAfter, now.Sub(s.leftAt) < leaveEvery,
		s.asking != nil && s.asking.about != base.String():
		l.mu.Unlock()
		return false
	case s.asking != nil:
		i := s.asking
		l.mu.Unlock()
		select {
		case <-i.done:
			return i.leave
		case <-ctx.Done():
			return false
		}
	}
	i := &inquiry{about: base.String(), done: make(chan struct{})}
	s.asking = i
	asked := append([]*url.URL{base}, slices.DeleteFunc(slices.Clone(l.urls), func(u *url.URL) bool { return u.String() == i.about })...)
	l.mu.Unlock()

	better := l.healthier(ctx, asked[:min(len(asked), maxInquiries)])

	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.urls, better); at >= 0 {
		i.leave = true
		l.current, s.left, s.leftAt = at, i.about, time.Now()
	}
	s.asking = nil
	close(i.done)
	return i.leave
}

// healthier returns a master that is healthy while the first of the list does not answer so, else nil.
func (l *List) healthier(ctx context.Context, list []*url.URL) (better *url.URL) {
	type answer struct {
		from    *url.URL
		healthy bool
	}
	within, cancel := context.WithTimeout(ctx, l.healthWait)
	defer cancel()
	answers := make(chan answer, len(list))
	for _, u := range list {
		go func() { answers <- answer{u, l.healthy(within, u)} }()
	}
	for range list {
		switch a := <-answers; {
		case a.healthy && a.from == list[0]:
			return nil
		case a.healthy && better == nil:
			better = a.from
		}
	}
	if ctx.Err() != nil { // the request has its answer
		return nil
	}
	return better
}

func (l *List) healthy(ctx context.Context, base *url.URL) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := l.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	discard(resp)
	return resp.StatusCode == http.StatusOK
}
