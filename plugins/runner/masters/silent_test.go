package masters

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// stopped accepts connections and never answers, like a stopped process.
func stopped(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return "http://" + ln.Addr().String()
}

// slow is a master whose health is as given, and which answers requests after release.
func slow(t *testing.T, health int, release <-chan struct{}) (s *httptest.Server, requests, inquiries *atomic.Int64) {
	t.Helper()
	requests, inquiries = new(atomic.Int64), new(atomic.Int64)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			inquiries.Add(1)
			w.WriteHeader(health)
			return
		}
		requests.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "slow")
	}))
	t.Cleanup(s.Close)
	return s, requests, inquiries
}

func hasty(t *testing.T, urls ...string) *List {
	t.Helper()
	l := list(t, Options{URLs: urls})
	l.silentAfter, l.healthWait = 5*time.Millisecond, 300*time.Millisecond
	return l
}

// TestAStoppedMasterIsLeft: many requests wait at a master that is stopped; all of them are answered by the other, without a limit of patience.
func TestAStoppedMasterIsLeft(t *testing.T) {
	b, requests, inquiries := slow(t, http.StatusOK, closed())
	l := hasty(t, stopped(t), b.URL)
	const n = 50
	results := make(chan error, n)
	for range n {
		go func() {
			got, err := get(t, l, Policy{Replay: true, Hold: time.Hour})
			if err == nil && got != "slow" {
				err = errors.New(got)
			}
			results <- err
		}()
	}
	for range n {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if requests.Load() != n {
		t.Errorf("%d requests reached the other master", requests.Load())
	}
	if inquiries.Load() != 1 {
		t.Errorf("the other master was asked %d times for its health", inquiries.Load())
	}
	if got := l.URLs()[l.current]; got != b.URL {
		t.Errorf("the next request goes to %s", got)
	}
}

// TestASlowMasterIsNotLeft: a master that answers inquiries keeps its requests, as it does when no other master is healthy.
func TestASlowMasterIsNotLeft(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second int
	}{
		{"it is healthy", http.StatusOK, http.StatusOK},
		{"none is healthy", http.StatusServiceUnavailable, http.StatusServiceUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			a, requests, inquiries := slow(t, c.first, release)
			b, others, _ := slow(t, c.second, release)
			l := hasty(t, a.URL, b.URL)
			got := make(chan error, 1)
			go func() {
				_, err := get(t, l, Policy{Replay: true, Hold: time.Hour})
				got <- err
			}()
			for inquiries.Load() < 3 {
				select {
				case err := <-got:
					t.Fatalf("answered: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			close(release)
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			if requests.Load() != 1 || others.Load() != 0 {
				t.Errorf("%d requests reached the master, and %d the other", requests.Load(), others.Load())
			}
		})
	}
}

// TestWhatMayHaveBeenDoneStays: a request that may not be repeated waits at its master.
func TestWhatMayHaveBeenDoneStays(t *testing.T) {
	release := make(chan struct{})
	a, _, inquiries := slow(t, http.StatusServiceUnavailable, release)
	b, _, _ := slow(t, http.StatusOK, closed())
	l := hasty(t, a.URL, b.URL)
	first := make(chan error, 1)
	go func() {
		_, err := get(t, l, Policy{Hold: time.Hour})
		first <- err
	}()
	// Another request leaves the master meanwhile.
	if _, err := get(t, l, Policy{Replay: true, Hold: time.Hour}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-first:
		t.Fatalf("the request ended: %v", err)
	default:
	}
	close(release)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if inquiries.Load() > 1 {
		t.Errorf("%d inquiries", inquiries.Load())
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
