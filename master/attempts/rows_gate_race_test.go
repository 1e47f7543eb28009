package attempts_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestGateAgainstANewPassword tests a claim and a new password of the owner at the same time:
// whichever is first, no session of the task may remain.
func TestGateAgainstANewPassword(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	exp := w.Experiment(rowtest.LossSearcher)
	password := "new"
	change := func() error {
		_, err := accounts.ChangeUser(ctx, w.DB, false, 2, accounts.UserChange{PasswordHash: &password}, 0)
		return err
	}
	claim := func(id string) error {
		got, err := attempts.Gate{DB: w.DB}.Claim(ctx, rowtest.Claim(id, 0, "n"))
		if err == nil && got.ActsForOwner {
			t.Error("the gate gives a session after the new password")
		}
		return err
	}
	for i, gateFirst := range []bool{true, false} {
		id := w.Attempt(w.Trial(exp, i, 0), 1, 1)
		w.Exec(`UPDATE tasks SET session_epoch = (SELECT session_epoch FROM users WHERE id = 2)`)
		inside, commit, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() {
			first <- w.DB.Tx(ctx, func(tx *database.DB) error {
				defer func() { close(inside); <-commit }()
				if !gateFirst {
					return accounts.EndSessions(ctx, tx, 2, 0)
				}
				c := rowtest.Claim(id, 0, "n")
				g, err := attempts.LockMember(ctx, tx, c)
				if err != nil {
					return err
				}
				given, err := attempts.Pass(ctx, tx, c, g)
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
		w.WaitBlocked(1)
		close(commit)
		for _, ch := range []chan error{first, second} {
			if err := <-ch; err != nil {
				t.Fatal(err)
			}
		}
		if n := w.Int(`SELECT count(*) FROM sessions WHERE allocation_id = $1`, id); n != 0 {
			t.Errorf("%d sessions of the task are left", n)
		}
	}
}

// TestRollbackOfManyReports: a claim that is accepted rolls back more reports than one statement archives, and one that is rejected none.
func TestRollbackOfManyReports(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Attempt(trial, 1, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, $2::int) i`, trial, attempts.RollBackChunk+10)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata) SELECT gen_random_uuid(), task_id, id, 1, 4, 'COMPLETED', '{}', '{}' FROM trials WHERE id = $1`, trial)
	summarized := func() int {
		summarize(w)
		return w.Int(`SELECT (summary #>> '{avg_metrics,loss,count}')::int FROM trial_summaries WHERE trial_id = $1`, trial)
	}
	if n := summarized(); n != attempts.RollBackChunk+10 {
		t.Errorf("the summary has %d reports", n)
	}
	id := w.Attempt(trial, 2, 1)
	left := func() int {
		return w.Int(`SELECT count(*)::int FROM metrics WHERE trial_id = $1 AND NOT archived`, trial)
	}
	other := rowtest.Claim(id, 0, "n")
	other.NodeID = "elsewhere"
	if _, err := (attempts.Gate{DB: w.DB}).Claim(t.Context(), other); err == nil || left() != attempts.RollBackChunk+10 {
		t.Errorf("a rejected claim: %v; %d reports are left", err, left())
	}
	if _, err := (attempts.Gate{DB: w.DB}).Claim(t.Context(), rowtest.Claim(id, 0, "n")); err != nil || left() != 4 || summarized() != 4 {
		t.Errorf("%v; %d reports are left, and %d in the summary, want 4", err, left(), summarized())
	}
}

// TestRollbackIsDoneOnce: the first member of an attempt archives the reports for all, and again only if the checkpoint from
// which the trial restarts is gone.
func TestRollbackIsDoneOnce(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Attempt(trial, 1, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, 10) i`, trial)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, metadata)
		SELECT gen_random_uuid(), task_id, id, 1, s, 'COMPLETED', '{}', '{}' FROM trials, unnest('{4,7}'::int[]) s WHERE id = $1`, trial)
	id := w.Attempt(trial, 2, 3)
	claim := func(rank, left, beyond int) {
		t.Helper()
		if _, err := (attempts.Gate{DB: w.DB}).Claim(t.Context(), rowtest.Claim(id, rank, "n")); err != nil {
			t.Fatal(err)
		}
		if n := w.Int(`SELECT count(*)::int FROM metrics WHERE trial_id = $1 AND NOT archived`, trial); n != left {
			t.Errorf("after the claim of rank %d %d reports are left, want %d", rank, n, left)
		}
		if n := w.Int(`SELECT rolled_back_steps FROM trials WHERE id = $1 AND rolled_back_run = 2`, trial); n != beyond {
			t.Errorf("after the claim of rank %d what is beyond %d steps is archived, want %d", rank, n, beyond)
		}
	}
	claim(0, 7, 7)
	w.Exec(`UPDATE metrics SET archived = false WHERE trial_id = $1 AND steps = 9`, trial) // to see who looks again
	claim(1, 8, 7)
	w.Exec(`DELETE FROM checkpoints WHERE trial_id = $1 AND steps = 7`, trial)
	claim(2, 4, 4)
}

// summarize adds all rows to the summaries. It repeats, because transactions of other tests on
// the same server delay the summarizer.
func summarize(w *rowtest.World) {
	w.T.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if _, err := metrics.Summarize(w.T.Context(), w.DB); err != nil {
			w.T.Fatal(err)
		}
		done, err := metrics.CaughtUp(w.T.Context(), w.DB)
		if err != nil {
			w.T.Fatal(err)
		}
		if done {
			return
		}
	}
	w.T.Fatal("the summaries do not catch up")
}
