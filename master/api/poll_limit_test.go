package api

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/rest"
)

// TestPollsAreLimited: a member of an attempt has a limited number of open polls, and others do not notice.
func TestPollsAreLimited(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	ctx, cancel := context.WithCancel(t.Context())
	path := "/api/v1/allocations/" + a.id + "/signals/preemption?timeout_seconds=60"
	var all sync.WaitGroup
	client := &http.Client{}
	for range rest.MaxPolls {
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
		for _, x := range r.api.router.Waiting() {
			n += x
		}
		return n
	}
	eventually(t, func() bool { return open() == rest.MaxPolls })
	a.ranks[0].get(path).says(429, "64 requests already wait")
	a.ranks[1].get("/api/v1/allocations/" + a.id + "/signals/preemption?timeout_seconds=0").ok()
	a.ranks[0].post("/api/v1/allocations/"+a.id+"/ready", "").ok() // what does not wait has no such limit
	if err := r.db.Exec(t.Context(), `UPDATE allocations SET preempt_at = now() WHERE id = $1`, a.id); err != nil {
		t.Fatal(err)
	}
	a.ranks[0].post("/api/v1/allocations/"+a.id+"/ready", "").ok()
	all.Wait() // all of them see the preemption
	cancel()
	eventually(t, func() bool { return open() == 0 })
	a.ranks[0].get(path).ok()
}
