package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// If twenty runners claim the same member, one claim succeeds.
func TestGateHasOneWinner(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 0)
	id := w.attempt(trial, 1, 1)
	other := openTest(t, w.dsn, 8)
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			c := goodClaim(id, 0, fmt.Sprintf("process-%d", i))
			c.NomadAllocID = fmt.Sprintf("nomad-%d", i/2)
			<-start
			_, errs[i] = []*DB{w.db, other}[i%2].Claim(context.Background(), c)
		})
	}
	close(start)
	wg.Wait()
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
		} else if !fault.Is(err, fault.Conflict) {
			t.Errorf("%v", err)
		}
	}
	if winners != 1 {
		t.Errorf("%d runners passed the gate", winners)
	}
}

// The loop ends an attempt while runners claim it: no claim may succeed after the end.
func TestGateAgainstTheEnd(t *testing.T) {
	w := newWorld(t)
	exp := w.experiment(lossSearcher)
	for i := range 20 {
		id := w.attempt(w.trial(exp, i, 0), 1, 1)
		var wg sync.WaitGroup
		var claimErr error
		wg.Go(func() { _, claimErr = w.db.Claim(context.Background(), goodClaim(id, 0, "n")) })
		wg.Go(func() {
			err := w.db.Tx(context.Background(), func(tx *DB) error {
				// An UPDATE reads now() before it waits for the lock of a claim.
				if _, err := tx.Exec(context.Background(), `SELECT FROM allocations WHERE id = $1 FOR UPDATE`, id); err != nil {
					return err
				}
				_, err := tx.Exec(context.Background(), `UPDATE allocations SET state = 'TERMINATED', ended_at = clock_timestamp(), outcome = 'lost' WHERE id = $1`, id)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if claimErr != nil {
			if !fault.Is(claimErr, fault.Conflict) {
				t.Error(claimErr)
			}
			continue
		}
		if late := w.int(`SELECT count(*) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.id = $1 AND m.claimed_at > a.ended_at`, id); late > 0 {
			t.Errorf("%s was claimed after its end", id)
		}
	}
}

func TestGateRefusals(t *testing.T) {
	w := newWorld(t)
	exp := w.experiment(lossSearcher)
	n := 0
	fresh := func() (string, int) {
		n++
		trial := w.trial(exp, n, 0)
		return w.attempt(trial, 1, 1), trial
	}
	refused := func(what string, c Claim, word string) {
		t.Helper()
		_, err := w.db.Claim(t.Context(), c)
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error with %q", what, err, word)
		}
	}
	id, _ := fresh()
	w.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE id = $1`, id)
	refused("ended", goodClaim(id, 0, "n"), "has ended")
	id, _ = fresh()
	w.exec(`UPDATE allocations SET kill_at = now(), kill_reason = 'its owner killed it' WHERE id = $1`, id)
	refused("to be killed", goodClaim(id, 0, "n"), "its owner killed it")
	id, _ = fresh()
	w.exec(`UPDATE allocations SET state = 'PENDING' WHERE id = $1`, id)
	refused("not placed", goodClaim(id, 0, "n"), "not placed")
	id, trial := fresh()
	w.attempt(trial, 2, 1)
	w.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'lost' WHERE id = $1`, w.taskOf(trial)+".2")
	w.exec(`UPDATE allocations SET state = 'ASSIGNED', ended_at = NULL, outcome = NULL WHERE id = $1`, id)
	refused("an older run", goodClaim(id, 0, "n"), "run 2")
	id, _ = fresh()
	c := goodClaim(id, 0, "n")
	c.FirstOfGroup = false
	refused("a replacement", c, "replace")
	id, _ = fresh()
	if _, err := w.db.Claim(t.Context(), goodClaim(id, 0, "n")); err != nil {
		t.Fatal(err)
	}
	refused("a second process", goodClaim(id, 0, "other"), "another runner process")
	c = goodClaim(id, 0, "n")
	c.NomadAllocID = "elsewhere"
	refused("a second allocation", c, "rejects the claim")
	if err := w.db.MemberExit(t.Context(), id, 0, 0, "", false, false); err != nil {
		t.Fatal(err)
	}
	refused("exited", goodClaim(id, 0, "n"), "exit was reported")
	if _, err := w.db.Claim(t.Context(), goodClaim(id, 7, "n")); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such rank: %v", err)
	}
}

func TestClaimGivesAll(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	trial := w.trial(w.experiment(lossSearcher), 4, 0)
	id := w.attempt(trial, 3, 2)
	c := goodClaim(id, 1, "n")
	got, err := w.db.Claim(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if got.FormerRun != 0 || got.FormerOutcome != "" {
		t.Errorf("before the first there is %+v", got)
	}
	if got.Type != "TRIAL" || got.Rank != 1 || got.Members != 2 || got.Run != 3 || got.TrialID != trial || got.Owner != "determined" ||
		got.NodeName != "node-1" || len(got.SlotIDs) != 1 || got.Ports["c10d"] != 29400 || got.TrialSeed != 7 ||
		string(got.HParams) != `{"lr": 0.1}` || got.Checkpoint != nil || got.StepsCompleted != 0 || got.HasContext {
		t.Errorf("%+v", got)
	}
	who, err := w.db.TaskWho(ctx, c.TokenHash)
	if err != nil || who.AllocationID != id || who.Rank != 1 || who.TrialID != trial {
		t.Errorf("the token: %+v %v", who, err)
	}
	if who, err := accounts.SessionWho(ctx, w.db.DB, w.db.Roles, c.SessionHash); err != nil || who.Username != "determined" {
		t.Errorf("the session: %+v %v", who, err)
	}
	// A repeated claim with other tokens makes the old ones invalid.
	again := goodClaim(id, 1, "n")
	if _, err := w.db.Claim(ctx, again); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.TaskWho(ctx, c.TokenHash); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old token: %v", err)
	}
	if _, err := accounts.SessionWho(ctx, w.db.DB, w.db.Roles, c.SessionHash); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old session: %v", err)
	}
	if _, err := w.db.TaskWho(ctx, again.TokenHash); err != nil {
		t.Error(err)
	}
}

