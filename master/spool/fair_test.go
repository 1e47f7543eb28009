package spool

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// now tries to reserve without waiting.
func (f *Folder) now(t *testing.T, owner string, n int64) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := f.Reserve(ctx, owner, n)
	if err != nil && !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	if err == nil {
		t.Cleanup(r.Close)
	}
	return err == nil
}

// TestAFewOwnersDoNotFillTheFolder: a few owners who send many bodies in any order leave room for other
// owners; a single further owner can use a ninth.
func TestAFewOwnersDoNotFillTheFolder(t *testing.T) {
	const most, body = 8192, 130
	for owners := 1; owners <= 20; owners++ {
		f := New(t.TempDir(), most)
		for progress := true; progress; {
			progress = false
			for i := range owners {
				for f.now(t, fmt.Sprint("greedy ", i), body) { // the first takes all that it can before the next comes
					progress = true
				}
			}
		}
		if owners == 1 && f.Used() < most/(freeShare+1)-body {
			t.Errorf("a single owner gets %d of %d bytes", f.Used(), most)
		}
		if !f.now(t, "somebody", body) || !f.now(t, "somebody else", body) {
			t.Errorf("%d owners have %d of %d, and leave nothing for others", owners, f.Used(), most)
		}
	}
}

// waits returns when an owner waits for room.
func (f *Folder) waits(t *testing.T, owner string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		f.mu.Lock()
		there := slices.ContainsFunc(f.waiting, func(w *waiter) bool { return w.owner == owner })
		f.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not wait", owner)
		}
	}
}

// TestWhoHasLeastIsNext: the waiting owner who holds the least gets released room.
func TestWhoHasLeastIsNext(t *testing.T) {
	f := New(t.TempDir(), 10_000)
	var held []*Reservation
	for owner, n := range map[string]int64{"a": 2500, "b": 2500, "c": 2500, "d": 2400, "some": 100} {
		r, err := f.Reserve(t.Context(), owner, n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 2500 {
			held = append(held, r)
		} else {
			t.Cleanup(r.Close)
		}
	}
	got := make(chan string)
	wait := func(owner string, n int64) {
		go func() {
			r, err := f.Reserve(t.Context(), owner, n)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(r.Close)
			got <- owner
		}()
		f.waits(t, owner)
	}
	wait("some", 100) // it came first, and holds something already
	wait("none", 2450)
	for i, next := range []string{"none", "some"} { // there is room for either
		held[i].Close()
		if who := <-got; who != next {
			t.Fatalf("%s is served, not %s", who, next)
		}
	}
	held[2].Close()
}

// TestWhoGivesUpWaitsNoMore: a request that has stopped waiting receives no room that is released later.
func TestWhoGivesUpWaitsNoMore(t *testing.T) {
	f := New(t.TempDir(), 1000)
	room, err := f.Reserve(t.Context(), "owner", 250)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := f.Reserve(ctx, "owner", 200)
		gone <- err
	}()
	f.waits(t, "owner")
	cancel()
	if err := <-gone; !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	room.Close()
	if f.Used() != 0 {
		t.Errorf("%d bytes are still reserved", f.Used())
	}
}
