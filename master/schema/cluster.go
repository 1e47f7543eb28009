package schema

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// ClusterID returns the cluster's id, which was generated with the schema.
func ClusterID(ctx context.Context, db *database.DB) (string, error) {
	return database.Scalar[string](ctx, db, `SELECT id::text FROM cluster`)
}
