package database

import (
	"context"
	"os"
	"testing"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// files are the migrations of the master: the engine's own tables are among them.
var files = os.DirFS("../schema/migrations")

// world is a migrated database.
type world struct {
	t   testing.TB
	db  *DB
	dsn string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dsn := newDSN(t)
	return &world{t: t, db: openTest(t, dsn, 8), dsn: dsn}
}

func newDSN(t testing.TB) string {
	t.Helper()
	return pgtest.New(t, SchemaHash(files), func(ctx context.Context, dsn string) error { return Migrate(ctx, dsn, files) })
}

func openTest(t testing.TB, dsn string, conns int32) *DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if err := w.db.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) int(sql string, args ...any) int {
	w.t.Helper()
	n, err := Scalar[int](w.t.Context(), w.db, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return n
}
