package database

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// TestOneOwnersChangesLeaveConnections: changes of one owner that wait for a row hold a part of the connections, and others do not wait for them.
func TestOneOwnersChangesLeaveConnections(t *testing.T) {
	db := poolOfEight(t)
	const waiting = 20
	mine := ForOwner(t.Context(), "user mine")
	locked, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := db.Tx(t.Context(), func(tx *DB) error {
			err := tx.Exec(t.Context(), `UPDATE users SET display_name = 'x' WHERE id = 2`)
			close(locked)
			<-done
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	for i := range waiting {
		all.Go(func() {
			var err error
			switch i % 4 {
			case 0:
				err = db.Exec(mine, `UPDATE users SET display_name = 'y' WHERE id = 2`)
			case 1:
				_, err = Scalar[int](mine, db, `UPDATE users SET display_name = 'y' WHERE id = 2 RETURNING id`)
			case 2:
				_, err = Rows[struct{ ID int }](mine, db, `UPDATE users SET display_name = 'y' WHERE id = 2 RETURNING id`)
			default:
				err = db.Tx(mine, func(tx *DB) error {
					return tx.Exec(mine, `UPDATE users SET display_name = 'y' WHERE id = 2`)
				})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	parts := func() (users int) {
		db.owners.mu.Lock()
		defer db.owners.mu.Unlock()
		if p := db.owners.of["user mine"]; p != nil {
			users = p.users
		}
		return users
	}
	for deadline := time.Now().Add(time.Minute); parts() < waiting; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d changes wait, want %d", parts(), waiting)
		}
	}
	for _, owner := range []string{"", "user other", "user mine"} { // who reads does not wait, also of the same owner
		within, cancel := context.WithTimeout(ForOwner(t.Context(), owner), 10*time.Second)
		if n, err := Scalar[int](within, db, `SELECT count(*)::int FROM workspaces`); err != nil || n == 0 {
			t.Errorf("%q reads: %d, %v", owner, n, err)
		}
		if owner != "user mine" {
			if err := db.Exec(within, `UPDATE users SET display_name = 'z' WHERE id = 1`); err != nil {
				t.Errorf("%q changes something else: %v", owner, err)
			}
		}
		cancel()
	}
	if _, used, _ := db.Conns(); used > 3 {
		t.Errorf("%d connections are in use, want 1 and at most 2 of the owner", used)
	}
	late, cancel := context.WithTimeout(mine, 10*time.Millisecond)
	defer cancel()
	if err := db.Exec(late, `UPDATE users SET display_name = 'y' WHERE id = 1`); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a change that had no turn: %v", err)
	}
	close(done)
	all.Wait()
	if n := parts(); n != 0 {
		t.Errorf("%d parts are left", n)
	}
}

// TestOneOwnersReadsLeaveConnections: reads of one owner hold a part of the connections, also in snapshots.
func TestOneOwnersReadsLeaveConnections(t *testing.T) {
	db := poolOfEight(t)
	mine := ForOwner(t.Context(), "user mine")
	inside, done := make(chan struct{}, 20), make(chan struct{})
	var all sync.WaitGroup
	for range cap(inside) {
		all.Go(func() {
			err := db.Snapshot(mine, func(*DB) error {
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
	for _, read := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := Scalar[int](ctx, db, `SELECT 1`); return err },
		func(ctx context.Context) error { _, err := Scalars[int](ctx, db, `SELECT 1`); return err },
		func(ctx context.Context) error {
			_, err := Row[struct{ ID int }](ctx, db, "one", `SELECT 1 AS id`)
			return err
		},
		func(ctx context.Context) error {
			_, err := Rows[struct{ ID int }](ctx, db, `SELECT 1 AS id`)
			return err
		},
		func(ctx context.Context) error {
			_, _, err := RowsUpTo[struct{ ID int }](ctx, db, 100, `SELECT 1 AS id`)
			return err
		},
		func(ctx context.Context) error {
			return db.Each(ctx, `SELECT 1`, nil, []any{new(int)}, func() error { return nil })
		},
	} {
		within, cancel := context.WithTimeout(mine, 50*time.Millisecond)
		if err := read(within); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a read of an owner whose part is in use: %v", err)
		}
		cancel()
		if err := read(ForOwner(t.Context(), "user other")); err != nil {
			t.Errorf("another owner reads: %v", err)
		}
	}
	if len(inside) != 0 {
		t.Errorf("%d more snapshots of the owner have begun", len(inside))
	}
	close(done)
	all.Wait()
	if n := len(db.owners.of); n != 0 {
		t.Errorf("%d owners are kept", n)
	}
}

// TestFirstChangesOfOwners: whatever others change, an owner's first change does not wait for theirs.
func TestFirstChangesOfOwners(t *testing.T) {
	db := poolOfEight(t)
	inside, done := make(chan struct{}, 20), make(chan struct{})
	var all sync.WaitGroup
	for i := range 6 { // three quarters of the connections
		all.Go(func() {
			err := db.Tx(ForOwner(t.Context(), fmt.Sprint("user ", i%3)), func(*DB) error {
				inside <- struct{}{}
				<-done
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 6 {
		<-inside
	}
	within, cancel := context.WithTimeout(ForOwner(t.Context(), "user other"), 10*time.Second)
	defer cancel()
	for range 3 { // one after the other: each is the owner's first
		if err := db.Exec(within, `UPDATE users SET display_name = 'z' WHERE id = 1`); err != nil {
			t.Errorf("a change of another owner: %v", err)
		}
	}
	close(done)
	all.Wait()
	if n := len(db.owners.of); n != 0 {
		t.Errorf("%d owners are kept", n)
	}
}

// poolOfEight is a pool of which an owner has two connections for changes and two for reads.
func poolOfEight(t *testing.T) *DB { return openTest(t, newDSN(t), 8) }

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
	if n, err := Scalar[int](within, own, `SELECT count(*)::int FROM workspaces`); err != nil || n == 0 {
		t.Errorf("the pool beside reads %d, %v", n, err)
	}
	close(done)
	all.Wait()
}
