package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
)

// TestGateAgainstTheLoop tests a claim during which the loop wants to end the attempt because
// no runner has claimed it. The loop's statement begins before the claim is committed, and
// waits for its lock; then it must see the claim. (In READ COMMITTED, a statement that has
// waited for a lock does not read other tables again.)
func TestGateAgainstTheLoop(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	exp := w.experiment(lossSearcher)
	loop := openTest(t, w.dsn, 2)
	for i := range 5 {
		id := w.attempt(w.trial(exp, i, 0), 1, 1)
		inside, commit, claimed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			claimed <- w.db.Tx(ctx, func(tx *DB) error {
				c := goodClaim(id, 0, "n")
				g, err := tx.lockGate(ctx, c)
				if err == nil {
					_, err = tx.passGate(ctx, c, g)
				}
				close(inside)
				<-commit
				return err
			})
		}()
		<-inside
		ended := make(chan error, 1)
		go func() {
			ended <- loop.Tx(ctx, func(tx *DB) error {
				return tx.ApplyChanges(ctx, &Changes{Allocations: []AllocationChange{{ID: id, Saw: "ASSIGNED", State: "TERMINATED",
					Ended: true, Unstarted: true, Outcome: "unplaced", ExitReason: "it did not start"}}})
			})
		}()
		waitBlocked(t, w)
		close(commit)
		if err := <-claimed; err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("the loop ended an attempt that was claimed")
		}
		if n := w.int(`SELECT count(*) FROM allocations a JOIN members m ON m.allocation_id = a.id
			WHERE a.id = $1 AND a.state = 'TERMINATED' AND m.claimed_at IS NOT NULL`, id); n > 0 {
			t.Errorf("%s ended as an unclaimed attempt, but a member has claimed it", id)
		}
	}
}

// TestGateAgainstANewPassword tests a claim and a new password of the owner at the same time:
// whichever is first, no session of the task may remain.
func TestGateAgainstANewPassword(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	exp := w.experiment(lossSearcher)
	password := "new"
	change := func() error {
		_, err := accounts.ChangeUser(ctx, w.db.DB, w.db.Roles, 2, accounts.UserChange{PasswordHash: &password}, 0)
		return err
	}
	claim := func(id string) error {
		got, err := w.db.Claim(ctx, goodClaim(id, 0, "n"))
		if err == nil && got.ActsForOwner {
			t.Error("the gate gives a session after the new password")
		}
		return err
	}
	for i, gateFirst := range []bool{true, false} {
		id := w.attempt(w.trial(exp, i, 0), 1, 1)
		w.exec(`UPDATE tasks SET session_epoch = (SELECT session_epoch FROM users WHERE id = 2)`)
		inside, commit, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() {
			first <- w.db.Tx(ctx, func(tx *DB) error {
				defer func() { close(inside); <-commit }()
				if !gateFirst {
					return accounts.EndSessions(ctx, tx.DB, 2, 0)
				}
				c := goodClaim(id, 0, "n")
				g, err := tx.lockGate(ctx, c)
				if err != nil {
					return err
				}
				given, err := tx.passGate(ctx, c, g)
				if err == nil && !given {
					t.Error("the gate gives no session before the new password")
				}
				return err
			})
		}()
		<-inside
		go func() {
			if gateFirst {
				second <- change()
			} else {
				second <- claim(id)
			}
		}()
		waitBlocked(t, w)
		close(commit)
		for _, ch := range []chan error{first, second} {
			if err := <-ch; err != nil {
				t.Fatal(err)
			}
		}
		if n := w.int(`SELECT count(*) FROM sessions WHERE allocation_id = $1`, id); n != 0 {
			t.Errorf("%d sessions of the task are left", n)
		}
	}
}

