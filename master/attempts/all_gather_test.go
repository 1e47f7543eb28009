package attempts_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/rest/resttest"
)

// gathering is the body of a peer's call.
func gathering(peer, peers, size int) string {
	return fmt.Sprintf(`{"requestUuid":"r%d","numPeers":%d,"data":{"peer":%d,"d":%q}}`, peer, peers, peer, strings.Repeat("x", size))
}

// An all-gather has as many peers as the attempt's members may have, and a bounded size.
func TestGatherIsBounded(t *testing.T) {
	r := newRig(t)
	a := r.running(3)
	for _, path := range []string{"/all_gather", "/notify_container_running"} {
		a.ranks[0].Post(a.path(path), gathering(0, 3*attempts.MaxPeersPerMember+1, 10)).Says(http.StatusBadRequest, "3 members may have 48 peers")
		a.ranks[0].Post(a.path(path), gathering(0, 3*attempts.MaxPeersPerMember, attempts.MaxGatherBytes/(3*attempts.MaxPeersPerMember))).Says(http.StatusBadRequest, "the limit of each peer")
	}
	if n := r.Int(`SELECT count(*) FROM gathers`); n != 0 {
		t.Errorf("%d are stored", n)
	}
	// Three with all that a request may have in it are no round that is too large.
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if got := a.ranks[i].Post(a.path("/all_gather"), gathering(i, 3, 60_000)); got.Code != http.StatusOK || len(got.Body) < 180_000 {
				t.Errorf("%d, %d bytes: %.200s", got.Code, len(got.Body), got.Body)
			}
		})
	}
	wg.Wait()
}

// Waiting peers keep only their own data in memory, and all of them share one answer.
func TestGatherOfManyPeers(t *testing.T) {
	r := newRig(t)
	a := r.running(7)
	const peers, size = 100, 20_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	answers := make([]resttest.Answer, peers)
	call := func(i int) { answers[i] = a.ranks[i%7].Post(a.path("/all_gather"), gathering(i, peers, size)) }
	for i := range peers - 1 {
		wg.Go(func() { call(i) })
	}
	eventually(t, func() bool { return r.Int(`SELECT count(*) FROM gathers`) == peers-1 })
	r.Bus.Publish(attempts.Topic(a.id)) // they look once more, and find what is missing
	runtime.GC()
	runtime.ReadMemStats(&after)
	if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > 20*peers*size {
		t.Errorf("%d MB live for %d peers of %d KB each", live>>20, peers-1, size>>10)
	}
	call(peers - 1)
	wg.Wait()
	for i, got := range answers {
		if got.Code != http.StatusOK || string(got.Body) != string(answers[0].Body) || len(got.Body) < peers*size {
			t.Errorf("peer %d: %d, %d bytes", i, got.Code, len(got.Body))
		}
	}
	eventually(t, func() bool { return r.gathers.Rounds() == 0 && r.gathers.Held() == 0 })
}

// A peer whose attempt ends while it waits leaves nothing behind.
func TestGatherWhoseAttemptEnds(t *testing.T) {
	r := newRig(t)
	a := r.running(2)
	done := make(chan resttest.Answer)
	go func() { done <- a.ranks[0].Post(a.path("/all_gather"), gathering(0, 2, 10)) }()
	eventually(t, func() bool {
		progress, err := attempts.ProgressOf(t.Context(), r.DB, attempts.Round{AllocationID: a.id, Purpose: "data", Round: 1})
		return err == nil && progress.Arrived == 1
	})
	r.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE id = $1`, a.id)
	r.Bus.Publish(attempts.Topic(a.id))
	if got := <-done; got.Code != http.StatusConflict {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	eventually(t, func() bool { return r.gathers.Rounds() == 0 })
}
