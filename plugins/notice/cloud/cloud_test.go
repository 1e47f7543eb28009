package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/plugins/notice/cloud/cloudtest"
)

// clock is the time of a test.
type clock struct{ now time.Time }

func (c *clock) get() time.Time { return c.now }

func newClock() *clock { return &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

// start serves a machine, and returns what looks at it.
func start(t *testing.T, name string, o Options) (*cloudtest.Machine, Cloud, *clock) {
	t.Helper()
	m, c := cloudtest.New(name, "vm-7"), newClock()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	found, err := Detect(t.Context(), server.URL, o, c.get)
	if err != nil {
		t.Fatal(err)
	}
	return m, found, c
}

// look expects a notice: its time after the clock's and its reason; "none", or what an error says.
func look(t *testing.T, c Cloud, k *clock, want string) {
	t.Helper()
	n, err := c.Look(t.Context())
	got := "none"
	switch {
	case err != nil:
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		return
	case n != nil && n.At.IsZero():
		got = "? " + n.Why
	case n != nil:
		got = fmt.Sprint(n.At.Sub(k.now), " ", n.Why)
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAWS: a spot instance's notice, with a token of version 2 that the service may forget; recommendations count only
// if they are asked for.
func TestAWS(t *testing.T) {
	m, c, k := start(t, "aws", Options{})
	if c.Name() != "AWS" {
		t.Fatal(c.Name())
	}
	look(t, c, k, "none")
	m.Set(cloudtest.Fate{Rebalance: true})
	look(t, c, k, "none")
	m.Set(cloudtest.Fate{Action: "terminate", ActionTime: "2026-11-30T12:02:00Z"})
	look(t, c, k, "2m0s AWS takes the spot machine back (terminate)")
	m.Forget()
	look(t, c, k, "2m0s AWS takes the spot machine back (terminate)")
	for i, when := range []string{"", "soon", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		m.Set(cloudtest.Fate{Action: "stop", ActionTime: when})
		look(t, c, k, "? AWS takes the spot machine back (stop)")
		m.Set(cloudtest.Fate{Down: i%2 == 0})
		look(t, c, k, map[bool]string{true: "503", false: "none"}[i%2 == 0])
	}
	m.Set(cloudtest.Fate{Action: "rm -rf /\n", ActionTime: "2026-11-30T12:02:00Z"})
	look(t, c, k, "2m0s AWS takes the spot machine back")

	m, c, k = start(t, "aws", Options{Rebalance: true})
	look(t, c, k, "none")
	m.Set(cloudtest.Fate{Rebalance: true})
	look(t, c, k, "? AWS recommends to leave the spot machine")
	m.Set(cloudtest.Fate{Rebalance: true, Action: "hibernate", ActionTime: "2026-11-30T12:00:00Z"})
	look(t, c, k, "0s AWS takes the spot machine back (hibernate)")
}

// TestGoogle: the time of a notice counts from the look that saw it first, a request is held until the value changes,
// and a migration is no notice.
func TestGoogle(t *testing.T) {
	m, c, k := start(t, "google", Options{Maintenance: true})
	if c.Name() != "Google" {
		t.Fatal(c.Name())
	}
	look(t, c, k, "none")
	held := make(chan struct{})
	go func() { // the change comes during the request, or before it: both end it at once
		defer close(held)
		m.Set(cloudtest.Fate{Preempted: true})
	}()
	look(t, c, k, "30s Google preempts the machine")
	<-held
	k.now = k.now.Add(12 * time.Second)
	m.Set(cloudtest.Fate{Preempted: true, Maintenance: "TERMINATE_ON_HOST_MAINTENANCE"})
	look(t, c, k, "18s Google preempts the machine")
	m.Set(cloudtest.Fate{Maintenance: "TERMINATE_ON_HOST_MAINTENANCE"})
	look(t, c, k, "1m0s Google ends the machine for maintenance of its host")
	m.Set(cloudtest.Fate{Maintenance: "MIGRATE_ON_HOST_MAINTENANCE"})
	look(t, c, k, "none")
	m.Set(cloudtest.Fate{Maintenance: "SOMETHING_NEW"})
	look(t, c, k, "no maintenance event that this program knows")
	m.Set(cloudtest.Fate{Down: true})
	look(t, c, k, "503")
	m.Set(cloudtest.Fate{Preempted: true})
	look(t, c, k, "30s Google preempts the machine")

	m, c, k = start(t, "google", Options{})
	m.Set(cloudtest.Fate{Maintenance: "TERMINATE_ON_HOST_MAINTENANCE"})
	look(t, c, k, "none")
}

// TestAzure: of the events of a set of machines those of this one count, the soonest first; an event that has begun has
// no time any more, and counts from the look that saw it first.
func TestAzure(t *testing.T) {
	m, c, k := start(t, "azure", Options{Maintenance: true})
	if c.Name() != "Azure" {
		t.Fatal(c.Name())
	}
	event := func(id, kind, status, vm, at string) cloudtest.Event {
		return cloudtest.Event{EventID: id, EventType: kind, EventStatus: status, Resources: []string{"other", vm}, NotBefore: at}
	}
	set := func(events ...cloudtest.Event) { m.Set(cloudtest.Fate{Events: events}) }
	look(t, c, k, "none")
	set(event("1", "Preempt", "Scheduled", "vm-70", "Mon, 30 Nov 2026 12:00:30 GMT"), event("2", "Freeze", "Scheduled", "vm-7", "Mon, 30 Nov 2026 12:05:00 GMT"))
	look(t, c, k, "none")
	set(event("3", "Reboot", "Scheduled", "vm-7", "Mon, 30 Nov 2026 12:15:00 GMT"), event("4", "Preempt", "Scheduled", "VM-7", "Mon, 30 Nov 2026 12:00:30 GMT"))
	look(t, c, k, "30s Azure evicts the spot machine")
	set(event("3", "Redeploy", "Scheduled", "vm-7", "Mon, 30 Nov 2026 12:15:00 GMT"))
	look(t, c, k, "15m0s Azure moves the machine to another host")
	set(event("5", "Terminate", "Started", "vm-7", ""))
	look(t, c, k, "0s Azure deletes the machine")
	k.now = k.now.Add(5 * time.Second)
	look(t, c, k, "-5s Azure deletes the machine")
	set(event("6", "Preempt", "Scheduled", "vm-7", "soon"))
	look(t, c, k, "? Azure evicts the spot machine")
	m.Set(cloudtest.Fate{Down: true})
	look(t, c, k, "503")
	set()
	look(t, c, k, "none")

	m, c, k = start(t, "azure", Options{})
	m.Set(cloudtest.Fate{Events: []cloudtest.Event{event("3", "Reboot", "Scheduled", "vm-7", "Mon, 30 Nov 2026 12:15:00 GMT")}})
	look(t, c, k, "none")
}

// TestNoCloud: something else that answers there is no cloud, also if it answers everything.
func TestNoCloud(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing is there":  http.NotFound,
		"a page for all":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\nsign in</html>") },
		"a redirect":        func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"version 1 of AWS":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusNotFound) },
		"an endless answer": endless,
		"a connection ends": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"an endless header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Metadata-Flavor", strings.Repeat("Google", 1<<16))
		},
		"a token with spaces": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a\r\nb: c") },
	} {
		server := httptest.NewServer(handler)
		c, err := Detect(t.Context(), server.URL, Options{}, newClock().get)
		if !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		server.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Detect(ctx, "http://127.0.0.1:1", Options{}, newClock().get); !errors.Is(err, context.Canceled) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := Named("alibaba", Address, Options{}, newClock().get); err == nil || !strings.Contains(err.Error(), "aws, google or azure") {
		t.Error(err)
	}
}