// waitBlocked waits until a connection of the test's database waits for another's lock.
func waitBlocked(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		n, err := database.Scalar[int](ctx, w.db.DB, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
}

// TestRollbackOfManyReports: a claim that is accepted rolls back more reports than one statement archives, and one that is rejected none.
func TestRollbackOfManyReports(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	w.attempt(trial, 1, 1)
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, $2::int) i`, trial, rollBackChunk+10)
	w.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata) SELECT gen_random_uuid(), task_id, id, 1, 4, 'COMPLETED', '{}', '{}' FROM trials WHERE id = $1`, trial)
	summarized := func() int {
		w.summarize()
		return w.int(`SELECT (summary #>> '{avg_metrics,loss,count}')::int FROM trial_summaries WHERE trial_id = $1`, trial)
	}
	if n := summarized(); n != rollBackChunk+10 {
		t.Errorf("the summary has %d reports", n)
	}
	id := w.attempt(trial, 2, 1)
	left := func() int {
		return w.int(`SELECT count(*)::int FROM metrics WHERE trial_id = $1 AND NOT archived`, trial)
	}
	other := goodClaim(id, 0, "n")
	other.NodeID = "elsewhere"
	if _, err := w.db.Claim(t.Context(), other); err == nil || left() != rollBackChunk+10 {
		t.Errorf("a rejected claim: %v; %d reports are left", err, left())
	}
	if _, err := w.db.Claim(t.Context(), goodClaim(id, 0, "n")); err != nil || left() != 4 || summarized() != 4 {
		t.Errorf("%v; %d reports are left, and %d in the summary, want 4", err, left(), summarized())
	}
}

// TestRollbackIsDoneOnce: the first member of an attempt archives the reports for all, and again only if the checkpoint from
// which the trial restarts is gone.
func TestRollbackIsDoneOnce(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	w.attempt(trial, 1, 1)
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, 10) i`, trial)
	w.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata)
		SELECT gen_random_uuid(), task_id, id, 1, s, 'COMPLETED', '{}', '{}' FROM trials, unnest('{4,7}'::int[]) s WHERE id = $1`, trial)
	id := w.attempt(trial, 2, 3)
	claim := func(rank, left, beyond int) {
		t.Helper()
		if _, err := w.db.Claim(t.Context(), goodClaim(id, rank, "n")); err != nil {
			t.Fatal(err)
		}
		if n := w.int(`SELECT count(*)::int FROM metrics WHERE trial_id = $1 AND NOT archived`, trial); n != left {
			t.Errorf("after the claim of rank %d %d reports are left, want %d", rank, n, left)
		}
		if n := w.int(`SELECT rolled_back_steps FROM trials WHERE id = $1 AND rolled_back_run = 2`, trial); n != beyond {
			t.Errorf("after the claim of rank %d what is beyond %d steps is archived, want %d", rank, n, beyond)
		}
	}
	claim(0, 7, 7)
	w.exec(`UPDATE metrics SET archived = false WHERE trial_id = $1 AND steps = 9`, trial) // to see who looks again
	claim(1, 8, 7)
	w.exec(`DELETE FROM checkpoints WHERE trial_id = $1 AND steps = 7`, trial)
	claim(2, 4, 4)
}

// TestFactsAboutLockedMembers: the leader waits for no member that somebody has locked, and gets the fact back.
func TestFactsAboutLockedMembers(t *testing.T) {
	w := newWorld(t)
	id := w.attempt(w.trial(w.experiment(lossSearcher), 0, 1), 1, 3)
	var facts []MemberFact
	for rank := range 3 {
		facts = append(facts, MemberFact{AllocationID: id, Rank: rank, NomadAllocID: fmt.Sprint("x", rank), Status: "running", Started: true, Index: 7})
	}
	status := func(rank int) string {
		return w.text(`SELECT nomad_status FROM members WHERE allocation_id = $1 AND rank = $2`, id, rank)
	}
	err := w.db.Tx(t.Context(), func(tx *DB) error {
		if _, err := tx.Exec(t.Context(), `SELECT 1 FROM members WHERE allocation_id = $1 AND rank = 1 FOR UPDATE`, id); err != nil {
			return err
		}
		left, err := w.db.RecordFacts(t.Context(), facts)
		if err != nil || len(left) != 1 || left[0] != facts[1] {
			t.Errorf("left over: %+v, %v", left, err)
		}
		if err := w.db.RecordGone(t.Context(), []string{id}); err != nil {
			t.Error(err)
		}
		if got := status(0) + " " + status(1) + " " + status(2); got != "gone  gone" {
			t.Errorf("the members are %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := w.db.RecordFacts(t.Context(), facts); err != nil || len(left) != 0 || status(1) != "running" || status(0) != "gone" {
		t.Errorf("left over: %+v, %v; the members are %s and %s", left, err, status(1), status(0))
	}
}
