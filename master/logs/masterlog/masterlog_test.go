package masterlog_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

func newDB(t *testing.T) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), pgtest.New(t, schema.Hash(), schema.Migrate), database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// TestMasterLogNeverWaits: the log counts lines that it cannot keep until the database has room for them.
func TestMasterLogNeverWaits(t *testing.T) {
	db := newDB(t)
	count := func() int {
		t.Helper()
		n, err := database.Scalar[int](t.Context(), db, `SELECT count(*) FROM master_logs`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	m := masterlog.New(db, slog.DiscardHandler)
	log := slog.New(m)
	const more = 700
	for i := range masterlog.MaxQueue + more {
		log.Info("line", "n", i)
	}
	log.Info(strings.Repeat("x", 10) + "\x00\xff")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Run(ctx)
	if n := count(); n != masterlog.MaxQueue+1 {
		t.Fatalf("%d lines, want %d and what was lost", n, masterlog.MaxQueue)
	}
	lost, err := database.Scalar[string](t.Context(), db, `SELECT message FROM master_logs WHERE level = 'WARN'`)
	if err != nil || !strings.HasPrefix(lost, fmt.Sprintf("%d log lines were lost", more+1)) {
		t.Fatal(lost, err)
	}
	if err := db.Exec(t.Context(), `INSERT INTO master_logs (level, message) SELECT 'INFO', 'old' FROM generate_series(1, $1::int)`, masterlog.MaxLines); err != nil {
		t.Fatal(err)
	}
	if err := m.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != masterlog.MaxLines {
		t.Fatalf("%d lines are kept, want %d", n, masterlog.MaxLines)
	}
}
