package download

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestABrokenOldMaster: whatever the old master answers, a download ends with an error that says what.
func TestABrokenOldMaster(t *testing.T) {
	full := `{"users": [` + strings.Repeat(`{"id": 1, "username": "ada"},`, page-1) + `{"id": 2}], "pagination": {"total": 1000000000, "endIndex": 1000000000}}`
	tries := 0
	for what, c := range map[string]struct {
		path   string
		answer http.HandlerFunc
		call   func(context.Context, *client.Client) error
		want   string
	}{
		"pages without an end": {"/api/v1/users", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, full) }, users, "list has no end: it has sent"},
		"a large answer":       {"/api/v1/users", func(w http.ResponseWriter, r *http.Request) { endless(w, r, "[") }, users, "sends an answer of more than 64 KiB"},
		"a long line":          {"/api/v1/trials/metrics/trial_metrics", func(w http.ResponseWriter, r *http.Request) { endless(w, r, "x") }, reports, "sends a line of more than 32 KiB"},
		"a cut stream": {"/api/v1/trials/metrics/trial_metrics", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, `{"result": {"metrics": [{"trialId": 1}]}}`)
			fmt.Fprint(w, `{"result": {"met`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, reports, "the connection was closed during a response"},
		"an error in a stream": {"/api/v1/trials/metrics/trial_metrics", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, `{"error": {"httpCode": 500, "message": "no space left"}}`)
		}, reports, "no space left"},
		"silence": {"/api/v1/trials/metrics/trial_metrics", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, reports, "no byte within 200ms"},
		"not signed in": {"/api/v1/users", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error": {"error": "invalid token"}}`, http.StatusUnauthorized)
		}, users, "token"},
		"too many requests": {"/api/v1/users", func(w http.ResponseWriter, _ *http.Request) {
			tries++
			w.Header().Set("Retry-After", "3600")
			http.Error(w, `{"error": {"error": "slow down"}}`, http.StatusTooManyRequests)
		}, users, "slow down"},
		"a failure": {"/api/v1/users", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error": {"error": "pq: out of memory"}}`, http.StatusInternalServerError)
		}, users, "out of memory"},
		"no JSON": {"/api/v1/users", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, users, "is not a Detent or Determined master"},
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.path {
					t.Errorf("it asks for %s", r.URL)
				}
				c.answer(w, r)
			}))
			defer server.Close()
			b := newBounded()
			b.answer, b.line, b.silence, b.wait = 64<<10, 32<<10, 200*time.Millisecond, func(context.Context, time.Duration) error { return nil }
			old, err := client.New(client.Options{Master: server.URL, Token: "t", Transport: b, Patience: -1})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.call(t.Context(), old); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if tries != maxTries {
		t.Errorf("a request that the old master puts off was tried %d times", tries)
	}
}

func users(ctx context.Context, c *client.Client) error {
	_, err := list(ctx, lists{c, 1000, func(string) {}}, v1.ListUsers, askUsers, func(u v1.User) int { return u.ID })
	return err
}

func reports(ctx context.Context, c *client.Client) error {
	for _, err := range c.TrialMetrics(ctx, "training", 1) {
		if err != nil {
			return err
		}
	}
	return nil
}

// endless answers with a text until the client has had enough.
func endless(w http.ResponseWriter, r *http.Request, text string) {
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, strings.Repeat(text, 8<<10)); err != nil {
			return
		}
	}
}

// TestWhoAsks: nobody without a credential, and none in the address.
func TestWhoAsks(t *testing.T) {
	version := "0.38.1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/master":
			fmt.Fprintf(w, `{"version": %q, "clusterId": "c"}`, version)
		case "/api/v1/me":
			fmt.Fprint(w, `{"user": {"username": "ada", "admin": true}}`)
		default:
			http.Error(w, `{"error": {"error": "wrong"}}`, http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	is := func(a Access, want string) {
		t.Helper()
		_, _, _, err := connect(t.Context(), a, newBounded())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
	is(Access{Master: server.URL}, "DETENT_IMPORT_TOKEN")
	is(Access{Master: strings.Replace(server.URL, "//", "//ada:secret@", 1), Token: "t"}, "list of processes")
	is(Access{Master: server.URL, User: "ada", Password: "x"}, "does not let ada sign in")
	is(Access{Master: server.URL, Token: "t"}, "")
	version = "0.26.0"
	is(Access{Master: server.URL, Token: "t"}, `release "0.26.0"`)
}

// TestStorable: only the character that PostgreSQL does not store is replaced.
func TestStorable(t *testing.T) {
	for in, want := range map[string]string{`"a\u0000b"`: `"a\ufffdb"`, `"a\\u0000b"`: `"a\\u0000b"`, `"a\\\u0000"`: `"a\\\ufffd"`, `"é"`: `"é"`} {
		if got := storable([]byte(in)); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
