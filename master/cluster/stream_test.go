package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// streamOf serves an event stream, line by line, and ends it when lines is closed.
func streamOf(t *testing.T, lines <-chan string) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/event/stream" || r.URL.Query().Get("namespace") != "default" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	c, err := New(Config{Address: server.URL, ClusterID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func waitWake(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case <-c.Wake():
	case <-time.After(20 * time.Second):
		t.Fatal("no wake-up arrived")
	}
}

// TestStreamNames tests which allocations and nodes events name, and that other events are ignored.
func TestStreamNames(t *testing.T) {
	lines := make(chan string)
	c := streamOf(t, lines)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.Run(ctx); close(ended) }()
	waitWake(t, c)
	if got := c.named.take(); !got.full {
		t.Error("opening the stream does not ask for a full list")
	}
	lines <- `{}`
	lines <- `{"Index":5,"Events":[{"Topic":"Allocation","Key":"a1","FilterKeys":["web"]}]}`
	lines <- `{"Index":6,"Events":[{"Topic":"Allocation","Key":"a2","FilterKeys":["det-x-1","dep"],"Payload":{"Allocation":{}}},{"Topic":"Node","Key":"n1"}]}`
	waitWake(t, c)
	got := c.named.take()
	if len(got.allocations) != 1 || !got.allocations["a2"] || !got.nodes || got.full {
		t.Errorf("the events named %+v", got)
	}
	// The stream ends and is opened again: events may have been missed.
	close(lines)
	waitWake(t, c)
	if got := c.named.take(); !got.full {
		t.Error("opening the stream again does not ask for a full list")
	}
	cancel()
	<-ended
}

// TestStreamEnds tests the errors with which a stream ends.
func TestStreamEnds(t *testing.T) {
	for name, test := range map[string]struct{ line, says string }{
		"no JSON":          {`nonsense`, "not valid JSON"},
		"an endless event": {`{"Events":[{"Key":"` + strings.Repeat("x", maxEvent) + `"}]}`, "token too long"},
		"closed":           {"", "closed it"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan string, 1)
			if test.line != "" {
				lines <- test.line
			}
			close(lines)
			c := streamOf(t, lines)
			if err := c.stream(t.Context(), "default", true); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the stream ended with %v", err)
			}
		})
	}
}

// TestNamedIsBounded tests that very many events cause one full list.
func TestNamedIsBounded(t *testing.T) {
	var n named
	for i := range 3 * maxNamed {
		n.add(fmt.Sprint(i))
		if len(n.allocations) > maxNamed {
			t.Fatalf("%d names are kept", len(n.allocations))
		}
	}
	if got := n.take(); !got.full {
		t.Error("a flood does not ask for a full list")
	}
	if got := n.take(); got.full || got.nodes || len(got.allocations) > 0 {
		t.Errorf("take does not empty the set: %+v", got)
	}
}

// TestAnswersAreBounded tests that reading an endless answer fails at the limit.
func TestAnswersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	c, err := New(Config{Address: server.URL, ClusterID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Observe(t.Context(), Known{})
	if err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("an endless answer is met with %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{
		{Address: "http://127.0.0.1:4646"},
		{ClusterID: "c1"},
		{ClusterID: "c1", Address: "127.0.0.1:4646"},
		{ClusterID: "c1", Address: "ftp://127.0.0.1"},
		{ClusterID: "c1", Address: "https://127.0.0.1:4646", TLS: TLS{CA: "/does/not/exist"}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