func TestClaimRestartsFromNewestCheckpoint(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 0)
	w.attempt(trial, 1, 1)
	task := w.taskOf(trial)
	for i, k := range []struct {
		uuid, state string
		steps       int
	}{
		{"00000000-0000-4000-8000-000000000001", "COMPLETED", 10},
		{"00000000-0000-4000-8000-000000000002", "COMPLETED", 20},
		{"00000000-0000-4000-8000-000000000003", "DELETED", 30},
	} {
		if err := checkpoints.Add(t.Context(), w.db.DB, checkpoints.New{UUID: k.uuid, TaskID: task, AllocationID: task + ".1", RunID: 1, State: k.state,
			Steps: k.steps, Metadata: raw(`{}`)}); err != nil {
			t.Fatal(i, err)
		}
	}
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT $1, 1, 'training', s, s, now(), '{}' FROM generate_series(15, 25) s`, trial)
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, position, reported_at, avg) SELECT $1, 1, 'gpu', 1e15, now(), '{}'`, trial)
	w.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'failed', exit_reason = 'exit code 3'`)
	w.exec(`UPDATE trials SET restarts = 1`)
	id := w.attempt(trial, 2, 1)
	got, err := w.db.Claim(t.Context(), goodClaim(id, 0, "n"))
	if err != nil || got.FormerRun != 1 || got.FormerOutcome != "failed" || got.FormerReason != "exit code 3" || got.Restarts != 1 {
		t.Errorf("the attempt before: %+v %v", got, err)
	}
	if err != nil || got.Checkpoint == nil || !strings.HasSuffix(*got.Checkpoint, "2") || got.StepsCompleted != 20 {
		t.Fatalf("%+v %v", got, err)
	}
	if n := w.int(`SELECT count(*) FROM metrics WHERE archived`); n != 5 {
		t.Errorf("%d rows are archived, want those of steps 21 to 25", n)
	}
}

func TestMemberExit(t *testing.T) {
	w := newWorld(t)
	id := w.attempt(w.trial(w.experiment(lossSearcher), 0, 0), 1, 2)
	for _, e := range []struct {
		code   int
		reason string
		done   bool
	}{{3, "oom", false}, {0, "", true}} {
		if err := w.db.MemberExit(t.Context(), id, 1, e.code, e.reason, false, e.done); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.text(`SELECT format('%s %s %s', exit_code, exit_reason, logs_done) FROM members WHERE allocation_id = $1 AND rank = 1`, id); got != "3 oom t" {
		t.Errorf("the first report counts: %s", got)
	}
	if err := w.db.MemberExit(t.Context(), id, 5, 0, "", false, false); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such member: %v", err)
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.attempt(w.trial(w.experiment(lossSearcher), 0, 0), 1, 2)
	if s, err := w.db.PreemptSignal(ctx, id); err != nil || s.Preempt || s.Ended || s.Drained != nil || len(s.Notices) != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if err := w.db.RequestPreemption(ctx, id, "the node goes"); err != nil {
		t.Fatal(err)
	}
	if err := w.db.RequestPreemption(ctx, id, "again"); err != nil {
		t.Fatal(err)
	}
	if s, err := w.db.PreemptSignal(ctx, id); err != nil || !s.Preempt {
		t.Errorf("%+v %v", s, err)
	}
	w.exec(`INSERT INTO nodes (id, name, status, eligible, draining, drain_deadline, inventory)
		SELECT node_id, node_name, 'ready', true, rank = 0, now(), CASE rank WHEN 0 THEN '{"Facts": null}' ELSE '{"Facts": {"meta.detent.leaving": "soon"}}' END::jsonb
		FROM members WHERE allocation_id = $1`, id)
	if s, err := w.db.PreemptSignal(ctx, id); err != nil || !s.Preempt || s.Drained == nil || !slices.Equal(s.Notices, []string{"soon"}) {
		t.Errorf("machines that go away: %+v %v", s, err)
	}
	for what, err := range map[string]error{
		"ack": w.db.AckPreemption(ctx, id), "ready": w.db.MarkReady(ctx, id), "waiting": w.db.MarkWaiting(ctx, id),
		"proxy": w.db.SetProxyAddress(ctx, id, "10.0.0.9"), "arrive": w.db.Arrive(ctx, id, 1), "daemon": w.db.MarkDaemon(ctx, id, 1),
		"acc": w.db.AddAccelerators(ctx, id, 0, raw(`{"a": 0}`)), "acc 1": w.db.AddAccelerators(ctx, id, 1, raw(`{"a": 1}`)), "acc 2": w.db.AddAccelerators(ctx, id, 0, raw(`{"a": 0}`)),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	got := w.text(`SELECT format('%s %s %s %s %s %s', preempt_reason, preempt_acked_at IS NOT NULL, is_ready, is_waiting, proxy_address, accelerators)
		FROM allocations WHERE id = $1`, id)
	if got != `the node goes t t t 10.0.0.9 {"0": {"a": 0}, "1": {"a": 1}}` {
		t.Error(got)
	}
	places, err := w.db.Peers(ctx, id)
	if err != nil || len(places) != 2 || places[0].Arrived || !places[1].Arrived || places[1].Slots != 1 {
		t.Errorf("%+v %v", places, err)
	}
	for what, err := range map[string]error{"ready": w.db.MarkReady(ctx, "x"), "arrive": w.db.Arrive(ctx, "x", 0)} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}

// Peers gather through two masters at once, some of them twice: rounds complete one after the
// other, and all peers get the same data.
func TestGather(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id := w.attempt(w.trial(w.experiment(lossSearcher), 0, 0), 1, 1)
	other := openTest(t, w.dsn, 4)
	const peers = 4
	about := GatherRound{AllocationID: id, Purpose: "data"}
	var wg sync.WaitGroup
	rounds := make([]GatherRound, peers*2)
	for i := range rounds {
		wg.Go(func() {
			var err error
			rounds[i], _, err = []*DB{w.db, other}[i%2].Gather(ctx, about, fmt.Sprintf("r%d", i/2), peers, 100, raw(fmt.Sprintf(`{"n": %d}`, i/2)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, g := range rounds {
		if g.Round != 1 {
			t.Errorf("call %d is in round %d", i, g.Round)
		}
	}
	data, err := w.db.Gathered(ctx, rounds[0])
	if progress, wrong := w.db.GatherProgress(ctx, rounds[0]); err != nil || wrong != nil || !progress.Complete() || len(data) != peers {
		t.Errorf("%d of %+v: %v, %v", len(data), progress, err, wrong)
	}
	next, progress, err := w.db.Gather(ctx, about, "next", 2, 100, raw(`{}`))
	if err != nil || next.Round != 2 || progress != (GatherProgress{Arrived: 1, Expected: 2}) || progress.Complete() {
		t.Errorf("round %d, %+v: %v", next.Round, progress, err)
	}
	if progress, err := w.db.GatherProgress(ctx, next); err != nil || progress != (GatherProgress{Arrived: 1, Expected: 2}) {
		t.Errorf("%+v: %v", progress, err)
	}
	for _, long := range []string{`{"x": "` + strings.Repeat("x", 100) + `"}`, `{"x": 1e300}`} { // the second when it is stored
		if _, _, err := w.db.Gather(ctx, about, "long", 2, 100, raw(long)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "100 bytes") {
			t.Errorf("%.20s: %v", long, err)
		}
	}
	if _, _, err := w.db.Gather(ctx, about, "odd", 3, 100, raw(`{}`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("another number of peers: %v", err)
	}
	if g, _, err := w.db.Gather(ctx, about, "r0", peers, 100, raw(`{"n": 99}`)); err != nil || g.Round != 1 {
		t.Errorf("an old call again: %d %v", g.Round, err)
	}
	if g, _, err := w.db.Gather(ctx, GatherRound{AllocationID: id, Purpose: "life"}, "r0", 1, 100, raw(`{}`)); err != nil || g.Round != 1 {
		t.Errorf("about something else: %d %v", g.Round, err)
	}
}

// TestGathersDoNotPileUp tests that rounds that every peer has read are deleted, that a repeated
// call of the newest complete round gets its answer even if other peers have begun the next
// one, and that no round is left after the attempt's end.
func TestGathersDoNotPileUp(t *testing.T) {
	w := newWorld(t)
	id := w.attempt(w.trial(w.experiment(lossSearcher), 0, 0), 1, 1)
	about := GatherRound{AllocationID: id, Purpose: "data"}
	call := func(round, peer int) GatherRound {
		g, _, err := w.db.Gather(t.Context(), about, fmt.Sprintf("%d/%d", round, peer), 2, 100, raw(fmt.Sprintf(`{"of": "%d/%d"}`, round, peer)))
		if err != nil || g.Round != round {
			t.Fatalf("call %d of round %d is in round %d: %v", peer, round, g.Round, err)
		}
		return g
	}
	for round := 1; round <= 50; round++ {
		call(round, 0)
		if round > 1 { // the answer of the second was lost
			all, err := w.db.Gathered(t.Context(), call(round-1, 1))
			if want := fmt.Sprintf(`{"of": "%d/0"}`, round-1); err != nil || len(all) != 2 || string(all[0]) != want {
				t.Fatalf("round %d again: %s, %v", round-1, all, err)
			}
		}
		call(round, 1)
	}
	if n, err := database.Scalar[int](t.Context(), w.db.DB, `SELECT count(*) FROM gathers`); err != nil || n > 6 {
		t.Errorf("%d rows are kept, %v", n, err)
	}
}
