package store

import (
	"context"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
)

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
