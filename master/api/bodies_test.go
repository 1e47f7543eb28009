package api

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// The unread part of a body must not become the next request on its connection.
func TestBodiesThatNobodyReads(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	for range 3 {
		me.post("/api/v1/experiments/1/pause", strings.Repeat("x", 100_000)).ok()
		me.post("/api/v1/experiments/1/pause", "").ok()
		me.post("/api/v1/nowhere", strings.Repeat("GET / HTTP/1.1\r\n\r\n", 10_000)).says(404, "no such path")
		me.get("/api/v1/me").ok()
	}
	if id != 1 {
		t.Fatalf("the first experiment is %d", id)
	}
}

func TestLimitsOnBodies(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for range 5 {
		r.anyone().post("/api/v1/auth/login", `{"username":"`+strings.Repeat("x", 2<<20)+`"}`).says(413, "the limit here is 8.0 KB")
		me.with("POST", "/api/v1/auth/login", &slowly{n: 2 << 20}, http.Header{}).says(413) // no length declared
		r.anyone().get("/info").ok()
	}
}

// slowly is a body whose length is not known beforehand.
type slowly struct{ n int }

func (s *slowly) Read(p []byte) (int, error) {
	n := min(len(p), s.n)
	for i := range n {
		p[i] = ' '
	}
	s.n -= n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// heap returns the size of the heap after a garbage collection.
func (r *rig) heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
