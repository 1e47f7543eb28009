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

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// empties waits until no request holds a share or waits for one.
func empties(t *testing.T, s *rest.Shares) {
	t.Helper()
	eventually(t, func() bool { return s.Held() == 0 })
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
func holding(t *testing.T, s *rest.Shares, owner string, n int64) *rest.Share {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := s.Take(ctx, owner, n)
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
	packing, listing := holding(t, r.api.limits.packs, "user determined", 1), holding(t, r.api.limits.lists, "user determined", 1)
	created := make(chan answer, 4)
	for range cap(created) {
		go func() {
			created <- me.post("/api/v1/experiments", createBody(yaml()+"\n#"+strings.Repeat("x", 2*v1.SmallBody), code))
		}()
	}
	eventually(t, func() bool { return r.api.limits.packs.Held() == 1+cap(created) })
	holding(t, r.api.router.Limits.Memory, "other", rest.BodyMemory).Release() // all of it
	if r.api.router.Limits.Memory.Held() != cap(created) {
		t.Error("what a user has in handlers counts against the user's share until the answer")
	}
	admin.create(yaml(), code)
	admin.create(yaml()+"\n#"+strings.Repeat("y", 2*v1.SmallBody), code)
	admin.get(of + "file_tree").ok()
	if len(created) > 0 {
		t.Error("a user's submissions do not wait for each other")
	}
	packing.Release()
	for range cap(created) {
		(<-created).ok()
	}
	listing.Release()
	me.get(of + "file_tree").ok()
	for _, s := range []*rest.Shares{r.api.router.Limits.Memory, r.api.limits.packs, r.api.limits.lists} {
		empties(t, s)
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
	for i := range contexts.MaxSentPerUser {
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
	eventually(t, func() bool { return r.api.code.Turns.Held() == contexts.MaxSentPerUser })
	r.user("admin").get(path + "file/download?path=data").ok()
	var wg sync.WaitGroup
	for range contexts.MaxSentPerUser + 8 {
		wg.Go(func() {
			if body, err := me.retried(path + "file/download?path=data"); err != nil || !bytes.Equal(body, random) {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		})
	}
	wg.Wait()
	me.get(path+"file/download?path=none").says(404, "no file")
	empties(t, r.api.code.Turns)
}

// The master limits what callers who are not signed in can use: connections, bodies, and the number
// of bodies that it decodes at once.
func TestCallersWhoAreNotSignedIn(t *testing.T) {
	r := newRig(t)
	if n := r.api.Router().MaxConnections(); n != rest.DefaultMaxConnections {
		t.Errorf("%d connections; want %d", n, rest.DefaultMaxConnections)
	}
	const login = "/api/v1/auth/login"
	body := `{"username":"determined","password":"","isHashed":true}`
	r.anyone().post(login, body+strings.Repeat(" ", v1.PublicBody-len(body))).ok()
	r.anyone().post(login, body+strings.Repeat(" ", v1.PublicBody+1-len(body))).is(413)
	r.anyone().with("POST", login, io.LimitReader(&slowly{n: v1.PublicBody + 1}, v1.PublicBody+1), nil).is(413) // chunked
	held := holding(t, r.api.router.Limits.Anonymous, "address 127.0.0.1", rest.MaxAnonymousPerAddress)
	answered := make(chan answer, 1)
	go func() { answered <- r.anyone().post(login, body) }()
	eventually(t, func() bool { return r.api.router.Limits.Anonymous.Held() == 2 })
	holding(t, r.api.router.Limits.Anonymous, "address of another", rest.MaxAnonymousPerAddress).Release()
	if len(answered) > 0 {
		t.Error("bodies of one address are not counted")
	}
	held.Release()
	(<-answered).ok()
	r.anyone().post(login, "{").is(400)
	empties(t, r.api.router.Limits.Anonymous)
}
