package rig

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// idle are open connections by address, one for each. Tests read a value again and again until it changes, and a new connection each
// time takes longer than its query: a process of PostgreSQL, and on both sides thousands of hashes for the password.
var idle = struct {
	sync.Mutex
	conns map[string]*pgx.Conn
}{conns: map[string]*pgx.Conn{}}

// take removes the open connection of an address; nil: there is none.
func take(dsn string) *pgx.Conn {
	idle.Lock()
	defer idle.Unlock()
	conn := idle.conns[dsn]
	delete(idle.conns, dsn)
	return conn
}

// keep makes a connection available to the next query, or closes it.
func keep(ctx context.Context, dsn string, conn *pgx.Conn) {
	idle.Lock()
	defer idle.Unlock()
	if conn.IsClosed() || idle.conns[dsn] != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return
	}
	idle.conns[dsn] = conn
}

// Query reads rows from the cluster's database.
func Query[T any](t testing.TB, r *Rig, row pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if conn := take(r.DSN); conn != nil {
		list, err := rowsOf(ctx, conn, row, sql, args...)
		lost := conn.IsClosed() && ctx.Err() == nil // the server has ended or restarted since
		keep(ctx, r.DSN, conn)
		if !lost {
			return list, err
		}
	}
	conn, err := pgx.Connect(ctx, r.DSN)
	if err != nil {
		return nil, err
	}
	defer keep(ctx, r.DSN, conn)
	return rowsOf(ctx, conn, row, sql, args...)
}

func rowsOf[T any](ctx context.Context, conn *pgx.Conn, row pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, row)
}

// Value reads one value from the cluster's database, and fails the test on an error.
func Value[T any](t testing.TB, r *Rig, sql string, args ...any) T {
	t.Helper()
	list, err := Query(t, r, pgx.RowTo[T], sql, args...)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %d rows, %v", sql, len(list), err)
	}
	return list[0]
}

// Alter changes the cluster's database, by one statement or several.
func Alter(t testing.TB, r *Rig, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
