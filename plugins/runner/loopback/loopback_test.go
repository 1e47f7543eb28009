package loopback

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/fakemaster"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

const deadline = 20 * time.Second

// rig is a loopback server before one fake master.
type rig struct {
	*Server
	master *fakemaster.Master
	state  *fakemaster.State
}

func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	r := &rig{state: fakemaster.NewState(v1.TaskSpec{})}
	r.master = fakemaster.Start(t, r.state)
	var err error
	if cfg.Masters, err = masters.New(masters.Options{URLs: []string{r.master.URL()}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cfg.Masters.Close)
	cfg.Tokens = []string{fakemaster.Token, "det.user"}
	cfg.SpillDir = t.TempDir()
	if r.Server, err = Listen(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// ask sends a request with the task's token.
func (r *rig) ask(method, path string, body io.Reader) (int, string, error) {
	req, err := http.NewRequest(method, r.URL()+path, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+fakemaster.Token)
	client := http.Client{Timeout: deadline}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(content), err
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(deadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-timeout:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

func TestRequestsAreHeldThroughAnOutage(t *testing.T) {
	r := newRig(t, Config{})
	r.master.Stop()
	const n = 20
	var wg sync.WaitGroup
	errs := make(chan string, n)
	for i := range n {
		wg.Go(func() {
			code, body, err := r.ask("POST", fmt.Sprintf("/api/v1/trials/%d/metrics?x=a%%2Fb", i), strings.NewReader(fmt.Sprint(i)))
			if err != nil || code != 200 || body != "{}" {
				errs <- fmt.Sprintf("%d: %d %q %v", i, code, body, err)
			}
		})
	}
	eventually(t, "all requests are held", func() bool { return len(r.slots) == n })
	r.master.Listen(t)
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, s := range r.state.Seen() {
		seen[s.Path+" "+s.Body+" "+s.Token] = true
	}
	for i := range n {
		if want := fmt.Sprintf("/api/v1/trials/%d/metrics?x=a%%2Fb %d %s", i, i, fakemaster.Token); !seen[want] {
			t.Errorf("the master did not see %q", want)
		}
	}
}

func TestADatabaseThatIsAwayIsAnOutage(t *testing.T) {
	r := newRig(t, Config{})
	r.state.Unready(true)
	done := make(chan string, 1)
	go func() {
		code, body, err := r.ask("POST", "/api/v1/checkpoints", strings.NewReader("x"))
		done <- fmt.Sprint(code, body, err)
	}()
	eventually(t, "the request is held", func() bool { return len(r.slots) == 1 })
	r.state.Unready(false)
	if got := <-done; got != "200{}<nil>" {
		t.Fatal(got)
	}
}

func TestBigBodiesAreSpilledAndSentAgain(t *testing.T) {
	r := newRig(t, Config{InMemory: 1 << 10})
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	var cuts atomic.Int64
	sums := make(chan [32]byte, 10)
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got, _ := io.ReadAll(req.Body)
		sums <- sha256.Sum256(got)
		if cuts.Add(1) <= 2 {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		}
	}))
	if code, _, err := r.ask("PUT", "/api/v1/big", bytes.NewReader(body)); err != nil || code != 200 {
		t.Fatalf("%d %v", code, err)
	}
	for range 3 {
		if got := <-sums; got != sha256.Sum256(body) {
			t.Fatal("the body changed on the way")
		}
	}
	if left, _ := os.ReadDir(r.cfg.SpillDir); len(left) != 0 {
		t.Fatalf("files are left: %v", left)
	}
}

func TestBoundsOfBodies(t *testing.T) {
	r := newRig(t, Config{InMemory: 10, MaxBody: 1000, MaxBodies: 1500})
	if code, body, err := r.ask("POST", "/api/v1/task/logs", strings.NewReader(strings.Repeat("x", 1001))); err != nil || code != 413 || !strings.Contains(body, "over 1000 bytes") {
		t.Fatalf("%d %q %v", code, body, err)
	}
	r.master.Stop()
	done := make(chan int, 1)
	go func() {
		code, _, _ := r.ask("POST", "/api/v1/task/logs", strings.NewReader(strings.Repeat("x", 900)))
		done <- code
	}()
	eventually(t, "the first is held", func() bool { return len(r.slots) == 1 })
	eventually(t, "the second finds no room", func() bool {
		ctx := http.Client{Timeout: 200 * time.Millisecond}
		req, _ := http.NewRequest("POST", r.URL()+"/api/v1/task/logs", strings.NewReader(strings.Repeat("x", 900)))
		req.Header.Set("Authorization", "Bearer "+fakemaster.Token)
		resp, err := ctx.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 503
	})
	r.master.Listen(t)
	if code := <-done; code != 200 {
		t.Fatalf("the first: %d", code)
	}
	if code, _, err := r.ask("POST", "/api/v1/task/logs", strings.NewReader(strings.Repeat("x", 900))); code != 200 {
		t.Fatalf("room was not given back: %d %v", code, err)
	}
}

func TestTooManyAtOnce(t *testing.T) {
	r := newRig(t, Config{MaxHeld: 1})
	r.master.Stop()
	done := make(chan int, 1)
	go func() {
		code, _, _ := r.ask("GET", "/api/v1/me", nil)
		done <- code
	}()
	eventually(t, "one is held", func() bool { return len(r.slots) == 1 })
	if code, body, err := r.ask("GET", "/api/v1/me", nil); err != nil || code != 503 || !strings.Contains(body, "no more are accepted") {
		t.Fatalf("%d %q %v", code, body, err)
	}
	r.master.Listen(t)
	if code := <-done; code != 200 {
		t.Fatalf("the held one: %d", code)
	}
}

// TestCredentialsPassUnchanged: the masters check credentials, also those of other users. The
// runner adds none to a request.
func TestCredentialsPassUnchanged(t *testing.T) {
	r := newRig(t, Config{})
	for _, c := range []struct{ method, path, name, value string }{
		{"GET", "/api/v1/me", "", ""},
		{"GET", "/api/v1/me", "Authorization", "Bearer somebody-else"},
		{"GET", "/api/v1/me", "Cookie", "auth=somebody-else"},
		{"POST", "/api/v1/auth/login", "", ""},
		{"GET", "/info", "", ""},
		{"GET", "/api/v1/me", "Authorization", "Bearer det.user"},
		{"GET", "/api/v1/me", "Grpc-Metadata-X-Allocation-Token", "Bearer " + fakemaster.Token},
	} {
		req, _ := http.NewRequest(c.method, r.URL()+c.path, strings.NewReader("{}"))
		if c.name != "" {
			req.Header.Set(c.name, c.value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		seen := r.state.Seen()
		if resp.StatusCode != 200 || len(seen) == 0 {
			t.Fatalf("%s with %s: %q is answered %d", c.path, c.name, c.value, resp.StatusCode)
		}
		got := seen[len(seen)-1]
		for _, name := range []string{"Authorization", "Cookie", "Grpc-Metadata-X-Allocation-Token"} {
			want := ""
			if name == c.name {
				want = c.value
			}
			if got.Path != c.path || got.Header.Get(name) != want {
				t.Errorf("%s with %s: %q reached the master with %s: %q", c.path, c.name, c.value, name, got.Header.Get(name))
			}
		}
	}
}

// TestOthersTakeLittleRoom: requests without the task's tokens cannot take the room
// of its own, and those without any credentials bring no large body.
func TestOthersTakeLittleRoom(t *testing.T) {
	r := newRig(t, Config{})
	r.master.Stop()
	for range maxOthers {
		go func() {
			req, _ := http.NewRequest("GET", r.URL()+"/api/v1/me", nil)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_ = resp.Body.Close()
			}
		}()
	}
	eventually(t, "their room is full", func() bool { return len(r.others) == maxOthers })
	resp, err := http.Get(r.URL() + "/api/v1/me")
	if err != nil || resp.StatusCode != 503 {
		t.Fatalf("one more is answered %v %v", resp, err)
	}
	_ = resp.Body.Close()
	r.master.Listen(t)
	if code, _, err := r.ask("GET", "/api/v1/me", nil); code != 200 {
		t.Fatalf("the task's own: %d %v", code, err)
	}
	big, err := http.Post(r.URL()+"/api/v1/auth/login", "application/json", strings.NewReader(strings.Repeat("x", maxBare+1)))
	if err != nil || big.StatusCode != 413 {
		t.Fatalf("a large body without credentials is answered %v %v", big, err)
	}
	_ = big.Body.Close()
}

func TestThePreemptionSignalIsAlwaysInTime(t *testing.T) {
	r := newRig(t, Config{})
	const path = "/api/v1/allocations/7.trial.1/signals/preemption?timeout_seconds=0"
	r.master.Stop()
	began := time.Now()
	code, body, err := r.ask("GET", path, nil)
	if err != nil || code != 200 || body != `{"preempt":false}` {
		t.Fatalf("%d %q %v", code, body, err)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Fatalf("the answer took %s; the client gives up after 10", took)
	}
	r.master.Listen(t)
	r.state.Preempt(true)
	eventually(t, "the signal arrives", func() bool {
		_, body, _ = r.ask("GET", path, nil)
		return strings.HasPrefix(body, `{"preempt":true`)
	})
	r.state.Unready(true)
	if _, body, _ = r.ask("GET", path, nil); !strings.HasPrefix(body, `{"preempt":true`) {
		t.Fatalf("the answer after a preemption is %s", body)
	}
}

func TestASilentMasterDoesNotHoldTheSignalUp(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { <-block; _ = c.Close() }()
		}
	}()
	l, err := masters.New(masters.Options{URLs: []string{"http://" + ln.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Config{Masters: l, Tokens: []string{fakemaster.Token}, SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &rig{Server: s}
	if code, body, err := r.ask("GET", "/api/v1/allocations/a/signals/preemption?timeout_seconds=0", nil); code != 200 || body != `{"preempt":false}` {
		t.Fatalf("%d %q %v", code, body, err)
	}
}

// cutter answers the first request by closing the connection.
func cutter(n *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
			return
		}
		_, _ = io.WriteString(w, "again")
	})
}

func TestOnlyWhatMayBeRepeatedIsRepeated(t *testing.T) {
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"POST", "/api/v1/trials/7/metrics", 200},
		{"POST", "/api/v1/allocations/a/all_gather", 200},
		{"POST", "/api/v1/checkpoints", 200},
		{"PATCH", "/api/v1/checkpoints", 200},
		{"POST", "/api/v1/task/logs", 200},
		{"POST", "/api/v1/runs/start", 200},
		{"POST", "/mlflow/api/2.0/mlflow/runs/log-batch", 200},
		{"POST", "/mlflow/api/2.0/mlflow/runs/create", 502},
		{"GET", "/api/v1/experiments", 200},
		{"PUT", "/api/v1/notebooks/n/report_idle", 200},
		{"POST", "/api/v1/experiments", 502},
		{"POST", "/api/v1/models", 502},
	} {
		r := newRig(t, Config{})
		var n atomic.Int64
		r.state.Handle(cutter(&n))
		code, _, err := r.ask(c.method, c.path, strings.NewReader("x"))
		want := int64(2)
		if c.code != 200 {
			want = 1
		}
		if err != nil || code != c.code || n.Load() != want {
			t.Errorf("%s %s: %d after %d requests, %v; want %d after %d", c.method, c.path, code, n.Load(), err, c.code, want)
		}
	}
}

