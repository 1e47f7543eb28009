package api

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/store"
)

// gathering is the body of a peer's call.
func gathering(peer, peers, size int) string {
	return fmt.Sprintf(`{"requestUuid":"r%d","numPeers":%d,"data":{"peer":%d,"d":%q}}`, peer, peers, peer, strings.Repeat("x", size))
}

// An all-gather has as many peers as the attempt's members may have, and a bounded size.
func TestGatherIsBounded(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 3)
	for _, path := range []string{"/all_gather", "/notify_container_running"} {
		a.ranks[0].post(a.path(path), gathering(0, 3*maxPeersPerMember+1, 10)).says(http.StatusBadRequest, "3 members may have 48 peers")
		a.ranks[0].post(a.path(path), gathering(0, 3*maxPeersPerMember, maxGatherBytes/(3*maxPeersPerMember))).says(http.StatusBadRequest, "the limit of each peer")
	}
	var n int
	if err := r.db.QueryRow(t.Context(), "SELECT count(*) FROM gathers").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d are stored: %v", n, err)
	}
	// Three with all that a request may have in it are no round that is too large.
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if got := a.ranks[i].post(a.path("/all_gather"), gathering(i, 3, 60_000)); got.code != http.StatusOK || len(got.body) < 180_000 {
				t.Errorf("%d, %d bytes: %.200s", got.code, len(got.body), got.body)
			}
		})
	}
	wg.Wait()
}

// Waiting peers keep only their own data in memory, and all of them share one answer.
func TestGatherOfManyPeers(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 7)
	const peers, size = 100, 20_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	answers := make([]answer, peers)
	call := func(i int) { answers[i] = a.ranks[i%7].post(a.path("/all_gather"), gathering(i, peers, size)) }
	for i := range peers - 1 {
		wg.Go(func() { call(i) })
	}
	waitFor(t, func() bool {
		var n int
		err := r.db.QueryRow(t.Context(), "SELECT count(*) FROM gathers").Scan(&n)
		return err == nil && n == peers-1
	})
	r.bus.Publish(store.AllocationTopic(a.id)) // they look once more, and find what is missing
	runtime.GC()
	runtime.ReadMemStats(&after)
	if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > 20*peers*size {
		t.Errorf("%d MB live for %d peers of %d KB each", live>>20, peers-1, size>>10)
	}
	call(peers - 1)
	wg.Wait()
	for i, got := range answers {
		if got.code != http.StatusOK || string(got.body) != string(answers[0].body) || len(got.body) < peers*size {
			t.Errorf("peer %d: %d, %d bytes", i, got.code, len(got.body))
		}
	}
	waitFor(t, func() bool {
		r.api.gathers.mu.Lock()
		defer r.api.gathers.mu.Unlock()
		return len(r.api.gathers.rounds) == 0
	})
	empties(t, r.api.gathers.memory)
}

// A peer whose attempt ends while it waits leaves nothing behind.
func TestGatherWhoseAttemptEnds(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	done := make(chan answer)
	go func() { done <- a.ranks[0].post(a.path("/all_gather"), gathering(0, 2, 10)) }()
	waitFor(t, func() bool {
		progress, err := r.db.GatherProgress(t.Context(), store.GatherRound{AllocationID: a.id, Purpose: "data", Round: 1})
		return err == nil && progress.Arrived == 1
	})
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "killed"}}})
	r.bus.Publish(store.AllocationTopic(a.id))
	if got := <-done; got.code != http.StatusConflict {
		t.Errorf("%d %s", got.code, got.body)
	}
	waitFor(t, func() bool {
		r.api.gathers.mu.Lock()
		defer r.api.gathers.mu.Unlock()
		return len(r.api.gathers.rounds) == 0
	})
}
