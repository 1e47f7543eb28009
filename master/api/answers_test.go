package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/spool"
)

// longList makes 12 experiments whose list has 6 MB, more than the kernel stores for a connection, and
// returns its path.
func (r *rig) longList() string {
	r.t.Helper()
	who := r.user("determined")
	for range 12 {
		who.create(yaml())
	}
	r.exec(`UPDATE experiments SET notes = repeat('"', 250000)`)
	return "/api/v1/experiments?limit=1000"
}

// unread requests a path and does not read the answer.
func (r *rig) unread(who as, path string) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s: %s\r\n\r\n", path, who.header, who.token); err != nil {
		r.t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(conn, one); err != nil { // it has begun
		r.t.Fatal(err)
	}
	return conn
}

// Clients that do not read their answers leave the memory to others, and cannot fill the disk.
func TestAnswersThatNobodyReads(t *testing.T) {
	r := newRig(t)
	const mb, total = 6, 512 << 20
	r.api.receiver.unread = spool.New(t.TempDir(), total)
	path := r.longList()
	greedy, other := r.user("determined"), r.user("admin")
	before := r.heap()
	var open []net.Conn
	for refused := false; !refused; {
		if len(open) > total/(mb<<20) {
			t.Fatalf("%d answers that nobody reads", len(open))
		}
		conn := r.unread(greedy, path)
		head := make([]byte, 11)
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatal(err)
		}
		switch status := "H" + string(head); {
		case strings.HasSuffix(status, " 200"):
			open = append(open, conn)
		case strings.HasSuffix(status, " 429"):
			refused = true
		default:
			t.Fatalf("the answer begins with %q", status)
		}
	}
	if len(open) < 3 {
		t.Errorf("a user can have only %d such answers", len(open))
	}
	if grown := r.heap() - before; grown > int64(mb<<20) {
		t.Errorf("%d answers of %d MB that nobody reads need %.1f MB of memory", len(open), mb, float64(grown)/(1<<20))
	}
	if a := other.get(path); a.code != 200 || !json.Valid(a.body) || len(a.body) < mb<<20/2 {
		t.Errorf("another user gets %d with %d bytes", a.code, len(a.body))
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	eventually(t, func() bool { return r.api.receiver.unread.Used() == 0 })
	if a := greedy.get(path); a.code != 200 {
		t.Errorf("after that: %d", a.code)
	}
	if a := greedy.do(http.MethodHead, path, ""); a.code != 200 || len(a.body) != 0 {
		t.Errorf("HEAD: %d with %d bytes", a.code, len(a.body))
	}
	eventually(t, func() bool { return r.api.receiver.unread.Used() == 0 })
}

// A user whose answers take long leaves turns to others.
func TestTurnsOfAnswers(t *testing.T) {
	r := newRig(t)
	var held []*share
	for range maxReadingPerUser {
		turn, err := r.api.receiver.answers.take(t.Context(), "user determined", 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, turn)
	}
	waits := make(chan int)
	who := r.user("determined")
	go func() { waits <- who.get("/api/v1/experiments").code }()
	r.user("admin").get("/api/v1/experiments").ok()
	select {
	case code := <-waits:
		t.Fatalf("an answer over the limit of its user: %d", code)
	case <-time.After(50 * time.Millisecond):
	}
	who.create(yaml()) // what changes something does not wait
	held[0].release()
	if code := <-waits; code != 200 {
		t.Errorf("the answer after its turn: %d", code)
	}
}
