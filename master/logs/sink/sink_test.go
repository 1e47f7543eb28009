package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/nomad/servers/proc/proctest"
)

const soon = 20 * time.Second

// A world is a database with two trials of an experiment, a leader, and what the sinks say.
type world struct {
	*rowtest.World
	store  *logs.Store
	term   int64
	a, b   string // tasks of trials with an attempt
	number map[string]int

	mu   sync.Mutex
	said bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: rowtest.New(t), number: map[string]int{}}
	w.store = logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever})
	w.elect("m1")
	e := w.Experiment(rowtest.LossSearcher)
	first, second := w.Trial(e, 0, 1), w.Trial(e, 1, 1)
	w.Attempt(first, 1, 1)
	w.Attempt(second, 1, 1)
	w.a, w.b = w.TaskOf(first), w.TaskOf(second)
	return w
}

func (w *world) elect(name string) {
	w.T.Helper()
	w.Exec(`UPDATE leader SET expires_at = now() - interval '1 hour'`)
	var err error
	if w.term, err = w.DB.Elect(w.T.Context(), name, "", time.Hour); err != nil || w.term == 0 {
		w.T.Fatal(w.term, err)
	}
}

// Write takes what the sinks log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(p)
}

func (w *world) says() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// prints adds lines to the log of a task.
func (w *world) prints(task string, texts ...string) {
	w.T.Helper()
	b := logs.Batch{TaskID: task, Origin: logs.Origin{AllocationID: task + ".1", AgentID: "node-0", ContainerID: "c1"}}
	for _, text := range texts {
		b.Lines = append(b.Lines, logs.Line{At: time.Now(), Level: 3, Stdtype: "stdout", Source: "task", Rank: 0, Text: text})
	}
	if _, err := w.store.Append(w.T.Context(), b); err != nil {
		w.T.Fatal(err)
	}
	w.number[task] += len(texts)
}

// many are n lines.
func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("step %d %s", i, strings.Repeat(".", 100))
	}
	return list
}

// quick is a timing for tests.
func quick() Timing {
	return Timing{Look: 5 * time.Millisecond, LookAll: 20 * time.Millisecond, MinDelay: 5 * time.Millisecond, MaxDelay: 50 * time.Millisecond}
}

