package sender

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

const key = "sesame"

// A world is a database with an experiment that names the webhooks of a test.
type world struct {
	t          *testing.T
	db         *database.DB
	bus        *database.Bus
	term       int64
	experiment int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &world{t: t, db: db, bus: database.NewBus(dsn, slog.New(slog.DiscardHandler))}
	if w.term, err = db.Elect(t.Context(), "m1", "", time.Hour); err != nil || w.term == 0 {
		t.Fatal(w.term, err)
	}
	w.experiment, err = experiments.Create(t.Context(), db, nil, experiments.New{OwnerID: 1, ProjectID: 1, Name: "iris", Pool: "default", Weight: 1, Priority: 42,
		Config: []byte(`{"integrations": {"webhooks": {"webhook_name": ["hook"]}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) hook(url string) int {
	w.t.Helper()
	id, err := webhook.Insert(w.t.Context(), w.db, webhook.Webhook{Name: "hook", URL: url, Type: event.Default, Mode: event.Specific,
		Triggers: []webhook.Trigger{{Type: event.Custom}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// fire stores an event for all webhooks.
func (w *world) fire(title string) {
	w.t.Helper()
	if _, err := webhook.FireCustom(w.t.Context(), w.db, w.experiment, nil, event.CustomData{Title: title, Level: "INFO"}); err != nil {
		w.t.Fatal(err)
	}
	w.bus.Publish(webhook.Topic)
}

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// lead sends until the returned function is called, as the leader of a term does.
func (w *world) lead(s *Sender, term int64) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, term, func() bool { return true })
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.t.Cleanup(stop)
	return stop
}

func (w *world) sender() *Sender {
	return New(Config{SigningKey: key, Allow: loopback(), Timeout: 5 * time.Second}, w.db, w.bus, slog.New(slog.DiscardHandler))
}

// until waits for something, on a slow machine too.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !so(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("the condition was not true in time: %s", what)
		}
	}
}

func (w *world) deliveries(hook int) []webhook.Delivery {
	w.t.Helper()
	list, err := webhook.Deliveries(w.t.Context(), w.db, hook, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// A target receives requests.
type target struct {
	*httptest.Server
	mu   sync.Mutex
	got  []received
	then func(n int, w http.ResponseWriter, r *http.Request) // answers request n
}

type received struct{ id, title string }

func newTarget(t *testing.T, then func(n int, w http.ResponseWriter, r *http.Request)) *target {
	g := &target{then: then}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	at, _ := strconv.ParseInt(r.Header.Get(event.TimestampHeader), 10, 64)
	if err != nil || r.Header.Get(event.SignatureHeader) != event.Signature(key, at, body) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var p struct {
		ID   string `json:"event_id"`
		Data struct {
			Custom event.CustomData `json:"custom_data"`
		} `json:"event_data"`
	}
	if json.Unmarshal(body, &p) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.got = append(g.got, received{p.ID, p.Data.Custom.Title})
	n := len(g.got)
	g.mu.Unlock()
	if g.then != nil {
		g.then(n, w, r)
	}
}

func (g *target) all() []received {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]received{}, g.got...)
}

func titles(list []received) string {
	var words []string
	for _, r := range list {
		words = append(words, r.title)
	}
	return strings.Join(words, " ")
}

// TestInOrder: the events of a webhook arrive in their order, each once, also while some
// fail at first.
func TestInOrder(t *testing.T) {
	w := newWorld(t)
	g := newTarget(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	hook := w.hook(g.URL)
	w.lead(w.sender(), w.term)
	want := []string{}
	for i := range 20 {
		w.fire(fmt.Sprint("e", i))
		want = append(want, fmt.Sprint("e", i))
		if i == 2 {
			want = append(want, "e2")
		}
	}
	w.until("all events arrive", func() bool { return len(g.all()) >= 21 })
	if got := titles(g.all()); got != strings.Join(want, " ") {
		t.Errorf("the events arrived as %s", got)
	}
	got := g.all()
	if got[2].id != got[3].id || got[1].id == got[2].id {
		t.Errorf("the ids are %v", got[:4])
	}
	w.until("the log is complete", func() bool {
		for _, d := range w.deliveries(hook) {
			if d.State != "DELIVERED" || *d.Status != 200 {
				return false
			}
		}
		return true
	})
	if d := w.deliveries(hook)[17]; d.Tries != 2 || d.Error != "" {
		t.Errorf("the one that failed at first: %+v", d)
	}
}

// TestAnswers: the answers after which a delivery is tried again.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	elsewhere := newTarget(t, nil)
	for _, c := range []struct {
		status       int
		state, error string
	}{
		{200, "DELIVERED", ""}, {204, "DELIVERED", ""}, {302, "FAILED", "302; redirects are not followed"}, {400, "FAILED", "answered 400"}, {404, "FAILED", "answered 404"},
		{408, "WAITING", "answered 408"}, {410, "FAILED", "answered 410"}, {429, "WAITING", "answered 429"}, {500, "WAITING", "answered 500"}, {503, "WAITING", "answered 503"},
	} {
		g := newTarget(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(c.status)
		})
		s := w.sender()
		d := webhook.Delivery{ID: 1, URL: g.URL, Type: event.Default, EventID: "x", Event: []byte(`{"event_type":"CUSTOM"}`)}
		o := s.send(t.Context(), d)
		if r := o.result(d); r.State != c.state || r.Status != c.status || !strings.Contains(r.Error, c.error) || (r.Error == "") != (c.error == "") {
			t.Errorf("%d: %+v", c.status, r)
		}
	}
	if n := len(elsewhere.all()); n > 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
	delays := []time.Duration{}
	for tries := range 20 {
		r := outcome{err: io.EOF, retry: true}.result(webhook.Delivery{Tries: tries})
		delays = append(delays, r.RetryAfter)
	}
	if delays[0] != time.Second || delays[3] != 8*time.Second || delays[19] != maxDelay {
		t.Errorf("the delays are %v", delays)
	}
	old := webhook.Delivery{Tries: leastRetries, Seconds: giveUpAfter.Seconds() + 1}
	if r := (outcome{err: io.EOF, retry: true}).result(old); r.State != "FAILED" {
		t.Errorf("a day later: %+v", r)
	}
	old.Tries--
	if r := (outcome{err: io.EOF, retry: true}).result(old); r.State != "WAITING" {
		t.Errorf("a day later, tried seldom: %+v", r)
	}
}

// TestNothingInside: the master rejects every address inside of the network when it connects, and
// does not send the event again.
func TestNothingInside(t *testing.T) {
	w := newWorld(t)
	g := newTarget(t, nil)
	port := g.URL[strings.LastIndex(g.URL, ":"):]
	t.Setenv("HTTP_PROXY", g.URL) // the environment of the operator leads nowhere either
	s := New(Config{Timeout: 5 * time.Second}, w.db, w.bus, slog.New(slog.DiscardHandler))
	for _, address := range []string{"http://127.0.0.1" + port, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://0.0.0.0" + port,
		"http://2130706433" + port, "http://0x7f000001" + port, "http://127.1" + port, "http://[::1]" + port, "http://169.254.169.254/latest/meta-data", "http://localhost.localdomain" + port} {
		d := webhook.Delivery{ID: 1, URL: address, Type: event.Default, EventID: "x", Event: []byte(`{"event_type":"CUSTOM"}`)}
		o := s.send(t.Context(), d)
		if o.err == nil {
			t.Errorf("%s: a request arrived", address)
		} else if o.retry && !strings.Contains(o.err.Error(), "lookup") && !strings.Contains(o.err.Error(), "no such host") {
			t.Errorf("%s: %v", address, o.err)
		}
	}
	if n := len(g.all()); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
	if o := w.sender().send(t.Context(), webhook.Delivery{URL: "http://localhost" + port, Type: event.Default, EventID: "x", Event: []byte(`{}`)}); o.err != nil {
		t.Errorf("an allowed address: %v", o.err)
	}
}

// TestKilledBetweenEventAndSend: a master that dies at any point loses no event. What was
// sent and not recorded is sent again, with the same id, before later events.
func TestKilledBetweenEventAndSend(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	arrived := make(chan int, 100)
	g := newTarget(t, func(n int, _ http.ResponseWriter, r *http.Request) {
		arrived <- n
		if n == 1 { // the request of the first master: its answer never comes
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
	})
	defer close(hold)
	hook := w.hook(g.URL)

	w.fire("e0") // killed before anything was sent: no leader
	w.fire("e1")
	stored := 0
	if err := w.db.QueryRow(t.Context(), `SELECT count(*) FROM webhook_outbox`).Scan(&stored); err != nil || stored != 2 {
		t.Fatalf("%d events are stored, %v", stored, err)
	}

	first := w.lead(w.sender(), w.term) // killed while the request is in flight
	<-arrived
	first()
	if list := w.deliveries(hook); list[1].State != "WAITING" || list[1].Tries != 0 {
		t.Fatalf("after the first death: %+v", list[1])
	}

	// The master is killed after the answer, before it has stored the result: a leader of a later
	// term has the lease, so the fence rejects the result of the old leader.
	if err := w.db.Resign(t.Context(), "m1", w.term); err != nil {
		t.Fatal(err)
	}
	later, err := w.db.Elect(t.Context(), "m2", "", time.Hour)
	if err != nil || later == 0 {
		t.Fatal(later, err)
	}
	stale := w.lead(w.sender(), w.term)
	<-arrived
	stale()
	if list := w.deliveries(hook); list[1].State != "WAITING" {
		t.Fatalf("a master without the lease stored a result: %+v", list[1])
	}
	before := len(g.all())

	w.lead(w.sender(), later)
	w.until("the events arrive", func() bool { list := w.deliveries(hook); return list[0].State == "DELIVERED" })
	all := g.all()
	ids := map[string]string{}
	for _, r := range all {
		if known, ok := ids[r.title]; ok && known != r.id {
			t.Errorf("event %s has two ids", r.title)
		}
		ids[r.title] = r.id
	}
	if ids["e0"] == ids["e1"] || len(ids) != 2 {
		t.Errorf("the ids are %v", ids)
	}
	if rest := titles(all[before:]); rest != "e0 e1" && rest != "e1" || strings.Contains(titles(all), "e1 e0") {
		t.Errorf("the events arrived as %s", titles(all))
	}
}

// TestSlowTargetsDelayNoOther: many receivers that never answer cannot keep others waiting.
func TestSlowTargetsDelayNoOther(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	slow := newTarget(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	defer close(hold)
	good := newTarget(t, nil)
	for range 2 * workers {
		w.hook(slow.URL)
	}
	w.hook(good.URL)
	s := New(Config{SigningKey: key, Allow: loopback(), Timeout: time.Second}, w.db, w.bus, slog.New(slog.DiscardHandler))
	w.fire("e0")
	w.lead(s, w.term)
	w.until("the first event arrives", func() bool { return len(good.all()) == 1 })
	// From now on the slow ones have failed: they share half of the workers.
	for i := 1; i <= 10; i++ {
		w.fire(fmt.Sprint("e", i))
	}
	w.until("all events arrive", func() bool { return len(good.all()) == 11 })
	if n := len(slow.all()); n > 12*workers {
		t.Errorf("meanwhile the slow ones had %d requests", n)
	}
}

// TestSlowOwnersDelayNoOther: receivers that answer just in time, of however many webhooks in however
// many workspaces of one user, leave room for others.
func TestSlowOwnersDelayNoOther(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	slow := newTarget(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	defer close(hold)
	good := newTarget(t, nil)
	for i := range 3 * workers {
		name := fmt.Sprint("mallory-", i)
		if err := w.db.Exec(t.Context(), `WITH s AS (INSERT INTO workspaces (name, owner_id) VALUES ($1, 2) RETURNING id), h AS (
				INSERT INTO webhooks (workspace_id, name, url, type, mode) SELECT id, 'slow', $2, 'DEFAULT', 'WORKSPACE' FROM s RETURNING id)
			INSERT INTO webhook_deliveries (webhook_id, event_id, event, state) SELECT id, gen_random_uuid(), '{"event_type":"CUSTOM"}', 'WAITING' FROM h`, name, slow.URL); err != nil {
			t.Fatal(err)
		}
	}
	w.hook(good.URL)
	s := New(Config{SigningKey: key, Allow: loopback(), Timeout: time.Minute}, w.db, w.bus, slog.New(slog.DiscardHandler))
	w.lead(s, w.term)
	w.until("the slow ones have what they may", func() bool { return len(slow.all()) == maxOfOwner })
	for i := range 5 {
		w.fire(fmt.Sprint("e", i))
	}
	w.until("the others' events arrive meanwhile", func() bool { return len(good.all()) == 5 })
	if n := len(slow.all()); n != maxOfOwner {
		t.Errorf("the slow ones have %d requests at once, of at most %d", n, maxOfOwner)
	}
}

// TestEventsThatTakeTooLong: a transaction that does not end in time is tried again with fewer events, so that these arrive.
func TestEventsThatTakeTooLong(t *testing.T) {
	w := newWorld(t)
	g := newTarget(t, nil)
	w.hook(g.URL)
	for _, sql := range []string{
		`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM webhook_deliveries WHERE xmin = pg_current_xact_id()::xid) > 10 THEN RAISE EXCEPTION 'too slow' USING ERRCODE = '57P03'; END IF;
			RETURN NEW; END $$`,
		`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON webhook_deliveries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`,
	} {
		if err := w.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const events = 30
	for i := range events {
		w.fire(fmt.Sprint("e", i))
	}
	w.lead(w.sender(), w.term)
	w.until("the events arrive", func() bool { return len(g.all()) == events })
}

// TestFailingEventsDelayNoOther: where the events of one owner cannot be spread, those of others of the same transaction go out, and so
// do those that come later.
func TestFailingEventsDelayNoOther(t *testing.T) {
	w := newWorld(t)
	g := newTarget(t, nil)
	w.hook(g.URL)
	// Her workspace's events come first, and each of them fails.
	if err := w.db.Exec(t.Context(), `WITH u AS (INSERT INTO users (username) VALUES ('eve') RETURNING id), s AS (INSERT INTO workspaces (name, owner_id) SELECT 'evil', id FROM u RETURNING id)
		INSERT INTO webhook_outbox (workspace_id, event) SELECT s.id, '{"event_type": "CUSTOM", "experiment": {"id": "no number"}}' FROM s, generate_series(1, 1000)`); err != nil {
		t.Fatal(err)
	}
	w.fire("e0")
	w.lead(w.sender(), w.term)
	w.until("the event of the same transaction arrives", func() bool { return len(g.all()) == 1 })
	for i := 1; i <= 5; i++ {
		w.fire(fmt.Sprint("e", i))
		w.until("a later event arrives", func() bool { return len(g.all()) == i+1 })
	}
	left, err := database.Scalar[int](t.Context(), w.db, `SELECT count(*) FROM webhook_outbox`)
	if err != nil || left != 1000 {
		t.Errorf("%d events are left, %v", left, err)
	}
}

// TestErrorsNameNoAddress: what a user reads about a request does not say to which address the name of a host leads, or where the master asks.
func TestErrorsNameNoAddress(t *testing.T) {
	w := newWorld(t)
	closed := newTarget(t, nil)
	port := closed.URL[strings.LastIndex(closed.URL, ":"):]
	closed.Close()
	inside := New(Config{Timeout: 5 * time.Second}, w.db, w.bus, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		s          *Sender
		host, want string
	}{
		{inside, "localhost", "events may not be sent to it"}, {w.sender(), "localhost", "connection refused"}, {w.sender(), "nobody.invalid", "lookup nobody.invalid"},
	} {
		o := c.s.send(t.Context(), webhook.Delivery{ID: 1, URL: "http://" + c.host + port, Type: event.Default, EventID: "x", Event: []byte(`{"event_type":"CUSTOM"}`)})
		if o.err == nil || !strings.Contains(o.err.Error(), c.want) || strings.Contains(o.err.Error(), "127.0.0.1") || strings.Contains(o.err.Error(), "[::1]") || strings.Contains(o.err.Error(), ":53") {
			t.Errorf("%s: %v", c.host, o.err)
		}
	}
}

// TestSendTest: a test is sent at once, and the log has it.
func TestSendTest(t *testing.T) {
	w := newWorld(t)
	g := newTarget(t, nil)
	id := w.hook(g.URL)
	hook, err := webhook.Get(t.Context(), w.db, id)
	if err != nil {
		t.Fatal(err)
	}
	if status, err := w.sender().Test(t.Context(), hook); err != nil || status != 200 {
		t.Errorf("%d, %v", status, err)
	}
	g.Close()
	if _, err := w.sender().Test(t.Context(), hook); err == nil || strings.Contains(err.Error(), g.URL) {
		t.Errorf("without a receiver: %v", err)
	}
	if list := w.deliveries(id); len(list) != 2 || list[0].State != "FAILED" || list[1].State != "DELIVERED" || list[0].Error == "" {
		t.Errorf("the log has %+v", list)
	}
}
