package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Only an owner who requests more than a share waits.
func TestSharesOfOneOwnerLeaveTheOthers(t *testing.T) {
	s := newShares(8, 2)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	take := func(owner string, n int64) *share {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := s.take(ctx, owner, n)
		if err != nil {
			t.Fatalf("%s takes %d: %v", owner, n, err)
		}
		return got
	}
	first := take("greedy", 2)
	waiting, begun := context.WithCancel(t.Context())
	for range 20 { // these requests wait, and delay no other owner
		go func() {
			if more, err := s.take(waiting, "greedy", 2); err == nil {
				more.release()
			}
		}()
	}
	other := take("other", 2)
	other.release()
	other.release() // a second release has no effect
	begun()
	first.free()
	if _, err := s.take(over, "greedy", 1); err == nil {
		t.Error("an owner's share could be taken again before its release")
	}
	take("other", 8).release() // more than an owner's share: allowed, because no other owner waits
	first.release()
	take("greedy", 1).release()
	s.empties(t)
}

// empties waits until no request holds a share or waits for one.
func (s *shares) empties(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return s.held() == 0 })
}

// held counts the shares that requests hold or wait for.
func (s *shares) held() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.owners {
		n += own.users
	}
	return n
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatal("the condition never holds")
		}
		<-time.After(2 * time.Millisecond)
	}
}

// holding holds a share for a test.
func holding(t *testing.T, s *shares, owner string, n int64) *share {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := s.take(ctx, owner, n)
	if err != nil {
		t.Fatalf("%s takes %d: %v", owner, n, err)
	}
	return got
}

// While the master packs the code of one user's submission, other submissions of this user wait, and
// requests of other users do not. A waiting submission has released its body's memory.
func TestOneUserHoldsUpNobodyElse(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	code := `"modelDefinition":[` + modelFile("train.py", "print(1)\n") + `]`
	of := fmt.Sprintf("/api/v1/experiments/%d/", admin.create(yaml(), code))
	packing, listing := holding(t, r.api.receiver.packs, "user determined", 1), holding(t, r.api.receiver.lists, "user determined", 1)
	created := make(chan answer, 4)
	for range cap(created) {
		go func() {
			created <- me.post("/api/v1/experiments", createBody(yaml()+"\n#"+strings.Repeat("x", 2*smallBody), code))
		}()
	}
	eventually(t, func() bool { return r.api.receiver.packs.held() == 1+cap(created) })
	holding(t, r.api.receiver.memory, "other", bodyMemory).release() // all of it
	if r.api.receiver.memory.held() != cap(created) {
		t.Error("what a user has in handlers counts against the user's share until the answer")
	}
	admin.create(yaml(), code)
	admin.create(yaml()+"\n#"+strings.Repeat("y", 2*smallBody), code)
	admin.get(of + "file_tree").ok()
	if len(created) > 0 {
		t.Error("a user's submissions do not wait for each other")
	}
	packing.release()
	for range cap(created) {
		(<-created).ok()
	}
	listing.release()
	me.get(of + "file_tree").ok()
	for _, s := range []*shares{r.api.receiver.memory, r.api.receiver.packs, r.api.receiver.lists} {
		s.empties(t)
	}
}

// retried gets a file as runners do: without a time limit, and again if the master answers that it
// sends other code now.
func (c as) retried(path string) ([]byte, error) {
	for {
		req, err := http.NewRequestWithContext(c.r.t.Context(), "GET", c.r.url+path, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set(c.header, c.token)
		resp, err := (&http.Client{}).Do(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode == http.StatusOK {
			return body, err
		}
		if resp.StatusCode != http.StatusServiceUnavailable {
			return nil, fmt.Errorf("%d %s", resp.StatusCode, body)
		}
	}
}

// All tasks that start together receive their code, although others read theirs slowly.
func TestAllGetTheirCode(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Receiving.Stall = 10 * time.Second })
	me := r.user("determined")
	random := make([]byte, 6<<20) // more than the buffers of sockets whose client reads nothing
	_, _ = rand.Read(random)      // never fails
	id := me.create(yaml(), `"modelDefinition":[`+modelFile("data", string(random))+`]`)
	path := fmt.Sprintf("/api/v1/experiments/%d/", id)
	// Clients that read nothing, as many as one user may have.
	for i := range maxReadsPerUser {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		what := [...]string{"model_def", "file/download?path=data"}[i%2]
		fmt.Fprintf(conn, "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: %s\r\n\r\n", path, what, me.token)
	}
	eventually(t, func() bool { return r.api.receiver.reads.held() == maxReadsPerUser })
	r.user("admin").get(path + "file/download?path=data").ok()
	var wg sync.WaitGroup
	for range maxReadsPerUser + 8 {
		wg.Go(func() {
			if body, err := me.retried(path + "file/download?path=data"); err != nil || !bytes.Equal(body, random) {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		})
	}
	wg.Wait()
	me.get(path+"file/download?path=none").says(404, "no file")
	r.api.receiver.reads.empties(t)
}

// The master limits what callers who are not signed in can use: connections, bodies, and the number
// of bodies that it decodes at once.
func TestCallersWhoAreNotSignedIn(t *testing.T) {
	r := newRig(t)
	if n := r.api.App().Server().Concurrency; n != defaultMaxConnections {
		t.Errorf("%d connections; want %d", n, defaultMaxConnections)
	}
	const login = "/api/v1/auth/login"
	body := `{"username":"determined","password":"","isHashed":true}`
	r.anyone().post(login, body+strings.Repeat(" ", v1.PublicBody-len(body))).ok()
	r.anyone().post(login, body+strings.Repeat(" ", v1.PublicBody+1-len(body))).is(413)
	r.anyone().with("POST", login, io.LimitReader(&slowly{n: v1.PublicBody + 1}, v1.PublicBody+1), nil).is(413) // chunked
	held := holding(t, r.api.receiver.anonymous, "address 127.0.0.1", maxAnonymousPerAddress)
	answered := make(chan answer, 1)
	go func() { answered <- r.anyone().post(login, body) }()
	eventually(t, func() bool { return r.api.receiver.anonymous.held() == 2 })
	holding(t, r.api.receiver.anonymous, "address of another", maxAnonymousPerAddress).release()
	if len(answered) > 0 {
		t.Error("bodies of one address are not counted")
	}
	held.release()
	(<-answered).ok()
	r.anyone().post(login, "{").is(400)
	r.api.receiver.anonymous.empties(t)
}

// Owners have one request each before any has a second one, except for a few; and a request becomes the first one when the
// owner's first ends.
func TestFairShares(t *testing.T) {
	s := newFairShares(4, 3, 1)
	take := func(owner string) *share {
		t.Helper()
		got, err := s.take(t.Context(), owner, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	greedy, more := take("greedy"), take("greedy")
	third := make(chan *share)
	go func() { third <- take("greedy") }()
	eventually(t, func() bool { return s.requests("greedy") == 3 })
	a, b := take("a"), take("b")
	if s.contended() {
		t.Error("three owners for four shares are contended")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.take(over, "a", 1); err == nil {
		t.Error("a second owner has more than one request")
	}
	greedy.release()
	(<-third).release()
	more.release()
	take("a").release()
	take("a").release()
	var waiting []chan *share
	for _, owner := range []string{"c", "d", "e"} {
		got := make(chan *share, 1)
		go func() { got <- take(owner) }()
		waiting = append(waiting, got)
	}
	eventually(t, func() bool { return s.contended() })
	a.release()
	b.release()
	for _, got := range waiting {
		(<-got).release()
	}
	s.empties(t)
}
