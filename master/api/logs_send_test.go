package api

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// longLog gives a task a log of so many chunks of 400 KB, which cannot be compressed well, and returns the task's
// path.
func (r *rig) longLog(a *attempt, chunks int) string {
	r.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range chunks {
		lines := make([]string, 100)
		for j := range lines {
			var text strings.Builder
			for range 250 {
				fmt.Fprintf(&text, "%016x", random.Uint64())
			}
			lines[j] = fmt.Sprintf(`{"log":"%d %s"}`, 100*i+j+1, text.String())
		}
		a.ranks[0].post("/api/v1/detent/logs", fmt.Sprintf(`{"shipper":"s","first":%d,"lines":[%s]}`, 100*i, strings.Join(lines, ","))).ok()
	}
	return "/api/v1/tasks/" + a.task + "/logs"
}

// Streams of logs that nobody reads leave the memory and the turns to others, and end.
func TestLogsThatNobodyReads(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t, func(c *Config) { c.Receiving.Stall = time.Second })
	me, other := r.user("determined"), r.user("admin")
	const streams, chunks = 24, 30
	path := r.longLog(r.running(yaml(), 1), chunks)
	r.api.taskIO.streams.Turn = 50 * time.Millisecond
	before := r.heap()
	var open []net.Conn
	for range streams {
		open = append(open, r.unread(me, path))
	}
	for _, conn := range open {
		readUntil(t, conn, `"result"`)
	}
	eventually(t, func() bool { return r.heap()-before < streams*chunks*25_000 })
	if got := strings.Count(string(other.get(path).ok().body), "\n"); got != 100*chunks {
		t.Errorf("another user gets %d lines", got)
	}
	if got := strings.Count(string(me.get(path).ok().body), "\n"); got != 100*chunks {
		t.Errorf("the same user gets %d lines", got)
	}
	eventually(t, func() bool { return r.api.taskIO.streams.Streams.Count() == 0 })

	for range r.api.taskIO.streams.Streams.MostOfOne {
		if _, err := r.api.taskIO.streams.Streams.Join("determined"); err != nil {
			t.Fatal(err)
		}
	}
	me.get(path).says(429, "streams of logs", "close one")
	other.get(path + "?limit=1").ok()
}

// A stream that needs many turns has each line once, in its order.
func TestLogsInManyTurns(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	const n = 300
	path := r.longLog(r.running(yaml(), 1), n/100)
	r.api.taskIO.streams.Turn = time.Microsecond
	numbers := func(from, to, step int) string {
		list := []string{}
		for i := from; i != to; i += step {
			list = append(list, fmt.Sprint(i))
		}
		return strings.Join(list, " ")
	}
	for query, want := range map[string]string{
		"":                                     numbers(1, n+1, 1),
		"limit=150":                            numbers(1, 151, 1),
		"orderBy=ORDER_BY_DESC":                numbers(n, 0, -1),
		"limit=150&orderBy=ORDER_BY_DESC":      numbers(n, n-150, -1),
		"searchText=1":                         numbers(1, n+1, 1),
		"searchText=%5E20%20&enableRegex=true": "20",
	} {
		if got := recordIDs(t, me.get(path+"?"+query).ok().body); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// A stream that searches for a text waits for a turn of searches; others do not.
func TestFilteredLogsTakeTurns(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	path := r.longLog(r.running(yaml(), 1), 1)
	turn, err := r.api.taskIO.streams.Searches.Take(t.Context(), "user determined", 1)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan answer)
	go func() { done <- me.get(path + "?searchText=1&limit=1") }()
	eventually(t, func() bool { return r.api.taskIO.streams.Searches.HeldBy("user determined") == 2 })
	me.get(path + "?limit=1").ok()
	select {
	case a := <-done:
		t.Fatalf("it searched without a turn: %d", a.code)
	default:
	}
	turn.Release()
	if got := recordIDs(t, (<-done).ok().body); got != "1" {
		t.Errorf("lines %s", got)
	}
}
