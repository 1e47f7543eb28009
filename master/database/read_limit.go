package database

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/fault"
)

// A request for a list reads rows whose texts users have written, such as metrics, metadata and
// configurations, and keeps them all until its answer is encoded. Pages bound the number of rows, and where
// the rows of a page are large, their bytes (PageOf, FirstThatFit). The limit of a request bounds the rest:
// what all its queries read together.

type readLimitKey struct{}

// LimitReads returns a context whose queries read at most so many bytes of rows. Then they fail.
func LimitReads(ctx context.Context, bytes int64) context.Context {
	left := &atomic.Int64{}
	left.Store(bytes)
	return context.WithValue(ctx, readLimitKey{}, left)
}

// UnlimitedReads returns a context without such a limit, for what reads piece by piece and keeps little.
func UnlimitedReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, readLimitKey{}, nil)
}

// limited counts the rows of a query against the limit of its request.
func limited(ctx context.Context, r pgx.Rows) pgx.Rows {
	left, _ := ctx.Value(readLimitKey{}).(*atomic.Int64)
	if left == nil {
		return r
	}
	return &limitedRows{Rows: r, left: left}
}

type limitedRows struct {
	pgx.Rows
	left *atomic.Int64
	err  error
}

func (r *limitedRows) Next() bool {
	if r.err != nil || !r.Rows.Next() {
		return false
	}
	if r.left.Add(-int64(rowSize(r.Rows))) < 0 {
		r.err = fault.New(fault.TooLarge, "the answer is too large: metrics, metadata or configurations in it are long; ask for less at once, with a limit or for a shorter time")
		r.Close()
		return false
	}
	return true
}

func (r *limitedRows) Err() error { return cmp.Or(r.err, r.Rows.Err()) }

// RowsUpTo is rows, but ends after the row with which the rows have so many bytes; then full is true.
func RowsUpTo[T any](ctx context.Context, db *DB, bytes int, sql string, args ...any) (list []T, full bool, err error) {
	ctx, cancel := db.Bounded(ctx)
	defer cancel()
	r, release, err := db.query(ctx, sql, args...)
	if err != nil {
		return nil, false, err
	}
	defer release()
	up := &rowsToSize{Rows: limited(ctx, r), left: bytes}
	list, err = pgx.CollectRows(up, pgx.RowToStructByName[T])
	return list, up.full, AsFault(err)
}

type rowsToSize struct {
	pgx.Rows
	left int
	full bool
}

func (r *rowsToSize) Next() bool {
	if r.left <= 0 {
		r.full = true
		r.Close()
		return false
	}
	if !r.Rows.Next() {
		return false
	}
	r.left -= rowSize(r.Rows)
	return true
}

// rowSize is the size of a row as PostgreSQL sent it.
func rowSize(r pgx.Rows) int {
	size := 0
	for _, value := range r.RawValues() {
		size += len(value)
	}
	return size
}