// endless answers until nobody reads any more.
func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(bytes.Repeat([]byte("a"), 1<<16)); err != nil {
			return
		}
	}
}

// TestHostileAnswers: whoever answers in the place of a cloud costs bounded memory and time, and brings no text of its
// own into a notice.
func TestHostileAnswers(t *testing.T) {
	for _, name := range []string{"aws", "google", "azure"} {
		for kind, handler := range map[string]http.HandlerFunc{
			"endless": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Metadata-Flavor", "Google")
				w.WriteHeader(http.StatusOK)
				endless(w, r)
			},
			"redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
			},
		} {
			server := httptest.NewServer(handler)
			c, err := Named(name, server.URL, Options{Rebalance: true, Maintenance: true}, newClock().get)
			if err != nil {
				t.Fatal(err)
			}
			n, err := c.Look(t.Context())
			if n != nil || err == nil || len(err.Error()) > 500 {
				t.Errorf("%s, %s: %+v, %v", name, kind, n, err)
			}
			server.Close()
		}
	}
}

// known are all reasons that a notice can have.
var known = map[string]bool{
	"AWS takes the spot machine back": true, "AWS takes the spot machine back (hibernate)": true, "AWS takes the spot machine back (stop)": true,
	"AWS takes the spot machine back (terminate)": true, "AWS recommends to leave the spot machine": true,
	"Azure evicts the spot machine": true, "Azure deletes the machine": true, "Azure restarts the machine": true, "Azure moves the machine to another host": true,
}

// FuzzAnswers: no answer of a service ends the program, makes a notice with a reason or a time that cannot be meant, or an
// error of unbounded length.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{"", "TRUE", "FALSE", "NONE", "null", "[]", `{"action":"terminate","time":"2026-11-30T12:02:00Z"}`, `{"action":1}`,
		`{"noticeTime":"2026-11-30T12:02:00Z"}`, `{"Events":[]}`, `{"Events":null}`, `{"Events":[null,{}]}`, `{"Events":{"0":1}}`,
		`{"DocumentIncarnation":1,"Events":[{"EventId":"A","EventType":"Preempt","ResourceType":"VirtualMachine","Resources":["vm-7"],"EventStatus":"Started","NotBefore":""}]}`,
		`{"Events":[{"EventType":"Terminate","Resources":["vm-7"],"NotBefore":"Mon, 30 Nov 9999 12:00:00 GMT"}]}`, strings.Repeat("[", 10_000), "\xff\xfe\x00"} {
		f.Add(200, seed)
		f.Add(503, seed)
	}
	now := newClock().now
	f.Fuzz(func(t *testing.T, status int, body string) {
		a := answer{status: status, body: []byte(body), header: http.Header{"Metadata-Flavor": {"Google"}}}
		check := func(n *Notice, err error) {
			t.Helper()
			if err != nil && len(err.Error()) > 2_000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if n == nil {
				return
			}
			if !known[n.Why] {
				t.Errorf("the reason %q", n.Why)
			}
			if d := n.At.Sub(now); !n.At.IsZero() && (d < -farAway || d > farAway) {
				t.Errorf("the time %v", n.At)
			}
		}
		check(awsNotice(a, now))
		check(awsAdvice(a))
		_, err := googleBool(a)
		check(nil, err)
		_, err = googleEnds(a)
		check(nil, err)
		name, err := azureMachine(a)
		check(nil, err)
		if len(name) > maxNameLength {
			t.Errorf("a name of %d bytes", len(name))
		}
		events, err := azureList(a)
		check(nil, err)
		z := azure{name: "vm-7", options: Options{Maintenance: true}, now: func() time.Time { return now }}
		check(z.notice(events), nil)
		isToken(a.body)
	})
}
