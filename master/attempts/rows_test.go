package attempts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// If twenty runners claim the same member, one claim succeeds.
func TestGateHasOneWinner(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	id := w.Attempt(trial, 1, 1)
	other := w.Open(8)
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			c := rowtest.Claim(id, 0, fmt.Sprintf("process-%d", i))
			c.NomadAllocID = fmt.Sprintf("nomad-%d", i/2)
			<-start
			_, errs[i] = attempts.Accept(context.Background(), []*database.DB{w.DB, other}[i%2], c)
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
	w := rowtest.New(t)
	exp := w.Experiment(rowtest.LossSearcher)
	for i := range 20 {
		id := w.Attempt(w.Trial(exp, i, 0), 1, 1)
		var wg sync.WaitGroup
		var claimErr error
		wg.Go(func() {
			_, claimErr = attempts.Accept(context.Background(), w.DB, rowtest.Claim(id, 0, "n"))
		})
		wg.Go(func() {
			err := w.DB.Tx(context.Background(), func(tx *database.DB) error {
				// An UPDATE reads now() before it waits for the lock of a claim.
				if err := tx.Exec(context.Background(), `SELECT FROM allocations WHERE id = $1 FOR UPDATE`, id); err != nil {
					return err
				}
				return tx.Exec(context.Background(), `UPDATE allocations SET state = 'TERMINATED', ended_at = clock_timestamp(), outcome = 'lost' WHERE id = $1`, id)
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
		if late := w.Int(`SELECT count(*) FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.id = $1 AND m.claimed_at > a.ended_at`, id); late > 0 {
			t.Errorf("%s was claimed after its end", id)
		}
	}
}

func TestGateRefusals(t *testing.T) {
	w := rowtest.New(t)
	exp := w.Experiment(rowtest.LossSearcher)
	n := 0
	fresh := func() (string, int) {
		n++
		trial := w.Trial(exp, n, 0)
		return w.Attempt(trial, 1, 1), trial
	}
	refused := func(what string, c attempts.Claim, word string) {
		t.Helper()
		_, err := attempts.Accept(t.Context(), w.DB, c)
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want an error with %q", what, err, word)
		}
	}
	id, _ := fresh()
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'killed' WHERE id = $1`, id)
	refused("ended", rowtest.Claim(id, 0, "n"), "has ended")
	id, _ = fresh()
	w.Exec(`UPDATE allocations SET kill_at = now(), kill_reason = 'its owner killed it' WHERE id = $1`, id)
	refused("to be killed", rowtest.Claim(id, 0, "n"), "its owner killed it")
	id, _ = fresh()
	w.Exec(`UPDATE allocations SET state = 'PENDING' WHERE id = $1`, id)
	refused("not placed", rowtest.Claim(id, 0, "n"), "not placed")
	id, trial := fresh()
	w.Attempt(trial, 2, 1)
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'lost' WHERE id = $1`, w.TaskOf(trial)+".2")
	w.Exec(`UPDATE allocations SET state = 'ASSIGNED', ended_at = NULL, outcome = NULL WHERE id = $1`, id)
	refused("an older run", rowtest.Claim(id, 0, "n"), "run 2")
	id, _ = fresh()
	c := rowtest.Claim(id, 0, "n")
	c.FirstOfGroup = false
	refused("a replacement", c, "replace")
	id, _ = fresh()
	if _, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(id, 0, "n")); err != nil {
		t.Fatal(err)
	}
	refused("a second process", rowtest.Claim(id, 0, "other"), "another runner process")
	c = rowtest.Claim(id, 0, "n")
	c.NomadAllocID = "elsewhere"
	refused("a second allocation", c, "rejects the claim")
	if err := attempts.MemberExit(t.Context(), w.DB, id, 0, 0, "", false, false); err != nil {
		t.Fatal(err)
	}
	refused("exited", rowtest.Claim(id, 0, "n"), "exit was reported")
	if _, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(id, 7, "n")); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such rank: %v", err)
	}
}

func TestClaimGivesAll(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 4, 0)
	id := w.Attempt(trial, 3, 2)
	c := rowtest.Claim(id, 1, "n")
	got, err := attempts.Accept(ctx, w.DB, c)
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
	who, err := attempts.Who(ctx, w.DB, false, c.TokenHash)
	if err != nil || who.AllocationID != id || who.Rank != 1 || who.TrialID != trial {
		t.Errorf("the token: %+v %v", who, err)
	}
	if who, err := accounts.SessionWho(ctx, w.DB, false, c.SessionHash); err != nil || who.Username != "determined" {
		t.Errorf("the session: %+v %v", who, err)
	}
	// A repeated claim with other tokens makes the old ones invalid.
	again := rowtest.Claim(id, 1, "n")
	if _, err := attempts.Accept(ctx, w.DB, again); err != nil {
		t.Fatal(err)
	}
	if _, err := attempts.Who(ctx, w.DB, false, c.TokenHash); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old token: %v", err)
	}
	if _, err := accounts.SessionWho(ctx, w.DB, false, c.SessionHash); !fault.Is(err, fault.NotFound) {
		t.Errorf("the old session: %v", err)
	}
	if _, err := attempts.Who(ctx, w.DB, false, again.TokenHash); err != nil {
		t.Error(err)
	}
}

