package loopback

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// stranger sends a request without a token of the task, which need not be whole.
func (r *rig) stranger(t *testing.T, text string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", r.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }() // the server may refuse the rest
	return bufio.NewReader(conn)
}

// TestOthersHaveShortHeaders: a header may have 64 KB.
func TestOthersHaveShortHeaders(t *testing.T) {
	r := newRig(t, Config{})
	in := r.stranger(t, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 900_000))
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 900 KB is answered %v %v", resp, err)
	}
}

// TestOthersDoNotKeepTheTaskOut: connections without a token of the task, which have sent nothing or a part, do not keep the
// task's program from opening more connections than callers without a token may have.
func TestOthersDoNotKeepTheTaskOut(t *testing.T) {
	r := newRig(t, Config{})
	first := r.stranger(t, "")
	for range 700 {
		r.stranger(t, "GET / HTTP/1.1\r\nX: ")
	}
	if _, err := first.ReadByte(); !errors.Is(err, io.EOF) { // waits for its end
		t.Errorf("an idle connection ends with %v", err)
	}
	r.master.Stop()
	const n = 200
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if code, _, err := r.ask("GET", "/api/v1/me", nil); code != 200 {
				t.Error(code, err)
			}
		})
		eventually(t, "the requests of the task are held", func() bool { return len(r.slots) == i+1 })
	}
	r.master.Listen(t)
	all.Wait()
}

// TestOthersShareLittleSpace: bodies with a made-up token use up their own space, and not that of the task.
func TestOthersShareLittleSpace(t *testing.T) {
	r := newRig(t, Config{MaxBody: 8 << 20, MaxBodies: 16 << 20})
	const head = "POST /x HTTP/1.1\r\nHost: x\r\nX-User-Token: made-up\r\nContent-Length: %d\r\n\r\n%s"
	for range 2 { // bodies that do not end
		r.stranger(t, fmt.Sprintf(head, 8<<20, strings.Repeat("y", 7<<20+5)))
	}
	eventually(t, "both are stored", func() bool { return r.holder.own.used.Load()+r.holder.others.used.Load() == 14<<20 })
	resp, err := http.ReadResponse(r.stranger(t, fmt.Sprintf(head, 3<<20, strings.Repeat("y", 3<<20))), nil)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("another body without a token of the task is answered %v %v", resp, err)
	}
	if code, body, err := r.ask("POST", "/api/v1/trials/1/metrics", strings.NewReader(strings.Repeat("x", 3<<20))); code != 200 {
		t.Errorf("the task's own request is answered %d %s %v", code, body, err)
	}
}

// TestBodiesOfOthersArriveInTime: a body without a token of the task has a deadline, which ends with the body.
func TestBodiesOfOthersArriveInTime(t *testing.T) {
	r := newRig(t, Config{BodyWithin: time.Millisecond})
	in := r.stranger(t, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a body that does not arrive is answered %v %v", resp, err)
	}
	var last time.Time
	b := timely(io.NopCloser(strings.NewReader("body")), func(at time.Time) error { last = at; return nil }, time.Hour)
	if last.IsZero() {
		t.Error("a body has no deadline")
	}
	if content, err := io.ReadAll(b); string(content) != "body" || err != nil || !last.IsZero() {
		t.Errorf("a body that arrived: %q %v, and its deadline is %v", content, err, last)
	}
	late := timely(&failing{os.ErrDeadlineExceeded}, func(time.Time) error { return nil }, time.Hour)
	if _, err := late.Read(make([]byte, 1)); !errors.Is(err, errLate) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
func (f *failing) Close() error             { return nil }
