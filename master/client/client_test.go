package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// serve starts a server and a client of it.
func serve(t *testing.T, o client.Options, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.Master = s.URL
	return newClient(t, o)
}

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestHashPassword(t *testing.T) {
	for password, want := range map[string]string{
		"":         "",
		"Passw0rd": "f49116cff17d90a8ae7e5335f60395b695ae12449adf82dbabfe1137bbb2425881df88e8e82dffc1b7376b4897391844ea6cd7271302eb7e16b93f83ea8e338e",
		"pässwörd": "9cde514def3cf1f44ec9ef89c8f319148793b49c241edff99e0730e6ed71a967d44fe258a93d5bcba7e40b47026629b03e596775ecb93fd23e415e1956e41398",
	} {
		if got := client.HashPassword(password); got != want {
			t.Errorf("HashPassword(%q) = %s", password, got)
		}
	}
}

func TestLoginUsesTheTokenFromThenOn(t *testing.T) {
	var login v1.LoginRequest
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/auth/login" {
			body, _ := io.ReadAll(r.Body)
			if err := v1.Unmarshal(body, &login); err != nil {
				t.Error(err)
			}
			io.WriteString(w, `{"token":"T1","user":{"active":true,"admin":false,"username":"ada"}}`)
			return
		}
		fmt.Fprintf(w, `{"user":{"active":true,"admin":false,"username":%q}}`, r.Header.Get("Authorization"))
	})
	if _, err := c.Login(t.Context(), "ada", "x"); err != nil {
		t.Fatal(err)
	}
	if login.IsHashed == nil || !*login.IsHashed || login.Password != client.HashPassword("x") || login.Username != "ada" {
		t.Errorf("sent %+v", login)
	}
	me, err := c.Me(t.Context())
	if err != nil || me.Username != "Bearer T1" {
		t.Errorf("Me = %v, %v", me, err)
	}
}

func TestTaskTokenTravelsInItsOwnHeader(t *testing.T) {
	c := serve(t, client.Options{TaskToken: "TT", Token: "U"}, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Grpc-Metadata-X-Allocation-Token"); got != "Bearer TT" {
			t.Errorf("task token: %q", got)
		}
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("a task sent Authorization: %q", got)
		}
		io.WriteString(w, `{}`)
	})
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRefusalsBecomeFaults(t *testing.T) {
	gateway := `{"error":{"code":5,"reason":"NotFound","error":"experiment 9 not found"}}`
	for _, c := range []struct {
		status  int
		body    string
		code    fault.Code
		message string
	}{
		{400, `{"message":"no such thing as that"}`, fault.Invalid, "no such thing as that"},
		{401, `{"error":{"error":"invalid credentials"}}`, fault.Unauthenticated, "invalid credentials"},
		{403, `{"error":{"message":"not yours"}}`, fault.Forbidden, "not yours"},
		{404, gateway, fault.NotFound, "experiment 9 not found"},
		{405, gateway, fault.Invalid, "experiment 9 not found"},
		{409, gateway, fault.Conflict, "experiment 9 not found"},
		{413, gateway, fault.TooLarge, "experiment 9 not found"},
		{429, gateway, fault.TooMany, "experiment 9 not found"},
		{500, gateway, fault.Internal, "experiment 9 not found"},
		{501, gateway, fault.Unimplemented, "experiment 9 not found"},
		{502, gateway, fault.Unavailable, "experiment 9 not found"},
		{503, gateway, fault.Unavailable, "experiment 9 not found"},
		{504, gateway, fault.Unavailable, "experiment 9 not found"},
		{500, "oops", fault.Internal, "HTTP 500 without a message"},
		{404, "<html>nginx</html>", fault.NotFound, "does not seem to be a master"},
		{400, "Client sent an HTTP request to an HTTPS server.\n", fault.Invalid, "is an HTTPS server; use https://"},
	} {
		cl := serve(t, client.Options{Patience: -1}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		_, err := client.Call(t.Context(), cl, v1.GetExperiment, 9)
		if fault.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.message) {
			t.Errorf("%d %s: %v (%v), want %v with %q", c.status, c.body, err, fault.CodeOf(err), c.code, c.message)
		}
		var se *client.StatusError
		if !errors.As(err, &se) || se.Status != c.status {
			t.Errorf("%d: the cause is %v", c.status, errors.Unwrap(err))
		}
	}
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestWrongAddressIsReportedAtOnce(t *testing.T) {
	tries := 0
	c := newClient(t, client.Options{Master: closedPort(t), OnRetry: func(error, time.Duration) { tries++ }})
	_, err := c.Me(t.Context())
	var ce *client.ConnectError
	if !fault.Is(err, fault.Unavailable) || !errors.As(err, &ce) || tries != 0 {
		t.Fatalf("%v after %d repetitions", err, tries)
	}
	if want := "no master answers at http://127.0.0.1:"; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), ": connection refused") {
		t.Errorf("the message is %q", err)
	}
}

func TestWhatMayBeRepeatedIs(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(*client.Client, context.Context) error
		want int32
	}{
		{"get", func(c *client.Client, ctx context.Context) error {
			_, err := client.Call(ctx, c, v1.GetExperiment, 1)
			return err
		}, 3},
		{"kill", func(c *client.Client, ctx context.Context) error { return client.Act(ctx, c, v1.KillExperiment, 1) }, 3},
		{"create", func(c *client.Client, ctx context.Context) error {
			_, err := c.CreateExperiment(ctx, v1.CreateExperimentRequest{}, nil)
			return err
		}, 1},
		{"delete", func(c *client.Client, ctx context.Context) error { return client.Act(ctx, c, v1.DeleteExperiment, 1) }, 1},
		{"login", func(c *client.Client, ctx context.Context) error { _, err := c.Login(ctx, "a", ""); return err }, 1},
	} {
		var calls atomic.Int32
		cl := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			io.WriteString(w, `{}`)
		})
		err := c.call(cl, t.Context())
		if calls.Load() != c.want || (err == nil) != (c.want == 3) {
			t.Errorf("%s: %d calls, %v; want %d", c.name, calls.Load(), err, c.want)
		}
	}
}

