package checkpoints

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// Newest is the checkpoint from which a trial restarts: its complete one with the most steps; the zero value if it has none.
type Newest struct {
	UUID  string `db:"uuid"`
	Steps int    `db:"steps"`
}

// NewestOf returns the checkpoint from which a trial restarts.
func NewestOf(ctx context.Context, db *database.DB, trial int) (Newest, error) {
	k, err := database.Row[Newest](ctx, db, "checkpoint", `
		SELECT k.uuid::text AS uuid, k.steps FROM checkpoints k WHERE k.trial_id = $1 AND k.state = 'COMPLETED' AND NOT `+BeingRemoved+`
		ORDER BY k.steps DESC, k.reported_at DESC LIMIT 1`, trial)
	return k, database.Missing(err, nil)
}
