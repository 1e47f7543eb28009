package control

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// TestTheLeaseHasAConnectionOfItsOwn tests that the leader renews its lease while requests hold
// all connections of the pool.
func TestTheLeaseHasAConnectionOfItsOwn(t *testing.T) {
	dsn := pgtest.New(t, "store-"+schema.Hash(), schema.Migrate)
	open := func(conns int32) *database.DB {
		db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: conns})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	shared, watch := open(1), open(2)
	held, free := make(chan struct{}), make(chan struct{})
	busy := make(chan error, 1)
	go func() {
		busy <- shared.Tx(t.Context(), func(tx *database.DB) error {
			close(held)
			for { // not idle: the server ends idle transactions
				select {
				case <-free:
					return nil
				case <-time.After(100 * time.Millisecond):
				}
				if err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
					return err
				}
			}
		})
	}()
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	done, terms := make(chan struct{}), 0
	go func() {
		defer close(done)
		Lead(ctx, shared, "m1", "http://m1", slog.New(slog.DiscardHandler), func(ctx context.Context, l *Leadership) {
			terms++
			<-ctx.Done()
		})
	}()
	renewals, last := 0, time.Time{}
	deadline := time.Now().Add(time.Minute)
	for renewals < 6 && time.Now().Before(deadline) {
		var until time.Time
		if err := watch.QueryRow(t.Context(), "SELECT coalesce(max(expires_at), 'epoch') FROM leader").Scan(&until); err != nil {
			t.Fatal(err)
		}
		if until.After(last) {
			last = until
			renewals++
		}
	}
	cancel()
	<-done
	close(free)
	if err := <-busy; err != nil {
		t.Error(err)
	}
	if renewals < 6 || terms < 1 {
		t.Errorf("the lease was renewed %d times in %d terms while requests held all connections", renewals, terms)
	}
}

// TestATermWithoutWorkEnds tests that a master whose work could not begin, such as when the database fails
// at that moment, does not stay a leader without work: another master leads, or the same one in a later term.
func TestATermWithoutWorkEnds(t *testing.T) {
	dsn := pgtest.New(t, "store-"+schema.Hash(), schema.Migrate)
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	terms := make(chan int64, 8)
	var masters sync.WaitGroup
	for _, name := range []string{"m1", "m2"} {
		masters.Go(func() {
			Lead(ctx, db, name, "http://"+name, slog.New(slog.DiscardHandler), func(ctx context.Context, l *Leadership) {
				terms <- l.Term
				if l.Term > 2 {
					<-ctx.Done()
				}
			})
		})
	}
	for want := int64(1); want <= 3; want++ {
		select {
		case got := <-terms:
			if got != want {
				t.Errorf("term %d began after term %d", got, want-1)
			}
		case <-ctx.Done():
			t.Fatalf("term %d did not begin", want)
		}
	}
	cancel()
	masters.Wait()
}
