package api

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// of is a function over rows with one argument, over these rows.
func of[K, V any](db *database.DB, read func(ctx context.Context, db *database.DB, k K) (V, error)) func(ctx context.Context, k K) (V, error) {
	return func(ctx context.Context, k K) (V, error) { return read(ctx, db, k) }
}
