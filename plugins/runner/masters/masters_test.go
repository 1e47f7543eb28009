package masters

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// server answers with its name, and counts.
func server(t *testing.T, name string, status int) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, name)
	}))
	t.Cleanup(s.Close)
	return s, &n
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

func list(t *testing.T, o Options) *List {
	t.Helper()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func get(t *testing.T, l *List, p Policy) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := l.Send(req, nil, p)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestTheFirstThatAnswersIsKept(t *testing.T) {
	a, _ := server(t, "a", 200)
	b, nb := server(t, "b", 200)
	l := list(t, Options{URLs: []string{nobody(t), a.URL, b.URL}})
	for range 3 {
		if got, err := get(t, l, Policy{Replay: true}); err != nil || got != "a" {
			t.Fatalf("%q %v", got, err)
		}
	}
	a.Close()
	if got, err := get(t, l, Policy{Replay: true}); err != nil || got != "b" {
		t.Fatalf("%q %v", got, err)
	}
	if nb.Load() != 1 {
		t.Fatalf("b was asked %d times", nb.Load())
	}
}

func TestAMasterWithoutItsDatabaseIsPassedOver(t *testing.T) {
	a, _ := server(t, "no database", 503)
	b, _ := server(t, "b", 200)
	l := list(t, Options{URLs: []string{a.URL, b.URL}})
	if got, err := get(t, l, Policy{}); err != nil || got != "b" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestOneRoundWithoutHold(t *testing.T) {
	a, na := server(t, "no database", 503)
	l := list(t, Options{URLs: []string{nobody(t), a.URL}})
	if got, err := get(t, l, Policy{Replay: true}); err != nil || got != "no database" {
		t.Fatalf("the last answer is handed on: %q %v", got, err)
	}
	if na.Load() != 1 {
		t.Fatalf("asked %d times", na.Load())
	}
	l = list(t, Options{URLs: []string{nobody(t)}})
	if _, err := get(t, l, Policy{Replay: true}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("error %v", err)
	}
}

func TestHoldEndsWithTheCaller(t *testing.T) {
	l := list(t, Options{URLs: []string{nobody(t)}})
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	go cancel(gone)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/x", nil)
	if _, err := l.Send(req, nil, Policy{Replay: true, Hold: time.Hour}); !errors.Is(err, gone) {
		t.Fatalf("error %v", err)
	}
}

func TestManyWaitForOneThatComesBack(t *testing.T) {
	addr := strings.TrimPrefix(nobody(t), "http://")
	l := list(t, Options{URLs: []string{"http://" + addr}})
	const n = 100
	results := make(chan error, n)
	for range n {
		go func() {
			got, err := get(t, l, Policy{Replay: true, Hold: time.Hour})
			if err == nil && got != "back" {
				err = errors.New(got)
			}
			results <- err
		}()
	}
	for down, _ := l.down(); !down; down, _ = l.down() {
		if err := l.pause(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "back") })}
	go func() { _ = s.Serve(ln) }()
	defer s.Close()
	for range n {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
}

func TestASilentMasterIsLeft(t *testing.T) {
	block := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
	defer silent.Close()
	defer close(block)
	b, _ := server(t, "b", 200)
	l := list(t, Options{URLs: []string{silent.URL, b.URL}})
	if got, err := get(t, l, Policy{Replay: true, Patience: 50 * time.Millisecond}); err != nil || got != "b" {
		t.Fatalf("%q %v", got, err)
	}
	l = list(t, Options{URLs: []string{silent.URL}})
	if _, err := get(t, l, Policy{Replay: true, Patience: 20 * time.Millisecond}); !errors.Is(err, ErrSilent) {
		t.Fatalf("error %v", err)
	}
}

func TestWhatMayHaveBeenDoneIsNotDoneAgain(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		}
	}))
	defer s.Close()
	l := list(t, Options{URLs: []string{s.URL}})
	req, _ := http.NewRequest(http.MethodPost, "/x", nil)
	content := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
	if _, err := l.Send(req, content, Policy{Hold: time.Minute}); err == nil || n.Load() != 1 {
		t.Fatalf("%d requests, error %v", n.Load(), err)
	}
	n.Store(0)
	resp, err := l.Send(req, content, Policy{Hold: time.Minute, Replay: true})
	if err != nil || n.Load() != 2 {
		t.Fatalf("%d requests, error %v", n.Load(), err)
	}
	_ = resp.Body.Close()
}

