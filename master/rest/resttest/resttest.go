// Package resttest serves routes on loopback for tests, and has a client that reads answers as tests do: a call, what it must be, and a
// value in it, in one line. It knows no noun; a test of a room serves the room's routes alone (Serve), and tests of all routes the router
// of a master (Listen).
package resttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Site is where routes are served.
type Site struct {
	T    testing.TB
	URL  string
	HTTP *http.Client
}

// Serve serves routes until the test ends. identify says who has a token.
func Serve(t testing.TB, identify func(context.Context, rest.Credential) (auth.Who, error), routes func(*rest.Router)) *Site {
	t.Helper()
	router := rest.New(t.Context(), rest.Config{Log: slog.New(slog.DiscardHandler), Identify: identify, Access: adminsAlone,
		AccessChanges: func() (<-chan struct{}, func()) { return nil, func() {} }, Again: unchanged,
		Poller:     func(c *rest.Call) string { return fmt.Sprint(c.Owner(), c.Who().AllocationID, c.Who().Rank) },
		LimitReads: database.LimitReads})
	routes(router)
	router.Mount()
	return Listen(t, router)
}

// ByName identifies whoever has the name of a user as a token: that user, without roles.
func ByName(db *database.DB) func(context.Context, rest.Credential) (auth.Who, error) {
	return func(ctx context.Context, c rest.Credential) (auth.Who, error) {
		id, err := database.Scalar[int](ctx, db, `SELECT id FROM users WHERE username = $1`, c.Token)
		if err != nil {
			return auth.Who{}, fault.New(fault.Unauthenticated, "nobody has this token")
		}
		return auth.Who{UserID: id, Username: c.Token, Admin: c.Token == "admin", SessionID: 1}, nil
	}
}

// unchanged says of callers whose answers are open that they still are who they were.
func unchanged(context.Context, []auth.Who) (func(auth.Who) (auth.Who, error), error) {
	return func(who auth.Who) (auth.Who, error) { return who, nil }, nil
}

// adminsAlone is the rule of a master for endpoints of administrators.
func adminsAlone(r *rest.Route, who auth.Who) error {
	if r.Access == v1.ByAdmins && !auth.Can(who, auth.Administer, auth.Object{Kind: r.Object}) {
		return fault.New(fault.Forbidden, "only an admin may do this")
	}
	return nil
}

// Listen serves a router until the test ends.
func Listen(t testing.TB, router *rest.Router) *Site {
	t.Helper()
	var listen net.ListenConfig
	lis, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Site{T: t, URL: "http://" + lis.Addr().String(), HTTP: &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{}}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = router.Listen(lis) // Shutdown has the error
	}()
	t.Cleanup(func() {
		s.HTTP.CloseIdleConnections()
		if err := router.Shutdown(10 * time.Second); err != nil {
			t.Errorf("the routes do not stop: %v", err)
		}
		_ = lis.Close() // a test that asks nothing may end before anything listens
		<-served
	})
	return s
}

// With is a client with a token; "" for none.
func (s *Site) With(token string) Client { return Client{s, token} }

// A Client calls with a token.
type Client struct {
	*Site
	Token string
}

// Get calls a GET.
func (c Client) Get(path string) Answer { c.T.Helper(); return c.Do("GET", path, "") }

// Post calls a POST.
func (c Client) Post(path, body string) Answer { c.T.Helper(); return c.Do("POST", path, body) }

// Patch calls a PATCH.
func (c Client) Patch(path, body string) Answer { c.T.Helper(); return c.Do("PATCH", path, body) }

// Put calls a PUT.
func (c Client) Put(path, body string) Answer { c.T.Helper(); return c.Do("PUT", path, body) }

// Delete calls a DELETE.
func (c Client) Delete(path string) Answer { c.T.Helper(); return c.Do("DELETE", path, "") }

// Do makes a call and reads its answer.
func (c Client) Do(method, path, body string) Answer {
	c.T.Helper()
	resp := c.send(c.T.Context(), method, path, strings.NewReader(body))
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatalf("%s %s: the body broke off: %v", method, path, err)
	}
	return Answer{T: c.T, What: method + " " + path, Code: resp.StatusCode, Header: resp.Header, Body: b}
}

func (c Client) send(ctx context.Context, method, path string, body io.Reader) *http.Response {
	c.T.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		c.T.Fatal(err)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		c.T.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// An Answer is what a call returned.
type Answer struct {
	T      testing.TB
	What   string
	Code   int
	Header http.Header
	Body   []byte
}

// OK fails the test unless the call succeeded.
func (a Answer) OK() Answer { a.T.Helper(); return a.Is(http.StatusOK) }

// Is fails the test unless the answer has this status.
func (a Answer) Is(code int) Answer {
	a.T.Helper()
	if a.Code != code {
		a.T.Fatalf("%s: %d, want %d: %s", a.What, a.Code, code, a.Body)
	}
	return a
}

// Says fails the test unless the call failed with this status, and with all these words in its message.
func (a Answer) Says(code int, words ...string) Answer {
	a.T.Helper()
	var e rest.ErrorBody
	if a.Is(code).Into(&e); e.Message == "" || e.Error.Error != e.Message {
		a.T.Fatalf("%s: not the body of an error: %s", a.What, a.Body)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			a.T.Fatalf("%s: %q does not say %q", a.What, e.Message, word)
		}
	}
	return a
}

// Into decodes the answer.
func (a Answer) Into(v any) Answer {
	a.T.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		a.T.Fatalf("%s: %v: %s", a.What, err, a.Body)
	}
	return a
}

// Tree decodes the answer into maps and lists.
func (a Answer) Tree() (tree map[string]any) { a.T.Helper(); a.Into(&tree); return tree }

// Records are the records of a stream that has ended.
func (a Answer) Records() (records []any) {
	a.T.Helper()
	for line := range strings.Lines(string(a.OK().Body)) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			a.T.Fatalf("%s: %q: %v", a.What, line, err)
		}
		records = append(records, At(a.T, record, "result"))
	}
	return records
}

// At digs a value out of a decoded answer by a path with dots; numbers index lists.
func At(t testing.TB, v any, path string) any {
	t.Helper()
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[step]; !ok {
				t.Fatalf("no %q of %q in %v", step, path, x)
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				t.Fatalf("no item %q of %q in a list of %d", step, path, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("%q of %q: nothing to look in: %v", step, path, v)
		}
	}
	return v
}

// A Stream is an answer that goes on.
type Stream struct {
	body io.ReadCloser
	in   *bufio.Reader
	stop context.CancelFunc
}

// Open opens a stream, which ends with the test at the latest, or after half a minute.
func (c Client) Open(path string) *Stream {
	c.T.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	resp := c.send(ctx, "GET", path, nil) //nolint:bodyclose // Close does, at the latest with the test
	s := &Stream{resp.Body, bufio.NewReader(resp.Body), stop}
	c.T.Cleanup(s.Close)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		c.T.Fatalf("%s: %d %s", path, resp.StatusCode, text)
	}
	return s
}

// Close ends the stream.
func (s *Stream) Close() { s.stop(); s.body.Close() }

// Line reads the next line.
func (s *Stream) Line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}
