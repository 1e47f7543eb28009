package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// ClusterID returns the cluster's id, which was generated with the schema.
func (db *DB) ClusterID(ctx context.Context) (string, error) {
	return database.Scalar[string](ctx, db.DB, `SELECT id::text FROM cluster`)
}
