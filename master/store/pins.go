package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// PinWorkspace pins a workspace for a user; pinning it again changes nothing.
func (db *DB) PinWorkspace(ctx context.Context, user, workspace int) error {
	_, err := db.Exec(ctx, `INSERT INTO workspace_pins (user_id, workspace_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, user, workspace)
	return err
}

// UnpinWorkspace unpins it.
func (db *DB) UnpinWorkspace(ctx context.Context, user, workspace int) error {
	_, err := db.Exec(ctx, `DELETE FROM workspace_pins WHERE user_id = $1 AND workspace_id = $2`, user, workspace)
	return err
}

// Pins lists the workspaces that a user has pinned, and since when.
func (db *DB) Pins(ctx context.Context, user int) (map[int]time.Time, error) {
	type pin struct {
		WorkspaceID int       `db:"workspace_id"`
		At          time.Time `db:"pinned_at"`
	}
	list, err := database.Rows[pin](ctx, db.DB, `SELECT workspace_id, pinned_at FROM workspace_pins WHERE user_id = $1`, user)
	pins := make(map[int]time.Time, len(list))
	for _, p := range list {
		pins[p.WorkspaceID] = p.At
	}
	return pins, err
}
