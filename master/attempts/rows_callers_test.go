package attempts_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

func TestTaskTokens(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 1)
	allocation := w.Attempt(trial, 1, 2)
	_, hash := auth.NewToken()
	w.Exec(`UPDATE members SET token_hash = $2 WHERE allocation_id = $1 AND rank = 1`, allocation, hash)
	w.Exec(`UPDATE users SET admin = true WHERE username = 'determined'`)
	who, err := attempts.Who(ctx, w.DB, false, hash)
	want := auth.Who{UserID: 2, Username: "determined", AllocationID: allocation, TaskID: w.TaskOf(trial), TrialID: trial, ExperimentID: exp, RunID: 1, Rank: 1}
	if err != nil || who != want {
		t.Fatalf("%+v %v, want %+v", who, err, want)
	}
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'completed', ended_at = now() - interval '14 minutes' WHERE id = $1`, allocation)
	if who, err := attempts.Who(ctx, w.DB, false, hash); err != nil || !who.Ended {
		t.Fatalf("soon after the end: %+v %v", who, err)
	}
	w.Exec(`UPDATE allocations SET ended_at = now() - interval '16 minutes' WHERE id = $1`, allocation)
	for _, missing := range []string{"exited_at = NULL, logs_done = false", "exited_at = now(), logs_done = false", "exited_at = NULL, logs_done = true"} {
		w.Exec(`UPDATE members SET ` + missing)
		if who, err := attempts.Who(ctx, w.DB, false, hash); err != nil || !who.Ended {
			t.Fatalf("while its runner still waits for a master, %s: %+v %v", missing, who, err)
		}
	}
	w.Exec(`UPDATE members SET exited_at = now(), logs_done = true`)
	if _, err := attempts.Who(ctx, w.DB, false, hash); !fault.Is(err, fault.NotFound) {
		t.Fatalf("long after the end: %v", err)
	}
	w.Exec(`UPDATE members SET exited_at = NULL, logs_done = false`)
	w.Exec(`UPDATE allocations SET ended_at = now() - interval '25 hours' WHERE id = $1`, allocation)
	if _, err := attempts.Who(ctx, w.DB, false, hash); !fault.Is(err, fault.NotFound) {
		t.Fatalf("when its runner has given up: %v", err)
	}
}

// TestClaimsAreTheirOwners: the claims of a user's restarted trials, which roll reports back, keep no connection from callers without a
// session: those sign in, and other users' tasks claim.
func TestClaimsAreTheirOwners(t *testing.T) {
	w := rowtest.New(t)
	db := w.Open(8)
	e := w.Experiment(`{"name": "random"}`)
	var claims []attempts.Claim
	for i := range 6 {
		trial := w.Trial(e, i, 1)
		w.Attempt(trial, 1, 1)
		claims = append(claims, rowtest.Claim(w.Attempt(trial, 2, 1), 0, fmt.Sprint("nonce ", i)))
	}
	locked, done := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(done) })
	defer release()
	var all sync.WaitGroup
	all.Go(func() {
		err := db.Tx(t.Context(), func(tx *database.DB) error { // a rollback waits
			err := tx.Exec(t.Context(), `SELECT 1 FROM trials FOR UPDATE`)
			close(locked)
			<-done
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	stranger := func(i int) context.Context {
		return database.ForOwner(t.Context(), database.StrangerAt(fmt.Sprint("192.0.2.", i)))
	}
	for i, c := range claims {
		all.Go(func() {
			if _, err := attempts.Accept(stranger(i), db, c); err != nil {
				t.Error(err)
			}
		})
	}
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for end := time.Now().Add(20 * time.Second); w.Int(waiting) != 2; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d claims wait for the rollback", w.Int(waiting))
		}
	}
	within, cancel := context.WithTimeout(stranger(99), 10*time.Second)
	defer cancel()
	if err := (tasks.Directory{DB: db}).RedeemTicket(within, []byte("none"), "none", []byte("none")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a caller without a session, beside claims: %v", err)
	}
	release()
	all.Wait()
}
