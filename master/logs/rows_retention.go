package logs

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

const (
	// Forever is the number of days that keeps lines for ever.
	Forever = -1
	// MaxDays is the maximum of days, as in Determined.
	MaxDays = 32767
)

// retentionOf is SQL for the days for which the lines of task k are kept; t is its trial, e the
// trial's experiment, and $1 the days of the cluster.
const retentionOf = OwnRetention + ` $1::int)`

// classOf is SQL for the class of a log: the shortest that keeps lines for at least its days; 0 without
// an end.
const classOf = `coalesce((SELECT min(c.days) FROM log_classes c WHERE ` + retentionOf + ` >= 0 AND c.days >= greatest(1, ` + retentionOf + `)), 0)`

// inRows is the condition for logs whose lines are deleted row by row and not with a partition: logs that are kept
// for 0 days, whose lines must be deleted at once, and logs whose retention was changed after their first line.
const inRows = `(l.class = 0 OR ` + retentionOf + ` = 0 OR l.class <> ` + classOf + `)`

// OwnRetention is retentionOf without the days of the cluster and the last parenthesis.
const OwnRetention = `coalesce(t.log_retention_days, e.log_retention_days, e.config_log_days,`

// keptLogs are the tables of retentionOf.
const keptLogs = `log_tasks l JOIN tasks k ON k.id = l.task_id
	LEFT JOIN trials t ON t.task_id = k.id LEFT JOIN experiments e ON e.id = t.experiment_id`

// SetRetention sets the days for all trials of experiments, those that exist and those to come.
func SetRetention(ctx context.Context, db *database.DB, experiments []int, days int) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, `UPDATE experiments SET log_retention_days = $2 WHERE id = ANY($1)`, experiments, days); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE trials SET log_retention_days = NULL WHERE experiment_id = ANY($1) AND log_retention_days IS NOT NULL`, experiments)
	})
}

// SetTrialRetention sets the days for one trial.
func SetTrialRetention(ctx context.Context, db *database.DB, trial, days int) error {
	return db.Exec(ctx, `UPDATE trials SET log_retention_days = $2 WHERE id = $1`, trial, days)
}

// A TrialRetention has the days for which a trial's lines are kept.
type TrialRetention struct {
	ID        int `db:"id"`
	Days      int `db:"days"`      // Forever
	Remaining int `db:"remaining"` // Forever; all days, while the trial has not ended
}

// TrialRetentions reads the retention of trials; days is that of the cluster.
func TrialRetentions(ctx context.Context, db *database.DB, days int, trials []int) (map[int]TrialRetention, error) {
	list, err := database.Rows[TrialRetention](ctx, db, `
		SELECT id, days, CASE WHEN days < 0 OR ended_at IS NULL THEN days
			ELSE greatest(0, ceil(days - extract(epoch FROM now() - ended_at) / 86400))::int END AS remaining
		FROM (SELECT t.id, k.ended_at, `+retentionOf+` AS days FROM trials t JOIN tasks k ON k.id = t.task_id
			JOIN experiments e ON e.id = t.experiment_id WHERE t.id = ANY($2)) r`, days, trials)
	return each.Keyed(list, func(r TrialRetention) int { return r.ID }), err
}