func TestWhatNeverArrivedIsSentWhateverItIs(t *testing.T) {
	r := newRig(t, Config{})
	r.master.Stop()
	done := make(chan int, 1)
	go func() {
		code, _, _ := r.ask("POST", "/api/v1/experiments", strings.NewReader("x"))
		done <- code
	}()
	eventually(t, "it is held", func() bool { return len(r.slots) == 1 })
	r.master.Listen(t)
	if code := <-done; code != 200 {
		t.Fatalf("%d", code)
	}
	if n := len(r.state.Seen()); n != 1 {
		t.Fatalf("%d requests arrived", n)
	}
}

func TestAnAnswerThatIsCutOffIsAskedForAgain(t *testing.T) {
	r := newRig(t, Config{})
	var n atomic.Int64
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		if n.Add(1) == 1 {
			_, _ = io.WriteString(w, "01234")
			return // the server closes the connection
		}
		_, _ = io.WriteString(w, "0123456789")
	}))
	if code, body, err := r.ask("GET", "/api/v1/experiments/1", nil); err != nil || code != 200 || body != "0123456789" {
		t.Fatalf("%d %q %v", code, body, err)
	}
}

func TestAnotherTasksAnswersAreItsOwn(t *testing.T) {
	r := newRig(t, Config{})
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }))
	if code, _, err := r.ask("GET", "/proxy/notebook/", nil); err != nil || code != 502 {
		t.Fatalf("%d %v", code, err)
	}
}

