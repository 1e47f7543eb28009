package metrics

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// maxBehind is how many reports that are not yet in summaries Behind looks at.
const maxBehind = 20_000

// Behind reports whether summaries of trials of an experiment that have ended lack reports.
func Behind(ctx context.Context, db *database.DB, experiment int) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (
		SELECT FROM (SELECT trial_id FROM metrics WHERE `+afterCursor+` LIMIT $2) m JOIN trials t ON t.id = m.trial_id
		WHERE t.experiment_id = $1 AND t.ended_at IS NOT NULL)`, experiment, maxBehind)
}