// lead runs a sink as the leader of the term does.
func (w *world) lead(c Config) (stop func()) {
	w.T.Helper()
	c.Timing = quick()
	if c.Name == "" {
		c.Name = "s"
	}
	c.Cluster = "lab"
	s, err := New(c, w.DB, w.store, slog.New(slog.NewTextHandler(w, nil)))
	if err != nil {
		w.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	term := w.term
	go func() {
		defer close(done)
		s.Run(ctx, term, func() bool { return true })
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.T.Cleanup(stop)
	w.until("the sink has begun", func() error {
		if w.Int(`SELECT count(*) FROM log_sinks WHERE name = $1 AND begun`, c.Name) == 0 {
			return fmt.Errorf("it has no row: %s", w.says())
		}
		return nil
	})
	return stop
}

func (w *world) until(what string, check func() error) {
	w.T.Helper()
	proctest.Until(w.T, soon, what, check)
}

// has waits until a receiver has the lines of a task.
func (w *world) has(r *received, task string, lines int) {
	w.T.Helper()
	w.until(fmt.Sprintf("%d lines of %s", lines, task), func() error {
		if n := r.count(task); n != lines {
			return fmt.Errorf("there are %d; the sink says:\n%s", n, w.says())
		}
		return nil
	})
}

// inOrder: the receiver got each line of a task first when it had those before it.
func (w *world) inOrder(r *received, task string) {
	w.T.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if list := r.order[task]; !slices.IsSorted(list) {
		w.T.Errorf("the lines of %s came in the order %v", task, list)
	}
}

// TestNothingIsLost: a receiver gets the lines from the moment on at which it was configured, also those of the time in which it was away, and of a change of
// the leader; the lines of a task in their order, with all that is known of them.
func TestNothingIsLost(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	w.prints(w.a, "before there was a sink")
	before := w.number[w.a]
	cfg := Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}}
	stop := w.lead(cfg)
	w.prints(w.a, "one", "two")
	w.has(c.received, w.a, w.number[w.a]-before)
	want := map[string]string{"detent.task.id": w.a, "detent.task.type": "TRIAL", "detent.experiment.id": "1", "detent.trial.id": "1", "detent.allocation.id": w.a + ".1", "container.id": "c1",
		"host.name": "node-0", "log.iostream": "stdout", "detent.source": "task", "detent.workspace": "Uncategorized", "detent.owner": "determined", "detent.line": "3", "detent.rank": "0", "severity": "INFO"}
	c.received.mu.Lock()
	if fmt.Sprint(c.last) != fmt.Sprint(want) || c.texts[w.a+":3"] != "two" || c.texts[w.a+":2"] != "one" {
		t.Errorf("got %v, want %v, and %v", c.last, want, c.texts)
	}
	c.received.mu.Unlock()

	c.set(503, "")
	w.prints(w.a, many(5_000)...)
	w.prints(w.b, many(3)...)
	w.until("the sink is said to fail", func() error {
		if n := strings.Count(w.says(), "takes no lines"); n != 1 || w.Int(`SELECT count(*) FROM log_sinks WHERE failing_since IS NOT NULL AND waiting = 5003`) != 1 {
			return fmt.Errorf("it is said %d times: %s", n, w.says())
		}
		return nil
	})
	asks, _ := c.asked()
	w.until("it is tried again", func() error {
		if now, _ := c.asked(); now < asks+5 {
			return fmt.Errorf("%d requests", now)
		}
		return nil
	})
	stop() // another master leads
	w.elect("m2")
	w.prints(w.b, many(2)...)
	c.set(0, "")
	w.lead(cfg)
	w.has(c.received, w.a, w.number[w.a]-before)
	w.has(c.received, w.b, w.number[w.b])
	w.inOrder(c.received, w.a)
	w.inOrder(c.received, w.b)
	w.until("all is noted", func() error {
		if got := w.Text(`SELECT format('%s sent, %s lost, %s rejected, %s waiting, %s', sent, lost, rejected, waiting, failing_since IS NULL) FROM log_sinks`); got != "5007 sent, 0 lost, 0 rejected, 0 waiting, t" {
			return fmt.Errorf("it is noted: %s", got)
		}
		return nil
	})
	if n := strings.Count(w.says(), "takes no lines"); n != 1 {
		t.Errorf("it is said %d times that the sink takes no lines:\n%s", n, w.says())
	}
}

// TestAnOldLeaderNotesNothing: a leader that does not know yet that its term has ended moves nothing.
func TestAnOldLeaderNotesNothing(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	cfg := Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}}
	w.lead(cfg)
	w.elect("m2")
	w.lead(cfg)
	w.prints(w.a, "one", "two")
	w.has(c.received, w.a, 2)
	w.until("the lines are noted once", func() error {
		if n := w.Int(`SELECT sent FROM log_sinks`); n != 2 {
			return fmt.Errorf("%d lines are noted", n)
		}
		return nil
	})
}

// hostile are texts that a receiver must not take for something else, with what syslog has of them.
func hostile() map[string]string {
	long := strings.Repeat("é", 1<<19)
	return map[string]string{"a\r\nb": "a#015#012b", "<13>1 2026-01-01T00:00:00Z h a p m - forged": "<13>1 2026-01-01T00:00:00Z h a p m - forged", "\x1b[31mred": "#033[31mred",
		`"] {"x": 1}`: `"] {"x": 1}`, "": "", "\u2028": "#20050", long: long}
}