func TestStreamsArriveAsTheyAreSent(t *testing.T) {
	r := newRig(t, Config{})
	next := make(chan string)
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for line := range next {
			_, _ = io.WriteString(w, line+"\n")
			w.(http.Flusher).Flush()
		}
	}))
	req, _ := http.NewRequest("GET", r.URL()+"/api/v1/trials/7/logs?follow=true", nil)
	req.Header.Set("Authorization", "Bearer "+fakemaster.Token)
	go func() { next <- "one" }()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "one" {
		t.Fatalf("%q %v", lines.Text(), lines.Err())
	}
	next <- "two" // only after the first was read
	if !lines.Scan() || lines.Text() != "two" {
		t.Fatalf("%q %v", lines.Text(), lines.Err())
	}
	close(next)
	if lines.Scan() || lines.Err() != nil {
		t.Fatalf("%q %v", lines.Text(), lines.Err())
	}
}

func TestUpgradesBecomeATunnel(t *testing.T) {
	r := newRig(t, Config{})
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Upgrade") != "websocket" || req.Header.Get("Sec-WebSocket-Key") != "key" {
			w.WriteHeader(400)
			return
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			fmt.Fprint(rw, "echo "+line)
			_ = rw.Flush()
		}
	}))
	c, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /proxy/shell/ HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: key\r\nAuthorization: Bearer %s\r\n\r\n", fakemaster.Token)
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%+v %v", resp, err)
	}
	for _, word := range []string{"one\n", "two\n"} {
		fmt.Fprint(c, word)
		if got, err := in.ReadString('\n'); err != nil || got != "echo "+word {
			t.Fatalf("%q %v", got, err)
		}
	}
}

