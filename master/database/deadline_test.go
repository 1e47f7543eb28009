package database

import (
	"context"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// TestCallsHaveADeadline tests that a call without a deadline ends although the database does
// not answer, here because another transaction locks the rows.
func TestCallsHaveADeadline(t *testing.T) {
	w := newWorld(t)
	w.exec(`INSERT INTO leader (name, holder, address, term, expires_at) VALUES ('control', 'other', '', 1, now() - interval '1 hour')`)
	db, err := Open(t.Context(), w.dsn, Options{MaxConns: 2, Within: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	held, free, freed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		freed <- w.db.Tx(context.Background(), func(tx *DB) error {
			err := tx.Exec(context.Background(), `SELECT FROM leader FOR UPDATE`)
			close(held)
			for err == nil { // the server ends a transaction that idles
				select {
				case <-free:
					return nil
				case <-time.After(100 * time.Millisecond):
				}
				err = tx.Exec(context.Background(), "SELECT 1")
			}
			return err
		})
	}()
	<-held
	for name, call := range map[string]func(ctx context.Context) error{
		"elect":  func(ctx context.Context) error { _, err := db.Elect(ctx, "me", "", time.Second); return err },
		"fenced": func(ctx context.Context) error { return db.Fenced(ctx, 1, func(*DB) error { return nil }) },
		"tx": func(ctx context.Context) error {
			return db.Tx(ctx, func(tx *DB) error { return tx.Resign(ctx, "other", 1) })
		},
	} {
		if err := call(context.Background()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(free)
	if err := <-freed; err != nil {
		t.Error(err)
	}
}
