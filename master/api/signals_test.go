package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
)

func TestPreemption(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	poll := a.path("/signals/preemption?timeout_seconds=")
	if got := me.get(poll + "0").ok().body; string(got) != `{"preempt":false,"deadline":null}` {
		t.Errorf("%s", got)
	}
	me.get(poll+"-1").says(400, "negative")
	answers := make(chan answer)
	go func() { answers <- me.get(poll + "60") }()
	select {
	case a := <-answers:
		t.Fatalf("the poll ended without a preemption: %s", a.body)
	case <-time.After(50 * time.Millisecond): // the call still waits, as it must
	}
	reason := "somebody more important came"
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "ASSIGNED", Preempt: &reason}}})
	r.bus.Publish(attempts.Topic(a.id))
	if got := (<-answers).ok().body; string(got) != `{"preempt":true,"deadline":null}` {
		t.Errorf("%s", got)
	}
	if got := me.get(poll + "60").ok().body; string(got) != `{"preempt":true,"deadline":null}` {
		t.Errorf("the second time: %s", got)
	}
	wake, cancel := r.bus.Subscribe(lifecycle.TopicEvents)
	defer cancel()
	me.post(a.path("/signals/ack_preemption"), "").ok()
	select {
	case <-wake:
	default:
		t.Error("an acknowledgement did not wake the loop")
	}
	me.post(a.path("/signals/pending_preemption"), "").ok()
	me.post(a.path("/ready"), "").ok()
	me.post(a.path("/proxy_address"), `{"proxyAddress":"10.0.0.9"}`).ok()
	me.post(a.path("/acceleratorData"), `{"allocationId":"x","acceleratorData":{"nodeName":"node-0","acceleratorType":"cpu","acceleratorUuids":[]}}`).ok()
	me.post(a.path("/resources/r/daemon"), "").ok()
}

// TestTheRunnerLearnsOfAPreemption: a runner that wants to know gets the preemption from its watch, and whether a program has asked for
// it; a runner of an earlier release waits on. How a program ended after the signal is stored with its exit.
func TestTheRunnerLearnsOfAPreemption(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	me := a.ranks[0]
	watch := "/api/v1/detent/allocations/" + a.id + "/watch"
	r.exec(`UPDATE allocations SET preempt_at = now(), preempt_reason = 'the experiment was paused' WHERE id = $1`, a.id)
	if got := me.get(watch + "?preemption=true").ok().body; string(got) != `{"over":false,"why":"the experiment was paused","preempt":true,"signal":false,"spared":false}` {
		t.Errorf("%s", got)
	}
	old := make(chan answer)
	go func() { old <- me.get(watch) }()
	select {
	case got := <-old:
		t.Errorf("a runner that does not ask for it got %s", got.body)
	case <-time.After(50 * time.Millisecond): // the call still waits, as it must
	}
	me.get(a.path("/signals/preemption?timeout_seconds=0")).ok()
	if got := a.ranks[1].get(watch + "?preemption=true").ok().body; string(got) != `{"over":false,"why":"the experiment was paused","preempt":true,"signal":false,"spared":true}` {
		t.Errorf("after the program of another rank asked: %s", got)
	}

	exit := "/api/v1/detent/allocations/" + a.id + "/members/0/exit"
	me.post(exit, `{"exitCode":143,"preempted":"exited"}`).ok()
	me.post(exit, `{"exitCode":137,"preempted":"killed"}`).ok()
	if got := r.text(`SELECT exit_code || ' ' || preempted FROM members WHERE rank = 0 AND allocation_id = $1`, a.id); got != "143 exited" {
		t.Errorf("the first report counts: %s", got)
	}
	r.exec(`UPDATE allocations SET kill_at = now() WHERE id = $1`, a.id)
	r.bus.Publish(attempts.Topic(a.id))
	(<-old).ok()

	// Another rank, whose runner reports a word that this master does not know.
	a.ranks[1].post(strings.Replace(exit, "members/0", "members/1", 1), `{"exitCode":3,"preempted":"gone"}`).ok()
	if got := r.text(`SELECT exit_code || ' ' || preempted FROM members WHERE rank = 1 AND allocation_id = $1`, a.id); got != "3 " {
		t.Errorf("an exit with an unknown word: %q", got)
	}
	// And an attempt that nobody preempts.
	b := r.running(yaml(), 1)
	b.ranks[0].post("/api/v1/detent/allocations/"+b.id+"/members/0/exit", `{"exitCode":5,"preempted":"exited"}`).ok()
	if got := r.text(`SELECT exit_code || ' ' || preempted FROM members WHERE allocation_id = $1`, b.id); got != "5 " {
		t.Errorf("the exit of an attempt that is not preempted: %q", got)
	}
}

