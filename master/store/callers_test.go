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
