package store

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
			_, err := tx.exec(context.Background(), `SELECT FROM leader FOR UPDATE`)
			close(held)
			for err == nil { // the server ends a transaction that idles
				select {
				case <-free:
					return nil
				case <-time.After(100 * time.Millisecond):
				}
				_, err = tx.exec(context.Background(), "SELECT 1")
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

// TestUnchangedNodesAreNotWritten tests that RecordNodes writes no rows of unchanged nodes: it
// runs every 15 s.
func TestUnchangedNodesAreNotWritten(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	nodes := []NodeRow{
		{ID: "a", Name: "a", Status: "ready", Eligible: true, Inventory: []byte(`{"cores": 8, "devices": [1, 2]}`)},
		{ID: "b", Name: "b", Status: "ready", Draining: true, DrainDeadline: &at, Inventory: []byte(`{}`)},
	}
	versions := func() map[string]string {
		out := map[string]string{}
		for _, id := range []string{"a", "b"} {
			v, err := scalar[string](t.Context(), w.db, `SELECT xmin::text || '/' || xmax::text FROM nodes WHERE id = $1`, id)
			if err != nil {
				t.Fatal(err)
			}
			out[id] = v
		}
		return out
	}
	record := func() map[string]string {
		t.Helper()
		if err := w.db.RecordNodes(t.Context(), "", nodes); err != nil {
			t.Fatal(err)
		}
		return versions()
	}
	first := record()
	if again := record(); again["a"] != first["a"] || again["b"] != first["b"] {
		t.Errorf("nothing changed, and %v became %v", first, again)
	}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"status", func() { nodes[0].Status = "down" }},
		{"inventory", func() { nodes[0].Inventory = []byte(`{"cores": 9}`) }},
		{"deadline", func() { nodes[0].DrainDeadline = &at }},
		{"no deadline", func() { nodes[0].DrainDeadline = nil }},
		{"pool", func() { nodes[0].NodePool = "gpu" }},
	} {
		before := versions()
		change.make()
		if after := record(); after["a"] == before["a"] || after["b"] != before["b"] {
			t.Errorf("%s: %v became %v", change.name, before, after)
		}
	}
	nodes = nodes[:1]
	if err := w.db.RecordNodes(t.Context(), "", nodes); err != nil {
		t.Fatal(err)
	}
	if n := w.int(`SELECT count(*) FROM nodes`); n != 1 {
		t.Errorf("%d nodes", n)
	}
}
