package rest

import (
	"context"
	"testing"
	"time"
)

// Only an owner who requests more than a share waits.
func TestSharesOfOneOwnerLeaveTheOthers(t *testing.T) {
	s := NewShares(8, 2)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	take := func(owner string, n int64) *Share {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := s.Take(ctx, owner, n)
		if err != nil {
			t.Fatalf("%s takes %d: %v", owner, n, err)
		}
		return got
	}
	first := take("greedy", 2)
	waiting, begun := context.WithCancel(t.Context())
	for range 20 { // these requests wait, and delay no other owner
		go func() {
			if more, err := s.Take(waiting, "greedy", 2); err == nil {
				more.Release()
			}
		}()
	}
	other := take("other", 2)
	other.Release()
	other.Release() // a second release has no effect
	begun()
	first.Free()
	if _, err := s.Take(over, "greedy", 1); err == nil {
		t.Error("an owner's share could be taken again before its release")
	}
	take("other", 8).Release() // more than an owner's share: allowed, because no other owner waits
	first.Release()
	take("greedy", 1).Release()
	empties(t, s)
}

// Owners have one request each before any has a second one, except for a few; and a request becomes the first one when the
// owner's first ends.
func TestFairShares(t *testing.T) {
	s := NewFairShares(4, 3, 1)
	take := func(owner string) *Share {
		t.Helper()
		got, err := s.Take(t.Context(), owner, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	greedy, more := take("greedy"), take("greedy")
	third := make(chan *Share)
	go func() { third <- take("greedy") }()
	eventually(t, func() bool { return s.HeldBy("greedy") == 3 })
	a, b := take("a"), take("b")
	if s.Contended() {
		t.Error("three owners for four shares are contended")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(over, "a", 1); err == nil {
		t.Error("a second owner has more than one request")
	}
	greedy.Release()
	(<-third).Release()
	more.Release()
	take("a").Release()
	take("a").Release()
	var waiting []chan *Share
	for _, owner := range []string{"c", "d", "e"} {
		got := make(chan *Share, 1)
		go func() { got <- take(owner) }()
		waiting = append(waiting, got)
	}
	eventually(t, func() bool { return s.Contended() })
	a.Release()
	b.Release()
	for _, got := range waiting {
		(<-got).Release()
	}
	empties(t, s)
}

// empties waits until no request holds a share or waits for one.
func empties(t *testing.T, s *Shares) {
	t.Helper()
	eventually(t, func() bool { return s.Held() == 0 })
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatal("the condition never holds")
		}
		<-time.After(2 * time.Millisecond)
	}
}