// TestTheMasterDecidesAboutASignal: 5 seconds after a preemption, or at once about a program that has run for a minute; once for all runners. A question after that changes nothing, nor does
// time after a question, and a trial that has trained to the end gets no signal.
func TestTheMasterDecidesAboutASignal(t *testing.T) {
	r := newRig(t)
	watched := func(a *attempt, rank int) string {
		body := string(a.ranks[rank].get("/api/v1/detent/allocations/" + a.id + "/watch?preemption=true").ok().body)
		return body[strings.Index(body, `"signal"`):]
	}
	const undecided, signal, spared = `"signal":false,"spared":false}`, `"signal":true,"spared":false}`, `"signal":false,"spared":true}`
	for name, c := range map[string]struct {
		before string // what happens 4 s after the preemption
		reason string
		want   []string // the answers 4 s after the preemption, 5 s after it, and after a question
	}{
		"nobody asks":         {``, "x", []string{undecided, signal, signal}},
		"it runs for long":    {`started_at = now() - interval '1 minute'`, "x", []string{signal, signal, signal}},
		"it asks, and is old": {`started_at = now() - interval '1 hour', preempt_asked_at = now()`, "x", []string{spared, spared, spared}},
		"a program asks":      {`preempt_asked_at = now()`, "x", []string{spared, spared, spared}},
		"a program acts":      {`preempt_acked_at = now()`, "x", []string{spared, spared, spared}},
		"it has trained":      {``, lifecycle.WhyTrained, []string{spared, spared, spared}},
		"it waits for a call": {``, lifecycle.WhyHeld, []string{undecided, signal, signal}},
	} {
		a := r.running(yaml(), 2)
		r.exec(`UPDATE allocations SET `+cmp.Or(c.before, "id = id")+`, preempt_at = now() - interval '4 s', preempt_reason = $2 WHERE id = $1`, a.id, c.reason)
		var got []string
		got = append(got, watched(a, 0))
		r.exec(`UPDATE allocations SET preempt_at = now() - interval '5 s' WHERE id = $1`, a.id)
		got = append(got, watched(a, 1))
		a.ranks[0].get(a.path("/signals/preemption?timeout_seconds=0")).ok()
		got = append(got, watched(a, 0))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A member has one entry of accelerators, for any name of its node, and its length is limited.
func TestAcceleratorsAreBounded(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	for i := range 40 {
		text := strings.Repeat(fmt.Sprint(i), 10_000)
		for _, rank := range a.ranks {
			rank.post(a.path("/acceleratorData"), fmt.Sprintf(`{"acceleratorData":{"nodeName":"n%d","acceleratorType":%q,"acceleratorUuids":[%q%s]}}`,
				i, text, text, strings.Repeat(`,"x"`, 1000))).ok()
		}
	}
	var kept string
	var size int
	if err := r.db.QueryRow(t.Context(), `SELECT (SELECT string_agg(k || ' ' || (v->>'nodeName') || ' ' || jsonb_array_length(v->'acceleratorUuids'), ', ' ORDER BY k)
		FROM jsonb_each(accelerators) AS x (k, v)), length(accelerators::text) FROM allocations WHERE id = $1`, a.id).Scan(&kept, &size); err != nil {
		t.Fatal(err)
	}
	if kept != "0 n39 256, 1 n39 256" || size > 16<<10 {
		t.Errorf("of two members there are %q, in %d bytes", kept, size)
	}
}

func TestRendezvous(t *testing.T) {
	r := newRig(t)
	one := r.running(yaml(), 1) // waits for nobody, registered or not
	if got := one.ranks[0].get(one.path("/resources/x/rendezvous")).ok().body; string(got) != `{"rendezvousInfo":{"addresses":["10.0.0.1"],"rank":0,"slots":[1]}}` {
		t.Errorf("%s", got)
	}
	a := r.running(yaml(), 3)
	answers := make([]answer, 3)
	var wg sync.WaitGroup
	call := func(rank int) {
		wg.Go(func() {
			if rank == 2 {
				answers[rank] = a.ranks[rank].get(a.path("/resources/x/rendezvous"))
				return
			}
			answers[rank] = a.ranks[rank].post(fmt.Sprintf("/api/v1/detent/allocations/%s/members/%d/rendezvous", a.id, rank), "")
		})
	}
	call(0)
	call(2)
	waitFor(t, func() bool { return a.has(arrived, 0) && a.has(arrived, 2) })
	call(1) // all members have arrived; now register them in the catalogue, rank 0 last
	members := map[int]attempts.Endpoint{1: {Address: "10.1.0.1", Ports: map[string]int{"c10d": 1}}, 2: {Address: "10.1.0.2"}}
	r.discovery.set(a.id, members)
	r.discovery.set(a.id, map[int]attempts.Endpoint{0: {Address: "10.1.0.0", Ports: map[string]int{"c10d": 7}}, 1: members[1], 2: members[2]})
	wg.Wait()
	for rank := range 2 {
		if got := string(answers[rank].ok().body); got != `{"ready":true,"waiting":"","addresses":["10.1.0.0","10.1.0.1","10.1.0.2"],"slots":[1,1,1],"ports":[{"c10d":7},{"c10d":1},{"c10d":29402}]}` {
			t.Errorf("rank %d: %s", rank, got)
		}
	}
	if got := string(answers[2].ok().body); got != `{"rendezvousInfo":{"addresses":["10.1.0.0","10.1.0.1","10.1.0.2"],"rank":2,"slots":[1,1,1]}}` {
		t.Errorf("Determined's form: %s", got)
	}
}

// TestArrivalsWakeOnce: of the members of an attempt, only the last to arrive wakes those that wait.
func TestArrivalsWakeOnce(t *testing.T) {
	const members = 12
	r := newRig(t)
	a := r.running(yaml(), members)
	// published returns whether the attempt's topic was published before now, since the last call.
	conn, err := pgx.Connect(t.Context(), r.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "LISTEN det"); err != nil {
		t.Fatal(err)
	}
	marks := 0
	published := func() (is bool) {
		t.Helper()
		marks++
		mark := fmt.Sprint("mark ", marks)
		r.bus.Publish(mark)
		for {
			n, err := conn.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			topics := strings.Split(n.Payload, "\n")
			is = is || slices.Contains(topics, attempts.Topic(a.id))
			if slices.Contains(topics, mark) {
				return is
			}
		}
	}
	published() // what came before
	r.discovery.set(a.id, map[int]attempts.Endpoint{})
	var wg sync.WaitGroup
	arrive := func(rank int) {
		wg.Go(func() {
			a.ranks[rank].post(fmt.Sprintf("/api/v1/detent/allocations/%s/members/%d/rendezvous", a.id, rank), "").ok()
		})
		waitFor(t, func() bool { return a.has(arrived, rank) })
	}
	for rank := range members - 1 {
		arrive(rank)
	}
	if published() {
		t.Error("an arrival that was not the last woke the others")
	}
	arrive(members - 1)
	registered := map[int]attempts.Endpoint{}
	for rank := range members {
		registered[rank] = attempts.Endpoint{Address: fmt.Sprint("10.1.0.", rank)}
	}
	r.discovery.set(a.id, registered)
	wg.Wait()
	if !published() {
		t.Error("the last arrival woke nobody")
	}
}

func (f *fakeDiscovery) set(allocation string, m map[int]attempts.Endpoint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[allocation] = m
}

func TestAllGather(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 3)
	body := func(rank int) string {
		return fmt.Sprintf(`{"allocationId":%q,"requestUuid":"r%d","numPeers":3,"data":{"rank":%d}}`, a.id, rank, rank)
	}
	var wg sync.WaitGroup
	answers := make([]answer, 4)
	for i, rank := range []int{0, 1, 2, 1} { // one call is repeated while it waits
		wg.Go(func() { answers[i] = a.ranks[rank].post(a.path("/all_gather"), body(rank)) })
	}
	wg.Wait()
	for _, got := range answers {
		if string(got.ok().body) != string(answers[0].body) || strings.Count(string(got.body), "rank") != 3 {
			t.Errorf("%s, another got %s", got.body, answers[0].body)
		}
	}
	if again := a.ranks[2].post(a.path("/all_gather"), body(2)).ok().body; string(again) != string(answers[0].body) {
		t.Errorf("afterwards: %s", again)
	}
	a.ranks[0].post(a.path("/all_gather"), `{"numPeers":0}`).says(400, "numPeers")
	if got := a.ranks[0].post(a.path("/notify_container_running"), `{"data":{},"numPeers":1,"requestUuid":"n"}`).ok().body; string(got) != `{"data":[{}]}` {
		t.Errorf("%s", got)
	}
	// The end of an attempt answers the waiting calls.
	done := make(chan answer)
	go func() {
		done <- a.ranks[0].post(a.path("/all_gather"), `{"numPeers":2,"requestUuid":"late","data":{}}`)
	}()
	waitFor(t, func() bool {
		return a.has(`SELECT count(*) = 1 FROM gathers WHERE allocation_id = $1 AND purpose = 'data' AND round = $2`, 2)
	})
	r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "killed"}}})
	r.bus.Publish(attempts.Topic(a.id))
	if got := <-done; got.code != 409 {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// arrived asks whether a member of an attempt has arrived at the rendezvous.
const arrived = `SELECT arrived_at IS NOT NULL FROM members WHERE allocation_id = $1 AND rank = $2`

// has reports whether a query of an attempt and a number finds that it is so.
func (a *attempt) has(query string, n int) bool {
	is, err := database.Scalar[bool](context.Background(), a.r.db, query, a.id, n)
	return err == nil && is
}