func TestClaimRestartsFromNewestCheckpoint(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Attempt(trial, 1, 1)
	task := w.TaskOf(trial)
	for i, k := range []struct {
		uuid, state string
		steps       int
	}{
		{"00000000-0000-4000-8000-000000000001", "COMPLETED", 10},
		{"00000000-0000-4000-8000-000000000002", "COMPLETED", 20},
		{"00000000-0000-4000-8000-000000000003", "DELETED", 30},
	} {
		if err := checkpoints.Add(t.Context(), w.DB, checkpoints.New{UUID: k.uuid, TaskID: task, AllocationID: task + ".1", RunID: 1, State: k.state,
			Steps: k.steps, Metadata: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(i, err)
		}
	}
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT $1, 1, 'training', s, s, now(), '{}' FROM generate_series(15, 25) s`, trial)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, position, reported_at, avg) SELECT $1, 1, 'gpu', 1e15, now(), '{}'`, trial)
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'failed', exit_reason = 'exit code 3'`)
	w.Exec(`UPDATE trials SET restarts = 1`)
	id := w.Attempt(trial, 2, 1)
	got, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(id, 0, "n"))
	if err != nil || got.FormerRun != 1 || got.FormerOutcome != "failed" || got.FormerReason != "exit code 3" || got.Restarts != 1 {
		t.Errorf("the attempt before: %+v %v", got, err)
	}
	if err != nil || got.Checkpoint == nil || !strings.HasSuffix(*got.Checkpoint, "2") || got.StepsCompleted != 20 {
		t.Fatalf("%+v %v", got, err)
	}
	if n := w.Int(`SELECT count(*) FROM metrics WHERE archived`); n != 5 {
		t.Errorf("%d rows are archived, want those of steps 21 to 25", n)
	}
}

func TestMemberExit(t *testing.T) {
	w := rowtest.New(t)
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0), 1, 2)
	for _, e := range []struct {
		code   int
		reason string
		done   bool
	}{{3, "oom", false}, {0, "", true}} {
		if err := attempts.MemberExit(t.Context(), w.DB, id, 1, e.code, e.reason, false, e.done); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Text(`SELECT format('%s %s %s', exit_code, exit_reason, logs_done) FROM members WHERE allocation_id = $1 AND rank = 1`, id); got != "3 oom t" {
		t.Errorf("the first report counts: %s", got)
	}
	if err := attempts.MemberExit(t.Context(), w.DB, id, 5, 0, "", false, false); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such member: %v", err)
	}
	w.Exec(`UPDATE members SET nomad_ended_at = now() - interval '1 hour' WHERE allocation_id = $1 AND rank = 0`, id)
	if err := attempts.MemberExit(t.Context(), w.DB, id, 0, 137, "read later", false, true); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM members WHERE allocation_id = $1 AND exited_at = nomad_ended_at`, id); n != 1 {
		t.Error("an exit that is read later is not of the time at which Nomad saw the end")
	}
}

func TestSignals(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0), 1, 2)
	if s, err := attempts.ReadSignal(ctx, w.DB, id); err != nil || s.Preempt || s.Ended || s.Drained != nil || len(s.Notices) != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if err := attempts.RequestPreemption(ctx, w.DB, id, "the node goes"); err != nil {
		t.Fatal(err)
	}
	if err := attempts.RequestPreemption(ctx, w.DB, id, "again"); err != nil {
		t.Fatal(err)
	}
	if s, err := attempts.ReadSignal(ctx, w.DB, id); err != nil || !s.Preempt {
		t.Errorf("%+v %v", s, err)
	}
	w.Exec(`INSERT INTO nodes (id, name, status, eligible, draining, drain_deadline, inventory)
		SELECT node_id, node_name, 'ready', true, rank = 0, now(), CASE rank WHEN 0 THEN '{"Facts": null}' ELSE '{"Facts": {"meta.detent.leaving": "soon"}}' END::jsonb
		FROM members WHERE allocation_id = $1`, id)
	if s, err := attempts.ReadSignal(ctx, w.DB, id); err != nil || !s.Preempt || s.Drained == nil || !slices.Equal(s.Notices, []string{"soon"}) {
		t.Errorf("machines that go away: %+v %v", s, err)
	}
	for what, err := range map[string]error{
		"ack": attempts.AckPreemption(ctx, w.DB, id), "ready": attempts.MarkReady(ctx, w.DB, id), "waiting": attempts.MarkWaiting(ctx, w.DB, id),
		"proxy": attempts.SetProxyAddress(ctx, w.DB, id, "10.0.0.9"), "arrive": attempts.Arrive(ctx, w.DB, id, 1), "daemon": attempts.MarkDaemon(ctx, w.DB, id, 1),
		"acc": attempts.AddAccelerators(ctx, w.DB, id, 0, json.RawMessage(`{"a": 0}`)), "acc 1": attempts.AddAccelerators(ctx, w.DB, id, 1, json.RawMessage(`{"a": 1}`)), "acc 2": attempts.AddAccelerators(ctx, w.DB, id, 0, json.RawMessage(`{"a": 0}`)),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	got := w.Text(`SELECT format('%s %s %s %s %s %s', preempt_reason, preempt_acked_at IS NOT NULL, is_ready, is_waiting, proxy_address, accelerators)
		FROM allocations WHERE id = $1`, id)
	if got != `the node goes t t t 10.0.0.9 {"0": {"a": 0}, "1": {"a": 1}}` {
		t.Error(got)
	}
	places, err := attempts.Peers(ctx, w.DB, id)
	if err != nil || len(places) != 2 || places[0].Arrived || !places[1].Arrived || places[1].Slots != 1 {
		t.Errorf("%+v %v", places, err)
	}
	for what, err := range map[string]error{"ready": attempts.MarkReady(ctx, w.DB, "x"), "arrive": attempts.Arrive(ctx, w.DB, "x", 0)} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}

