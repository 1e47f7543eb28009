package checkpoints

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Newest returns the id of a trial's complete checkpoint with the most steps, from
// which the trial itself would restart; "" if it has none.
func Newest(ctx context.Context, db *database.DB, trial int) (string, error) {
	id, err := database.Scalar[string](ctx, db, `
		SELECT k.uuid::text FROM checkpoints k WHERE k.trial_id = $1 AND k.state = 'COMPLETED' AND NOT `+BeingRemoved+`
		ORDER BY k.steps DESC, k.reported_at DESC LIMIT 1`, trial)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return id, err
}
