package metrics

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// maxAdopted is how many reports a trial of a branch has of its origin, the newest and the validations first.
const maxAdopted = 20_000

// Adopt gives a trial of a branch what its origin reported up to the checkpoint from which the trial goes on. It is called when the first run
// of the trial begins: until then its reports are those of its origin, and from then on its own, with a summary of its own.
func Adopt(ctx context.Context, tx *database.DB, trial int) error {
	begun, err := database.Scalars[int](ctx, tx, `SELECT id FROM trials WHERE id = $1 AND origin_until IS NOT NULL FOR UPDATE`, trial)
	if err != nil || len(begun) == 0 {
		return err
	}
	err = tx.Exec(ctx, `INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, batches)
		SELECT t.id, 0, m.group_name, m.steps, m.position, m.reported_at, m.avg, m.batches
		FROM trials t JOIN checkpoints k ON k.uuid = t.warm_start AND k.trial_id = t.origin_id
		JOIN metrics m ON m.trial_id = t.origin_id AND m.steps <= k.steps AND NOT m.archived
		WHERE t.id = $1 ORDER BY m.group_name <> 'validation', m.position DESC, m.run_id DESC LIMIT $2
		ON CONFLICT DO NOTHING`, trial, maxAdopted)
	if err != nil {
		return err
	}
	if err := tx.Exec(ctx, `DELETE FROM trial_summaries WHERE trial_id = $1`, trial); err != nil {
		return err
	}
	return tx.Exec(ctx, `UPDATE trials SET origin_until = NULL, past = false WHERE id = $1`, trial)
}
