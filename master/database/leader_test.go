package database

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestOneOfManyIsElected(t *testing.T) {
	dsn := newDSN(t)
	ctx := context.Background()
	terms := make(chan int64, 20)
	var wg sync.WaitGroup
	db := openTest(t, dsn, 20)
	for i := range 20 {
		wg.Go(func() {
			term, err := db.Elect(ctx, string(rune('a'+i)), "", time.Minute)
			if err != nil {
				t.Error(err)
			}
			terms <- term
		})
	}
	wg.Wait()
	close(terms)
	won := 0
	for term := range terms {
		if term == 1 {
			won++
		} else if term != 0 {
			t.Errorf("a second master leads in term %d", term)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}

func TestAnOldTermWritesNothing(t *testing.T) {
	db := openTest(t, newDSN(t), 4)
	ctx := context.Background()
	first, err := db.Elect(ctx, "a", "", time.Minute)
	if err != nil || first != 1 {
		t.Fatal(first, err)
	}
	if err := db.Renew(ctx, "a", first, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := db.Resign(ctx, "a", first); err != nil {
		t.Fatal(err)
	}
	if err := db.Renew(ctx, "a", first, time.Minute); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a lease that ran out was renewed: %v", err)
	}
	second, err := db.Elect(ctx, "b", "http://b", time.Minute)
	if err != nil || second != 2 {
		t.Fatal(second, err)
	}
	err = db.Fenced(ctx, first, func(tx *DB) error {
		return tx.Exec(ctx, "UPDATE cluster SET alarm = 'written by an old leader'")
	})
	if !errors.Is(err, ErrNotLeader) {
		t.Errorf("the fence let an old term in: %v", err)
	}
	if err := db.Fenced(ctx, second, func(tx *DB) error { return setIndex(ctx, tx, 7) }); err != nil {
		t.Error(err)
	}
	if n, err := Scalar[int](ctx, db, `SELECT nomad_index FROM cluster`); n != 7 || err != nil {
		t.Error(n, err)
	}
	if holder, address, term, err := db.Leader(ctx); holder != "b" || address != "http://b" || term != 2 || err != nil {
		t.Error(holder, address, term, err)
	}
}

// TestElectionWaitsForTheLeadersTransaction tests that no other master is elected during a
// leader's transaction, even after its lease has expired, and that a renewal does not wait.
func TestElectionWaitsForTheLeadersTransaction(t *testing.T) {
	db := openTest(t, newDSN(t), 6)
	ctx := context.Background()
	term, err := db.Elect(ctx, "a", "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- db.Fenced(ctx, term, func(tx *DB) error {
			close(inside)
			<-leave
			return setIndex(ctx, tx, 1)
		})
	}()
	<-inside
	if err := db.Renew(ctx, "a", term, time.Minute); err != nil { // would hang if it waited for the fence
		t.Fatal(err)
	}
	if err := db.Resign(ctx, "a", term); err != nil {
		t.Fatal(err)
	}
	elected := make(chan int64, 1)
	go func() {
		n, err := db.Elect(ctx, "b", "", time.Minute)
		if err != nil {
			t.Error(err)
		}
		elected <- n
	}()
	waiting := func() bool {
		n, err := Scalar[int](ctx, db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	for deadline := time.Now().Add(5 * time.Second); !waiting() && time.Now().Before(deadline); {
		select {
		case n := <-elected:
			t.Fatalf("term %d began while the old leader was writing", n)
		case <-time.After(5 * time.Millisecond):
		}
	}
	close(leave)
	if err := <-written; err != nil {
		t.Errorf("the old leader's last transaction: %v", err)
	}
	if n := <-elected; n != 2 {
		t.Errorf("elected with term %d", n)
	}
}

func setIndex(ctx context.Context, tx *DB, index int) error {
	return tx.Exec(ctx, `UPDATE cluster SET nomad_index = $1`, index)
}
