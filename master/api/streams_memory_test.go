package api

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// readUntil reads what a connection brings up to a text.
func readUntil(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(seen.String(), text); {
		if _, err := io.ReadFull(conn, one); err != nil {
			t.Fatalf("%v before %q: %.300s", err, text, seen.String())
		}
		seen.Write(one)
	}
}

// count is how many are open.
func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// longReports stores n reports of a trial with so many bytes each.
func (r *rig) longReports(trial, n, bytes int) {
	r.t.Helper()
	r.exec(`INSERT INTO metrics (trial_id, run_id, grp, steps, ord, avg, reported_at) SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('x', $3)), now()
		FROM generate_series(1000, 999 + $2::int) AS n`, trial, n, bytes)
}

// A stream of changes that returns from the beginning reads what it missed a page at a time, and one that
// nobody reads ends.
func TestLiveReadsMissedReportsInPages(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Receiving.Stall = 300 * time.Millisecond })
	me := r.user("determined")
	trial, _ := r.trial(me.create(yaml()), 0)
	const n, bytes = 300, 400_000
	r.longReports(trial, n, bytes)
	path := fmt.Sprintf("/api/v1/detent/live?trials=%d&trials=%[1]d&after=0-0/x-0", trial)
	before := r.heap()
	conn := r.unread(me, path)
	readUntil(t, conn, "event: metrics")
	if grown := r.heap() - before; grown > n*bytes/4 {
		t.Errorf("the stream needs %d MB for reports of %d MB", grown>>20, n*bytes>>20)
	}
	eventually(t, func() bool { return r.api.webSockets.live.count() == 0 })

	s := me.open(path, nil)
	defer s.close()
	got := 0
	s.until("the end of what was missed", func(e event) bool {
		for ; e.name == "metrics" && got < n-1; e = s.event() {
			got++
		}
		return e.name == "position"
	})
	if got < n-1 {
		t.Errorf("%d of %d reports", got, n)
	}
}

// A user may have a limited number of streams of changes.
func TestLiveStreamsAreLimited(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for range r.api.webSockets.live.mostOfOne {
		if _, err := r.api.webSockets.live.join("determined"); err != nil {
			t.Fatal(err)
		}
	}
	me.get("/api/v1/detent/live").says(429, "streams of changes", "determined", "close one")
	if s := r.user("admin").open("/api/v1/detent/live", nil); s.event().name == "" {
		t.Error("another user's stream has not begun")
	}
}
