package store

import (
	"context"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// restart returns the checkpoint from which a trial restarts: its complete one with the most steps; the zero value if it has none.
func restart(ctx context.Context, db *database.DB, trial int) (attempts.Restart, error) {
	from, err := database.Row[attempts.Restart](ctx, db, "checkpoint", `
		SELECT k.uuid::text AS uuid, k.steps FROM checkpoints k WHERE k.trial_id = $1 AND k.state = 'COMPLETED' AND NOT `+beingRemoved+`
		ORDER BY k.steps DESC, k.reported_at DESC LIMIT 1`, trial)
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return from, err
}

// NewestCheckpoint returns the id of the checkpoint from which a trial itself would restart; "" if it has none.
func (db *DB) NewestCheckpoint(ctx context.Context, trial int) (string, error) {
	from, err := restart(ctx, db.DB, trial)
	return from.UUID, err
}

// Gate accepts the claims of runners: the room of attempts, with what it uses of checkpoints and their removal.
func (db *DB) Gate() attempts.Gate {
	return attempts.Gate{DB: db.DB, Restart: restart, Remaining: Remaining}
}