func TestMasterThatWentAwayIsWaitedFor(t *testing.T) {
	address := closedPort(t)
	start := func() *http.Server {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) })}
		go s.Serve(l)
		return s
	}
	var second *http.Server
	c := newClient(t, client.Options{Master: address, Patience: 30 * time.Second, OnRetry: func(error, time.Duration) {
		if second == nil {
			second = start()
		}
	}})
	first := start()
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Close()
	c.Close() // its idle connection, on which the next call would be sent into the void
	if _, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{}, nil); err != nil {
		t.Fatalf("nothing had been sent, so the call is repeated: %v", err)
	}
	if second == nil {
		t.Fatal("the call was never repeated")
	}
	second.Close()
}

func TestInsistingOnAMasterThatIsNotThereYet(t *testing.T) {
	address := closedPort(t)
	started := false
	c := newClient(t, client.Options{Master: address, Insist: true, Patience: 30 * time.Second, OnRetry: func(error, time.Duration) {
		if started {
			return
		}
		started = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) })}
		t.Cleanup(func() { s.Close() })
		go s.Serve(l)
	}})
	if _, err := c.Me(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, client.Options{OnRetry: func(error, time.Duration) { cancel() }}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := c.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	var refreshed []string
	c := serve(t, client.Options{Token: "old", Refresh: func(_ context.Context, refused string) (string, error) {
		refreshed = append(refreshed, refused)
		return "new", nil
	}}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"user":{"username":"ada"}}`)
	})
	me, err := c.Me(t.Context())
	if err != nil || me.Username != "ada" || len(refreshed) != 1 || refreshed[0] != "old" || c.Token() != "new" {
		t.Fatalf("%v, %v, refreshed %q, now %q", me, err, refreshed, c.Token())
	}
}

func TestRefreshThatDoesNotHelpIsNotRepeated(t *testing.T) {
	asked := 0
	c := serve(t, client.Options{Token: "old", Refresh: func(context.Context, string) (string, error) {
		asked++
		return "worse", nil
	}}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := c.Me(t.Context()); !fault.Is(err, fault.Unauthenticated) || asked != 1 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
}

func TestTokenStaysWithItsMaster(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was called with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	c := serve(t, client.Options{Token: "secret", Patience: -1}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Me(t.Context()); err == nil {
		t.Fatal("the client accepted a redirect to another host")
	}
}

func TestPages(t *testing.T) {
	var asked []string
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Get("limit")+"+"+q.Get("offset"))
		var offset int
		fmt.Sscan(q.Get("offset"), &offset)
		end := min(offset+2, 5)
		var items []string
		for i := offset; i < end; i++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, i))
		}
		fmt.Fprintf(w, `{"experiments":[%s],"pagination":{"offset":%d,"endIndex":%d,"total":5}}`, strings.Join(items, ","), offset, end)
	})
	all, err := client.List(t.Context(), c, v1.ListExperiments, client.Page{Limit: 2}, nil)
	if err != nil || len(all) != 5 || fmt.Sprint(asked) != "[2+0 2+2 2+4]" {
		t.Errorf("%d records, %v, asked %v", len(all), err, asked)
	}
	asked = nil
	one, err := client.List(t.Context(), c, v1.ListExperiments, client.Page{Limit: 2, Offset: 3, Single: true}, nil)
	if err != nil || len(one) != 2 || one[0].ID != 3 || fmt.Sprint(asked) != "[2+3]" {
		t.Errorf("%v, %v, asked %v", one, err, asked)
	}
	asked = nil
	for range client.Each(t.Context(), c, v1.ListExperiments, client.Page{Limit: 2}, nil) {
		break
	}
	if len(asked) != 1 {
		t.Errorf("a loop that was left asked %v", asked)
	}
}

func TestPagesThatDoNotAdvanceEnd(t *testing.T) {
	calls := 0
	c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		io.WriteString(w, `{"experiments":[{"id":1}],"pagination":{"offset":0,"endIndex":0,"total":5}}`)
	})
	if _, err := client.List(t.Context(), c, v1.ListExperiments, client.Page{}, nil); err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestUploadProgressCountsTheBody(t *testing.T) {
	var size int
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		size = len(body)
		io.WriteString(w, `{"experiment":{"id":4}}`)
	})
	var sent, total int64
	resp, err := c.CreateExperiment(t.Context(), v1.CreateExperimentRequest{
		ModelDefinition: []v1.File{{Path: "a", Content: make([]byte, 1<<20)}},
	}, func(s, of int64) { sent, total = s, of })
	if err != nil || resp.Experiment.ID != 4 {
		t.Fatal(err)
	}
	if sent != total || total != int64(size) || size < 1<<20 {
		t.Errorf("the progress is %d of %d, the server received %d", sent, total, size)
	}
}

func TestNotAMaster(t *testing.T) {
	c := serve(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") })
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "does not seem to be a master") {
		t.Errorf("Info: %v", err)
	}
	if _, err := client.Call(t.Context(), c, v1.GetExperiment, 1); err == nil || !strings.Contains(err.Error(), "is not a Detent or Determined master") {
		t.Errorf("Experiment: %v", err)
	}
}
