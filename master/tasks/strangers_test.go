package tasks_test

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

// TestStrangersShareAPart: callers without a session have one owner's part together, from however many addresses they call.
func TestStrangersShareAPart(t *testing.T) {
	db := newWorld(t).Open(8)
	inside, done := make(chan struct{}, 20), make(chan struct{})
	var all sync.WaitGroup
	for i := range cap(inside) {
		all.Go(func() {
			err := db.Snapshot(database.ForOwner(t.Context(), database.StrangerAt(fmt.Sprint("192.0.2.", i))), func(*database.DB) error {
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
	pages := tasks.Directory{DB: db}
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
	if _, err := database.Scalar[int](database.ForOwner(t.Context(), "user mine"), db, `SELECT 1`); err != nil {
		t.Errorf("a user: %v", err)
	}
	if len(inside) != 0 {
		t.Errorf("%d more strangers are inside", len(inside))
	}
	close(done)
	all.Wait()
}
