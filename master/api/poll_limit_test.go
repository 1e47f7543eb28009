package api

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestPollsAreLimited: a member of an attempt has a limited number of open polls, and others do not notice.
func TestPollsAreLimited(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	ctx, cancel := context.WithCancel(t.Context())
	path := "/api/v1/allocations/" + a.id + "/signals/preemption?timeout_seconds=60"
	var all sync.WaitGroup
	client := &http.Client{}
	for range maxPolls {
		all.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set(a.ranks[0].header, a.ranks[0].token)
			if resp, err := client.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	open := func() (n int) {
		r.api.polls.mu.Lock()
		defer r.api.polls.mu.Unlock()
		for _, x := range r.api.polls.of {
			n += x
		}
		return n
	}
	eventually(t, func() bool { return open() == maxPolls })
	a.ranks[0].get(path).says(429, "64 requests already wait")
	a.ranks[1].get("/api/v1/allocations/" + a.id + "/signals/preemption?timeout_seconds=0").ok()
	a.ranks[0].post("/api/v1/allocations/"+a.id+"/ready", "").ok() // what does not wait has no such limit
	if _, err := r.db.Exec(t.Context(), `UPDATE allocations SET preempt_at = now() WHERE id = $1`, a.id); err != nil {
		t.Fatal(err)
	}
	a.ranks[0].post("/api/v1/allocations/"+a.id+"/ready", "").ok()
	all.Wait() // all of them see the preemption
	cancel()
	eventually(t, func() bool { return open() == 0 })
	a.ranks[0].get(path).ok()
}

// TestAPollThatIsWokenAgainAndAgain looks at once at first, and then with pauses.
func TestAPollThatIsWokenAgainAndAgain(t *testing.T) {
	wake := make(chan struct{}, 1)
	checks, began := 0, time.Now()
	ok, err := await(t.Context(), wake, time.Minute, func(context.Context) (bool, error) {
		checks++
		select {
		case wake <- struct{}{}:
		default:
		}
		return checks == freeChecks+5, nil
	})
	if !ok || err != nil || time.Since(began) < 5*pollPause {
		t.Errorf("%v %v: %d checks in %v", ok, err, checks, time.Since(began))
	}
}
