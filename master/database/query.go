package database

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/fault"
)

// Bounded gives a call a deadline if it has none: within a transaction that of the transaction, also where the
// function that Tx runs uses the context from outside.
func (db *DB) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	_, has := ctx.Deadline()
	switch {
	case has:
		return ctx, func() {}
	case !db.until.IsZero():
		return context.WithDeadline(ctx, db.until)
	case db.within > 0:
		return context.WithTimeout(ctx, db.within)
	}
	return ctx, func() {}
}

// Exec runs one statement.
func (db *DB) Exec(ctx context.Context, sql string, args ...any) error {
	_, err := db.Affect(ctx, sql, args...)
	return err
}

// Affect is Exec that returns the number of rows that the statement changed.
func (db *DB) Affect(ctx context.Context, sql string, args ...any) (int64, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	release, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return 0, err
	}
	defer release()
	tag, err := db.on.Exec(ctx, sql, args...)
	return tag.RowsAffected(), AsFault(err)
}

// Change is Exec for a statement that changes at least one row; it returns missing if there is none.
func (db *DB) Change(ctx context.Context, missing error, sql string, args ...any) error {
	n, err := db.Affect(ctx, sql, args...)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// query begins a query in the part of the owner in ctx; release ends it.
func (db *DB) query(ctx context.Context, sql string, args ...any) (r pgx.Rows, release func(), err error) {
	free, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	if r, err = db.on.Query(ctx, sql, args...); err != nil {
		free()
		return nil, nil, AsFault(err)
	}
	return r, func() { r.Close(); free() }, nil
}

// Rows collects a query's rows by the names of T's fields (tag db).
func Rows[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	return collect(ctx, db, pgx.RowToStructByName[T], sql, args)
}

// collect makes a value of each row.
func collect[T any](ctx context.Context, db *DB, of pgx.RowToFunc[T], sql string, args []any) ([]T, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer release()
	list, err := pgx.CollectRows(limited(ctx, r), of)
	return list, AsFault(err)
}

// Row reads exactly one row; what names the object in the error if there is no row.
func Row[T any](ctx context.Context, db *DB, what string, sql string, args ...any) (T, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	var zero T
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return zero, err
	}
	defer release()
	v, err := pgx.CollectExactlyOneRow(r, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return v, fault.New(fault.NotFound, "%s not found", what)
	}
	return v, AsFault(err)
}

// Scalar reads one value.
func Scalar[T any](ctx context.Context, db *DB, sql string, args ...any) (T, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	var v T
	release, err := db.owners.takeFor(ctx, sql)
	if err != nil {
		return v, err
	}
	defer release()
	err = db.on.QueryRow(ctx, sql, args...).Scan(&v)
	return v, AsFault(err)
}

// Map reads two columns: keys, and their values. The last row of a key wins.
func Map[K comparable, V any](ctx context.Context, db *DB, sql string, args ...any) (map[K]V, error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer release()
	out := map[K]V{}
	rows := limited(ctx, r)
	for rows.Next() {
		var k K
		var v V
		if err := rows.Scan(&k, &v); err != nil {
			return nil, AsFault(err)
		}
		out[k] = v
	}
	return out, AsFault(rows.Err())
}

// Scalars reads a column.
func Scalars[T any](ctx context.Context, db *DB, sql string, args ...any) ([]T, error) {
	return collect(ctx, db, pgx.RowTo[T], sql, args)
}

// ErrSkipRest ends Each, which then returns no error.
var ErrSkipRest = errors.New("the rest of the rows is not needed")

// Each scans each row of a query into dest, and then calls do. It has no deadline of its own, and does not count
// against LimitReads: it is for callers that keep little of many rows.
func (db *DB) Each(ctx context.Context, sql string, args, dest []any, do func() error) error {
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer release()
	for r.Next() {
		if err := r.Scan(dest...); err != nil {
			return AsFault(err)
		}
		if err := do(); errors.Is(err, ErrSkipRest) {
			break
		} else if err != nil {
			return err
		}
	}
	r.Close() // reads and drops the rest
	return AsFault(r.Err())
}

// RawBytes is a value as PostgreSQL sent it. It is valid until the next row is read.
type RawBytes []byte

// ScanBytes keeps the driver's bytes.
func (b *RawBytes) ScanBytes(v []byte) error {
	*b = v
	return nil
}

// A Scanner is a row that is read once.
type Scanner interface {
	Scan(dest ...any) error
}

// QueryRow reads several values of one row; Scan fails with fault.NotFound if there is none. It takes no share of an
// owner, and has no deadline of its own.
func (db *DB) QueryRow(ctx context.Context, sql string, args ...any) Scanner {
	return scanner{db.on.QueryRow(ctx, sql, args...)}
}

type scanner struct{ row pgx.Row }

func (s scanner) Scan(dest ...any) error { return AsFault(s.row.Scan(dest...)) }

// Args are named arguments of a statement, as in @name.
type Args map[string]any

// RewriteQuery gives the arguments of the statement numbers.
func (a Args) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	return pgx.NamedArgs(a).RewriteQuery(ctx, conn, sql, args)
}
