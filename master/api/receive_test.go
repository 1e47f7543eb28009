package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Clients that stop sending do not delay submissions of other clients, and are disconnected.
func TestStalledClientsHoldUpNobody(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Receiving.Stall = 3 * time.Second })
	me := r.user("determined")
	var stalled []net.Conn
	for range 8 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\nContent-Length: 1000000\r\n\r\n%s", me.token, strings.Repeat(" ", 20_000))
		stalled = append(stalled, conn)
	}
	if id := me.create(yaml()); id != 1 {
		t.Fatalf("experiment %d", id)
	}
	me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0}}}`).ok()
	for _, conn := range stalled {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(text), "stopped sending") {
			t.Fatalf("%v: %s", err, text)
		}
	}
	if used := r.api.router.Limits.Spool.Used(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
}

// TestBodiesLargerThanTheirShareOfTheDisk: one user's bodies on disk have at most a quarter of the spool.
func TestBodiesLargerThanTheirShareOfTheDisk(t *testing.T) {
	for most, want := range map[int64]int{4 << 20: 413, 16 << 20: 200} {
		r := newRig(t, func(c *Config) { c.Receiving.Spool = spool.New(t.TempDir(), most) })
		answer := r.user("determined").post("/api/v1/experiments-search", strings.Repeat(" ", 2<<20)+"{}").is(want)
		if want == 413 {
			answer.says(413, "this master stores at most 1.0 MB of incomplete requests for one user")
		}
	}
}

// Every route limits its bodies, with and without a declared length, and the error names the limit.
func TestLimitsOnLargeBodies(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for path, limit := range map[string]int{"/api/v1/experiments-search": v1.ReportBody, "/api/v1/experiments": v1.FilesBody, "/api/v1/commands": v1.FilesBody} {
		me.with("POST", path, io.LimitReader(&slowly{n: limit + 2}, int64(limit)+2), http.Header{}).is(413) // chunked
	}
	me.post("/api/v1/experiments-search", strings.Repeat(" ", v1.ReportBody+1)).says(413, "8.0 MB")
	me.post("/api/v1/experiments-search", strings.Repeat(" ", v1.ReportBody-2)+"{}").ok() // from disk
	me.post("/api/v1/experiments", `{"config":"`+strings.Repeat("x", v1.ReportBody)+`"}`).says(413, "in addition to its files")
	r.anyone().get("/info").ok()
	if used := r.api.router.Limits.Spool.Used(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
}