// Peers gather through two masters at once, some of them twice: rounds complete one after the
// other, and all peers get the same data.
func TestGather(t *testing.T) {
	w := rowtest.New(t)
	ctx := context.Background()
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0), 1, 1)
	other := w.Open(4)
	const peers = 4
	about := attempts.Round{AllocationID: id, Purpose: "data"}
	var wg sync.WaitGroup
	rounds := make([]attempts.Round, peers*2)
	for i := range rounds {
		wg.Go(func() {
			var err error
			rounds[i], _, err = attempts.Gather(ctx, []*database.DB{w.DB, other}[i%2], about, fmt.Sprintf("r%d", i/2), peers, 100, json.RawMessage(fmt.Sprintf(`{"n": %d}`, i/2)))
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
	data, err := attempts.DataOf(ctx, w.DB, rounds[0])
	if progress, wrong := attempts.ProgressOf(ctx, w.DB, rounds[0]); err != nil || wrong != nil || !progress.Complete() || len(data) != peers {
		t.Errorf("%d of %+v: %v, %v", len(data), progress, err, wrong)
	}
	next, progress, err := attempts.Gather(ctx, w.DB, about, "next", 2, 100, json.RawMessage(`{}`))
	if err != nil || next.Round != 2 || progress != (attempts.Progress{Arrived: 1, Expected: 2}) || progress.Complete() {
		t.Errorf("round %d, %+v: %v", next.Round, progress, err)
	}
	if progress, err := attempts.ProgressOf(ctx, w.DB, next); err != nil || progress != (attempts.Progress{Arrived: 1, Expected: 2}) {
		t.Errorf("%+v: %v", progress, err)
	}
	for _, long := range []string{`{"x": "` + strings.Repeat("x", 100) + `"}`, `{"x": 1e300}`} { // the second when it is stored
		if _, _, err := attempts.Gather(ctx, w.DB, about, "long", 2, 100, json.RawMessage(long)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "100 bytes") {
			t.Errorf("%.20s: %v", long, err)
		}
	}
	if _, _, err := attempts.Gather(ctx, w.DB, about, "odd", 3, 100, json.RawMessage(`{}`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("another number of peers: %v", err)
	}
	if g, _, err := attempts.Gather(ctx, w.DB, about, "r0", peers, 100, json.RawMessage(`{"n": 99}`)); err != nil || g.Round != 1 {
		t.Errorf("an old call again: %d %v", g.Round, err)
	}
	if g, _, err := attempts.Gather(ctx, w.DB, attempts.Round{AllocationID: id, Purpose: "life"}, "r0", 1, 100, json.RawMessage(`{}`)); err != nil || g.Round != 1 {
		t.Errorf("about something else: %d %v", g.Round, err)
	}
}

// TestGathersDoNotPileUp tests that rounds that every peer has read are deleted, that a repeated
// call of the newest complete round gets its answer even if other peers have begun the next
// one, and that no round is left after the attempt's end.
func TestGathersDoNotPileUp(t *testing.T) {
	w := rowtest.New(t)
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0), 1, 1)
	about := attempts.Round{AllocationID: id, Purpose: "data"}
	call := func(round, peer int) attempts.Round {
		g, _, err := attempts.Gather(t.Context(), w.DB, about, fmt.Sprintf("%d/%d", round, peer), 2, 100, json.RawMessage(fmt.Sprintf(`{"of": "%d/%d"}`, round, peer)))
		if err != nil || g.Round != round {
			t.Fatalf("call %d of round %d is in round %d: %v", peer, round, g.Round, err)
		}
		return g
	}
	for round := 1; round <= 50; round++ {
		call(round, 0)
		if round > 1 { // the answer of the second was lost
			all, err := attempts.DataOf(t.Context(), w.DB, call(round-1, 1))
			if want := fmt.Sprintf(`{"of": "%d/0"}`, round-1); err != nil || len(all) != 2 || string(all[0]) != want {
				t.Fatalf("round %d again: %s, %v", round-1, all, err)
			}
		}
		call(round, 1)
	}
	if n, err := database.Scalar[int](t.Context(), w.DB, `SELECT count(*) FROM gathers`); err != nil || n > 6 {
		t.Errorf("%d rows are kept, %v", n, err)
	}
}
