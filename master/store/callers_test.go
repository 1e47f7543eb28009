package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
)

// TestPoolBeside: calls of a pool beside do not wait while the first one has no connection left.
func TestPoolBeside(t *testing.T) {
	w := newWorld(t)
	db := openTest(t, w.dsn, 2)
	own, err := db.Beside(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	var all sync.WaitGroup
	held, done := make(chan struct{}), make(chan struct{})
	for range 2 {
		all.Go(func() {
			err := db.Snapshot(t.Context(), func(*DB) error {
				held <- struct{}{}
				<-done
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-held
	}
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if n, err := database.Scalar[int](within, own.DB, `SELECT count(*)::int FROM workspaces`); err != nil || n == 0 {
		t.Errorf("the pool beside reads %d, %v", n, err)
	}
	if own.stored != db.stored || own.sums != db.sums {
		t.Error("the pools know different sums")
	}
	close(done)
	all.Wait()
}

// TestStrangersShareAPart: callers without a session have one owner's part together, from however many addresses they call.
func TestStrangersShareAPart(t *testing.T) {
	db := openTest(t, newWorld(t).dsn, 8)
	inside, done := make(chan struct{}, 20), make(chan struct{})
	var all sync.WaitGroup
	for i := range cap(inside) {
		all.Go(func() {
			err := db.Snapshot(database.ForOwner(t.Context(), database.StrangerAt(fmt.Sprint("192.0.2.", i))), func(*DB) error {
				inside <- struct{}{}
				<-done
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-inside
	<-inside
	short := func(ctx context.Context) context.Context {
		within, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		t.Cleanup(cancel)
		return within
	}
	pages := tasks.Directory{DB: db.DB}
	if _, err := pages.Task(short(t.Context()), "none", ""); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the name of a task, beside other strangers: %v", err)
	}
	if _, err := pages.CookieWho(short(t.Context()), []byte("none"), "none", ""); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a cookie, beside other strangers: %v", err)
	}
	if _, err := pages.Task(t.Context(), "none", "ada"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a task that was found lately, beside strangers: %v", err)
	}
	if _, err := pages.CookieWho(t.Context(), []byte("none"), "none", "ada"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a cookie that was valid lately, beside strangers: %v", err)
	}
	if _, err := database.Scalar[int](database.ForOwner(t.Context(), "user mine"), db.DB, `SELECT 1`); err != nil {
		t.Errorf("a user: %v", err)
	}
	if len(inside) != 0 {
		t.Errorf("%d more strangers are inside", len(inside))
	}
	close(done)
	all.Wait()
}

// TestClaimsAreTheirOwners: the claims of a user's restarted trials, which roll reports back, keep no connection from callers without a
// session: those sign in, and other users' tasks claim.
func TestClaimsAreTheirOwners(t *testing.T) {
	w := newWorld(t)
	db := openTest(t, w.dsn, 8)
	e := w.experiment(`{"name": "random"}`)
	var claims []Claim
	for i := range 6 {
		trial := w.trial(e, i, 1)
		w.attempt(trial, 1, 1)
		claims = append(claims, goodClaim(w.attempt(trial, 2, 1), 0, fmt.Sprint("nonce ", i)))
	}
	locked, done := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(done) })
	defer release()
	var all sync.WaitGroup
	all.Go(func() {
		err := db.Tx(t.Context(), func(tx *DB) error { // a rollback waits
			_, err := tx.Exec(t.Context(), `SELECT 1 FROM trials FOR UPDATE`)
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
			if _, err := db.Claim(stranger(i), c); err != nil {
				t.Error(err)
			}
		})
	}
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for end := time.Now().Add(20 * time.Second); w.int(waiting) != 2; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d claims wait for the rollback", w.int(waiting))
		}
	}
	within, cancel := context.WithTimeout(stranger(99), 10*time.Second)
	defer cancel()
	if err := (tasks.Directory{DB: db.DB}).RedeemTicket(within, []byte("none"), "none", []byte("none")); !fault.Is(err, fault.NotFound) {
		t.Errorf("a caller without a session, beside claims: %v", err)
	}
	release()
	all.Wait()
}
