package accounts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// A world is a database, with the rows of other rooms that a test of accounts needs.
type world struct {
	t   *testing.T
	db  *database.DB
	dsn string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	return &world{t: t, db: openTest(t, dsn, 8), dsn: dsn}
}

func openTest(t *testing.T, dsn string, conns int32) *database.DB {
	t.Helper()
	pool, err := database.Open(t.Context(), dsn, database.Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", strings.Fields(sql)[0], err)
	}
}

func (w *world) int(sql string, args ...any) int     { return scalar[int](w, sql, args...) }
func (w *world) text(sql string, args ...any) string { return scalar[string](w, sql, args...) }

func scalar[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	v, err := database.Scalar[T](context.Background(), w.db, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// user reads an account.
func (w *world) user(id int) accounts.User {
	w.t.Helper()
	u, err := accounts.UserByID(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}
