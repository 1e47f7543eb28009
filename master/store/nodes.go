package store

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// WantNode says what operators want of a node: whether it takes new work, and
// whether what runs there is to be let go.
func (db *DB) WantNode(ctx context.Context, id string, enabled, drain bool) error {
	n, err := db.exec(ctx, `UPDATE nodes SET enabled = $2, drain_wanted = $3 WHERE id = $1`, id, enabled, drain)
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "node %s not found", id)
	}
	return err
}