func TestAClientThatLeavesIsForgotten(t *testing.T) {
	r := newRig(t, Config{})
	r.master.Stop()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", fakemaster.Token)
	eventually(t, "it is held", func() bool { return len(r.slots) == 1 })
	_ = c.Close()
	eventually(t, "it is forgotten", func() bool { return len(r.slots) == 0 })
}

func TestHoldHasAnEnd(t *testing.T) {
	r := newRig(t, Config{Hold: time.Millisecond})
	r.master.Stop()
	if code, body, err := r.ask("GET", "/api/v1/me", nil); err != nil || code != 502 || !strings.Contains(body, "no master answered") {
		t.Fatalf("%d %q %v", code, body, err)
	}
}

// BenchmarkPass measures what loopback adds to the time of a small report.
func BenchmarkPass(b *testing.B) {
	state := fakemaster.NewState(v1.TaskSpec{})
	state.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	m := fakemaster.Start(b, state)
	l, err := masters.New(masters.Options{URLs: []string{m.URL()}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := Listen(Config{Masters: l, Tokens: []string{fakemaster.Token}, SpillDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := &rig{Server: s}
	for b.Loop() {
		if code, _, err := r.ask("POST", "/api/v1/trials/7/metrics", strings.NewReader(`{"group":"training"}`)); code != 200 {
			b.Fatal(code, err)
		}
	}
}