func TestTheFileOfMasters(t *testing.T) {
	a, _ := server(t, "a", 200)
	b, _ := server(t, "b", 200)
	file := filepath.Join(t.TempDir(), "masters")
	l := list(t, Options{File: file})
	if _, err := get(t, l, Policy{}); err == nil || !strings.Contains(err.Error(), "DET_MASTERS_FILE") {
		t.Fatalf("error %v", err)
	}
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(a.URL + "/\n\nnot an address\n")
	if got, err := get(t, l, Policy{}); err != nil || got != "a" {
		t.Fatalf("%q %v", got, err)
	}
	put(b.URL + "\n" + a.URL + "\n")
	if got, err := get(t, l, Policy{}); err != nil || got != "a" {
		t.Fatalf("a master that answers was left: %q %v", got, err)
	}
	put("  " + b.URL + "  \n")
	if got, err := get(t, l, Policy{}); err != nil || got != "b" {
		t.Fatalf("%q %v", got, err)
	}
	put("")
	if urls := l.URLs(); len(urls) != 1 || urls[0] != b.URL {
		t.Fatalf("an empty file took the addresses away: %q", urls)
	}
}

func TestBadOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "DET_MASTERS must name at least one"},
		{Options{URLs: []string{"10.0.0.1:8080"}}, "is not the address of a master"},
		{Options{URLs: []string{"http://x"}, CAFile: file + ".none"}, "DET_MASTER_CA"},
		{Options{URLs: []string{"http://x"}, CAFile: file}, "no certificate"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestAPrivateAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "tls") }))
	defer s.Close()
	l := list(t, Options{URLs: []string{s.URL}})
	if _, err := get(t, l, Policy{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, encodePEM(s.Certificate().Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	l = list(t, Options{URLs: []string{s.URL}, CAFile: file})
	if got, err := get(t, l, Policy{}); err != nil || got != "tls" {
		t.Fatalf("%q %v", got, err)
	}
}

func TestCall(t *testing.T) {
	var tries atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(409)
			_, _ = io.WriteString(w, `{"error":{"code":6,"reason":"AlreadyExists","error":"somebody runs it"}}`)
		case "/stranger":
			w.WriteHeader(404)
			_, _ = io.WriteString(w, "<html>nothing here</html>")
		case "/base/cut":
			w.Header().Set("Content-Length", "100")
			if tries.Add(1) > 1 {
				w.Header().Set("Content-Length", "13")
				_, _ = io.WriteString(w, `{"next": "5"}`)
				return
			}
			_, _ = io.WriteString(w, `{"nex`)
		}
	}))
	defer s.Close()
	l := list(t, Options{URLs: []string{s.URL}})
	var refusal *Refusal
	err := l.Call(context.Background(), Request{Method: "POST", Path: "/gone", Message: v1.LogBatch{}}, nil, Policy{})
	if !errors.As(err, &refusal) || refusal.Status != 409 || refusal.Message != "somebody runs it" || !refusal.Ours {
		t.Fatalf("error %v", err)
	}
	err = l.Call(context.Background(), Request{Method: "POST", Path: "/stranger"}, nil, Policy{})
	if !errors.As(err, &refusal) || refusal.Ours {
		t.Fatalf("error %v", err)
	}
	l = list(t, Options{URLs: []string{s.URL + "/base"}})
	var out v1.LogBatchResponse
	if err := l.Call(context.Background(), Request{Method: "GET", Path: "/cut"}, &out, Policy{Replay: true, Hold: time.Minute}); err != nil || out.Next != 5 {
		t.Fatalf("%+v %v", out, err)
	}
}

func encodePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestASocketIsNotAMaster(t *testing.T) {
	// A socket that is bound and then connected to its own port is connected to itself.
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	ln, err := net.ListenTCP("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	addr.Port = ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	c, err := notItself(net.DialTCP("tcp", addr, addr))
	if c != nil || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("%v %v", c, err)
	}
	// The port is free again.
	if ln, err = net.ListenTCP("tcp", addr); err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}