// TestHostileLines: lines of users arrive as they are stored by OTLP, and as one message each by syslog.
func TestHostileLines(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	tcp := newReceived()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp.serveSyslog(t, ln)
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.lead(Config{Name: "syslog", Tasks: true, Target: Target{Address: "tcp://" + ln.Addr().String()}})
	texts := slices.Collect(func(yield func(string) bool) {
		for text := range hostile() {
			if !yield(text) {
				return
			}
		}
	})
	w.prints(w.a, texts...)
	w.prints(w.a, "invalid \xff UTF-8")
	w.has(c.received, w.a, w.number[w.a])
	w.has(tcp, w.a, w.number[w.a])
	for i, text := range texts {
		if got := c.text(w.a, i+1); got != text {
			t.Errorf("OTLP: %.50q arrived as %.50q", text, got)
		}
		if got := tcp.text(w.a, i+1); got != hostile()[text] {
			t.Errorf("syslog: %.50q arrived as %.50q", text, got)
		}
	}
	if got := c.text(w.a, len(texts)+1); got != "invalid \uFFFD UTF-8" {
		t.Errorf("%q", got)
	}
}

// TestDeletedBeforeTheyWereSent: lines whose retention ends while a receiver is away are counted, and that is said once.
func TestDeletedBeforeTheyWereSent(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	c.set(503, "")
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.prints(w.a, many(7)...)
	w.prints(w.b, many(2)...)
	w.until("the sink fails", func() error {
		if !strings.Contains(w.says(), "takes no lines") {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	w.Ends(1, 1, "")
	w.Exec(`UPDATE tasks SET ended_at = now() - interval '9 days' WHERE id = $1`, w.a)
	err := w.DB.Tx(t.Context(), func(tx *database.DB) error {
		n, _, err := logs.Expire(t.Context(), tx, 1, w.a)
		if n != 7 {
			t.Errorf("%d lines were deleted", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	asks, _ := c.asked()
	w.until("no request has lines that were read before", func() error {
		if now, _ := c.asked(); now < asks+2 {
			return fmt.Errorf("%d requests", now)
		}
		return nil
	})
	c.set(0, "")
	w.has(c.received, w.b, 2)
	w.until("the lines are counted", func() error {
		if n := w.Int(`SELECT lost FROM log_sinks`); n != 7 {
			return fmt.Errorf("%d are lost", n)
		}
		return nil
	})
	if n := strings.Count(w.says(), "before the log sink had them"); n != 1 || !strings.Contains(w.says(), "lines=7") {
		t.Errorf("it is said %d times that lines were deleted:\n%s", n, w.says())
	}
	if n := c.count(w.a); n != 0 {
		t.Errorf("%d deleted lines arrived", n)
	}
}

// TestLinesThatAreNotTaken: a line that a receiver does not take costs no other line, and a receiver that takes nothing costs
// none at all.
func TestLinesThatAreNotTaken(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	c.set(400, "")
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.prints(w.a, "one", "poison", "three", "four")
	w.until("it is said that it rejects all", func() error {
		if !strings.Contains(w.says(), "it rejects all lines") {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	c.set(0, "poison")
	w.until("the others arrive", func() error {
		if n := c.count(w.a); n != 3 || w.Int(`SELECT rejected FROM log_sinks`) != 1 {
			return fmt.Errorf("%d lines", n)
		}
		return nil
	})
	if !strings.Contains(w.says(), "line 2 of") || c.text(w.a, 2) != "" {
		t.Errorf("it says %s", w.says())
	}
	c.set(401, "")
	w.prints(w.a, "five")
	w.until("it is said once more that it takes nothing", func() error {
		if n := strings.Count(w.says(), "takes no lines"); n != 2 {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	c.set(0, "")
	w.has(c.received, w.a, 4)
}

// TestRejectionsOfAll: a receiver that begins to reject everything costs no line, although it took lines before, and lines that are bad
// themselves do not keep a sink of a new leader from all others.
func TestRejectionsOfAll(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	cfg := Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}}
	stop := w.lead(cfg)
	w.prints(w.a, "one")
	w.has(c.received, w.a, 1)
	c.set(400, "")
	w.prints(w.a, "two", "three")
	w.until("it is said that it rejects all", func() error {
		if !strings.Contains(w.says(), "it rejects all lines") {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	c.set(0, "poison")
	w.has(c.received, w.a, 3)
	stop()
	w.elect("m2")
	w.prints(w.a, "poison", "more poison")
	w.lead(cfg)
	w.until("the bad lines are left out", func() error {
		if n := w.Int(`SELECT rejected FROM log_sinks`); n != 2 {
			return fmt.Errorf("%d lines: %s", n, w.says())
		}
		return nil
	})
	w.prints(w.b, "a good line")
	w.has(c.received, w.b, 1)
}

// TestManyBadLines: a task whose lines a receiver does not take costs it a bounded number of requests, and no other task a line.
func TestManyBadLines(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	c.set(0, "poison")
	w.prints(w.a, slices.Repeat([]string{"poison"}, 1_000)...)
	w.prints(w.b, "one", "two")
	w.Exec(`INSERT INTO log_sinks (name, masters, begun) VALUES ('s', 0, true)`) // a sink that has not sent them
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.has(c.received, w.b, 2)
	w.until("the bad lines are left out", func() error {
		if n := w.Int(`SELECT rejected FROM log_sinks`); n != 1_000 {
			return fmt.Errorf("%d lines: %s", n, w.says())
		}
		return nil
	})
	if asks, _ := c.asked(); asks > 3*maxCuts {
		t.Errorf("%d requests", asks)
	}
}

// TestWaitingLinesAreCounted: also while a receiver does not take the masters' lines, which are sent first.
func TestWaitingLinesAreCounted(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	c.set(503, "")
	w.lead(Config{Tasks: true, Masters: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.Exec(`INSERT INTO master_logs (level, message) VALUES ('INFO', 'the master has a line')`)
	w.until("the sink fails", func() error {
		if !strings.Contains(w.says(), "takes no lines") {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	w.prints(w.a, many(5)...)
	w.until("the lines are counted", func() error {
		if n := w.Int(`SELECT waiting FROM log_sinks`); n != 5 {
			return fmt.Errorf("%d lines wait", n)
		}
		return nil
	})
}

// TestNothingWaitsNothingFails: a sink that failed, and whose lines are gone, is not said to fail until another line comes.
func TestNothingWaitsNothingFails(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	w.Exec(`INSERT INTO log_sinks (name, masters, begun, failing_since) VALUES ('s', 0, true, now() - interval '1 hour')`)
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.until("it does not fail", func() error {
		if w.Int(`SELECT count(*) FROM log_sinks WHERE failing_since IS NOT NULL`) != 0 {
			return fmt.Errorf("it does: %s", w.says())
		}
		return nil
	})
}

// TestARowThatIsDeleted: if somebody deletes the row of a sink that the configuration has, the sink begins anew with the lines of that moment.
func TestARowThatIsDeleted(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.prints(w.a, "before")
	w.has(c.received, w.a, 1)
	w.Exec(`DELETE FROM log_sinks`)
	w.until("the sink has a row again", func() error {
		w.prints(w.a, "meanwhile")
		if w.Int(`SELECT count(*) FROM log_sinks WHERE begun`) != 1 {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
	w.prints(w.b, "after")
	w.has(c.received, w.b, 1)
}

// TestAFlood: a task that runs and prints more than a round sends makes the next round no look at all logs; what a task that has ended
// left does.
func TestAFlood(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	s, err := New(Config{Name: "s", Cluster: "lab", Tasks: true, Target: Target{Address: c.URL + "/v1/logs"}, Timing: quick()}, w.DB, w.store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	work := &term{Sink: s, number: w.term}
	if err := work.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		w.prints(w.a, strings.Repeat("x", maxOfLog/2))
	}
	round := func(behind bool) {
		t.Helper()
		if more, err := work.round(t.Context(), true); err != nil || !more || work.behind != behind {
			t.Fatalf("there is more: %v, of tasks that have ended: %v, want %v; %v", more, work.behind, behind, err)
		}
	}
	round(false)
	w.Ends(1, 1, "")
	round(true)
}

// TestLinesOfMasters: also those whose number was given before that of others and which are stored later, and a count of those that
// were removed before they were sent.
func TestLinesOfMasters(t *testing.T) {
	const kept = 3_000
	w, c := newWorld(t), newCollector(t)
	w.Exec(`INSERT INTO master_logs (level, message) VALUES ('INFO', 'before')`)
	stop := w.lead(Config{Masters: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.Exec(`INSERT INTO master_logs (level, message) VALUES ('WARN', 'after')`)
	w.has(c.received, "", 1)
	c.received.mu.Lock()
	if c.last["severity"] != "WARN" || c.last["detent.source"] != "master" {
		t.Errorf("%v", c.last)
	}
	c.received.mu.Unlock()
	w.until("it is noted", func() error {
		if n := w.Int(`SELECT sent FROM log_sinks`); n != 1 {
			return fmt.Errorf("%d lines are noted", n)
		}
		return nil
	})
	stop()
	w.Exec(`INSERT INTO master_logs (level, message) SELECT 'INFO', 'x' FROM generate_series(1, $1::int)`, kept+10)
	w.Exec(`DELETE FROM master_logs WHERE id <= (SELECT max(id) FROM master_logs) - $1::int`, kept)
	w.lead(Config{Masters: true, Target: Target{Address: c.URL + "/v1/logs"}})
	w.has(c.received, "", 1+kept)
	if n := w.Int(`SELECT lost FROM log_sinks`); n != 10 {
		t.Errorf("%d lines are counted as lost", n)
	}
}

// TestSyslogByDatagramAndTLS: the same lines by UDP, cut to the size of a datagram, and by TLS, where the receiver is known by its certificate.
func TestSyslogByDatagramAndTLS(t *testing.T) {
	w := newWorld(t)
	udp, secure := newReceived(), newReceived()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	go func() {
		for buffer := make([]byte, 1<<16); ; {
			n, _, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			udp.message(t, string(buffer[:n]))
		}
	}()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := authority(t, server)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	secure.serveSyslog(t, ln)
	w.lead(Config{Name: "udp", Tasks: true, Target: Target{Address: "udp://" + socket.LocalAddr().String()}})
	w.lead(Config{Name: "tls", Tasks: true, Target: Target{Address: "tls://" + ln.Addr().String(), CAFile: ca}})
	w.lead(Config{Name: "stranger", Tasks: true, Target: Target{Address: "tls://" + ln.Addr().String()}})
	w.prints(w.a, "one", strings.Repeat("x", 20_000))
	w.has(udp, w.a, 2)
	w.has(secure, w.a, 2)
	if got := udp.text(w.a, 2); !strings.HasSuffix(got, " … (cut)") || len(got) > 8<<10 || len(secure.text(w.a, 2)) != 20_000 {
		t.Errorf("by UDP %d bytes, by TLS %d", len(got), len(secure.text(w.a, 2)))
	}
	w.until("a certificate of an unknown authority is rejected", func() error {
		if !strings.Contains(w.says(), "log_sink=stranger") || !strings.Contains(w.says(), "certificate") {
			return fmt.Errorf("it says %s", w.says())
		}
		return nil
	})
}

// authority is a file with the certificate of a server.
func authority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca
}

// TestAReceiverThatRefuses: a line does not count as sent if the receiver wants a certificate that the master does not have, or ends every
// connection at once, as a balancer without a receiver behind it, also if it greets first.
func TestAReceiverThatRefuses(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	for name, secure := range map[string]*tls.Config{"tls": {Certificates: server.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}, "tcp": nil} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Address: name + "://" + ln.Addr().String()}
		if secure != nil {
			ln, target.CAFile = tls.NewListener(ln, secure), authority(t, server)
		}
		defer ln.Close()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte("220 ready\r\n")) // for TLS the handshake, which fails
				_ = conn.Close()
			}
		}()
		w.lead(Config{Name: name, Tasks: true, Target: target})
	}
	w.prints(w.a, "one")
	w.until("both sinks fail", func() error {
		if got := w.Text(`SELECT format('%s sent, %s fail', sum(sent), count(failing_since)) FROM log_sinks`); got != "0 sent, 2 fail" {
			return fmt.Errorf("%s: %s", got, w.says())
		}
		return nil
	})
}

// TestAReceiverThatIsRestarted: lines that come after a connection has ended are sent over a new one.
func TestAReceiverThatIsRestarted(t *testing.T) {
	w, tcp := newWorld(t), newReceived()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	w.lead(Config{Tasks: true, Target: Target{Address: "tcp://" + address}})
	for i := range 3 {
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		w.prints(w.a, fmt.Sprint("line ", i+1))
		conn := <-accepted
		buffer := make([]byte, 1<<12)
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(buffer[:n]), " ")
		tcp.message(t, text)
		_ = conn.Close()
	}
	_ = ln.Close()
	for i := range 3 {
		if got := tcp.text(w.a, i+1); got != fmt.Sprint("line ", i+1) {
			t.Errorf("line %d arrived as %q", i+1, got)
		}
	}
}

// TestAReceiverThatHangs: it keeps no task waiting, and not the end of the term.
func TestAReceiverThatHangs(t *testing.T) {
	w := newWorld(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0") // nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	stop := w.lead(Config{Tasks: true, Target: Target{Address: "tcp://" + ln.Addr().String()}})
	for range 20 { // more than the kernel keeps for the receiver
		w.prints(w.a, strings.Repeat("x", 1<<20))
	}
	w.until("the sink waits", func() error {
		if w.Int(`SELECT count(*) FROM log_sink_tasks`) == 0 {
			return fmt.Errorf("nothing is sent: %s", w.says())
		}
		return nil
	})
	began := time.Now()
	stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end of the term took %s", took)
	}
}

// TestSettings: addresses and files that cannot be meant, without the secrets in them.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		target Target
		want   string // "" if it is right
	}{
		{Target{Address: "https://otel:4318/v1/logs", HeadersFile: file("good", "# of the vendor\nX-Key: s3cret\n\n")}, ""},
		{Target{Address: "tls://logs:6514"}, ""},
		{Target{Address: "udp://logs:514"}, ""},
		{Target{}, "address: expected http://host:4318/v1/logs"},
		{Target{Address: "https://ann:s3cret@otel/"}, "without a password"},
		{Target{Address: "tcp://logs"}, "expected tcp://host:port"},
		{Target{Address: "syslog://logs:514"}, "expected a scheme of http, https, tcp, tls and udp"},
		{Target{Address: "tcp://logs:601", Token: "s3cret"}, "are for OTLP"},
		{Target{Address: "http://otel/", CAFile: "x"}, "are for https and tls"},
		{Target{Address: "https://otel/", CAFile: file("ca", "no")}, "contains no certificate"},
		{Target{Address: "https://otel/", CertFile: "x"}, "cert_file requires key_file"},
		{Target{Address: "https://otel/", Token: "s3cret", TokenFile: "x"}, "cannot be combined"},
		{Target{Address: "https://otel/", TokenFile: "/nonesuch"}, "token_file: open /nonesuch"},
		{Target{Address: "https://otel/", HeadersFile: file("bad", "X-A: b\ns3cret\n")}, "bad:2: expected Name: value"},
		{Target{Address: "https://otel/", HeadersFile: file("evil", "X-A: s3cret\x01\n")}, "characters that no header may have"},
		{Target{Address: "https://otel/", HeadersFile: file("long", strings.Repeat("X-A: b\n", 5_000))}, "is longer than"},
	} {
		err := c.target.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c.target, err)
		}
		if err != nil && c.target.Address != "https://ann:s3cret@otel/" && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the message has a secret: %v", err)
		}
	}
}

// TestHeaders: the token and the headers of the files reach the receiver, and a new token is read without a restart.
func TestHeaders(t *testing.T) {
	w, c := newWorld(t), newCollector(t)
	dir := t.TempDir()
	token, headers := filepath.Join(dir, "token"), filepath.Join(dir, "headers")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token, "first\n")
	write(headers, "X-Tenant: lab\n")
	w.lead(Config{Tasks: true, Target: Target{Address: c.URL + "/v1/logs", TokenFile: token, HeadersFile: headers}})
	for i, want := range []string{"first", "second"} {
		write(token, want+"\n")
		w.prints(w.a, want)
		w.has(c.received, w.a, i+1)
		if _, h := c.asked(); h.Get("Authorization") != "Bearer "+want || h.Get("X-Tenant") != "lab" {
			t.Errorf("the headers are %v", h)
		}
	}
}
