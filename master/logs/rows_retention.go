package logs

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// The lines of a task are deleted when its retention has ended: so many days after the end of the
// task. A pass (Expired) finds these tasks and queues work of the kind expire (Expire), which
// marks the lines as deleted: from then on nobody can read them. Their rows go with their partition
// (MaintainPartitions). Only where the partition is kept for longer than the task's retention does
// Expire delete rows: a limited number at a time, so that no transaction is long and owners take turns.

const (
	// Forever is the number of days that keeps lines for ever.
	Forever = -1
	// MaxDays is the maximum of days, as in Determined.
	MaxDays = 32767
	// expiredPage is the number of tasks that a pass examines in one statement.
	expiredPage = 2_000
	// expiredChunks is the number of chunks that one transaction deletes, each with up to a
	// thousand lines.
	expiredChunks = 100
	// lateLines is how long after the end of a task lines may still arrive: runners retry for a day.
	lateLines = 48 * time.Hour
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

// isExpired is the condition for tasks whose retention has ended.
const isExpired = `(k.ended_at IS NOT NULL AND ` + retentionOf + ` >= 0 AND k.ended_at + make_interval(days => ` + retentionOf + `) <= now())`

// Expired lists tasks whose retention has ended, among a page of those that follow a row of
// log_tasks. next is the row with which the next page begins; 0 after the last.
func Expired(ctx context.Context, db *database.DB, days, after int) (tasks []string, next int, err error) {
	type found struct {
		ID      int    `db:"id"`
		Task    string `db:"task_id"`
		Expired bool   `db:"expired"`
	}
	list, err := database.Rows[found](ctx, db, `
		SELECT l.id, l.task_id, `+isExpired+` AS expired FROM `+keptLogs+`
		WHERE l.emptied_at IS NULL AND l.id > $2 ORDER BY l.id LIMIT $3`, days, after, expiredPage)
	for _, f := range list {
		if f.Expired {
			tasks = append(tasks, f.Task)
		}
	}
	if len(list) == expiredPage {
		next = list[len(list)-1].ID
	}
	return tasks, next, err
}

// QueueExpiry queues the deletion of the lines of tasks, in turns of their owners.
func QueueExpiry(ctx context.Context, db *database.DB, tasks []string) error {
	_, err := db.Exec(ctx, `INSERT INTO work (kind, subject, parent, owner_id)
		SELECT 'expire', k.id, coalesce('experiment ' || k.experiment_id, k.id), k.owner_id FROM tasks k WHERE k.id = ANY($1)
		ORDER BY k.id ON CONFLICT DO NOTHING`, tasks)
	return err
}

// Expire deletes the lines of a task whose retention has ended, and returns how many. done reports
// that no rows are left to delete, also because somebody has changed the retention. It must run in a
// transaction.
func Expire(ctx context.Context, db *database.DB, days int, task string) (lines int64, done bool, err error) {
	type state struct {
		ID      int   `db:"id"`
		Expired bool  `db:"expired"`
		Late    bool  `db:"late"` // lines may still arrive
		InRows  bool  `db:"in_rows"`
		Lines   int64 `db:"lines"` // that are not deleted yet
	}
	// The lock on the task's row makes two deletions of the same lines wait for each other.
	s, err := database.Row[state](ctx, db, "log of task "+task, `
		SELECT l.id, `+isExpired+` AS expired, k.ended_at IS NULL OR k.ended_at > now() - $3::interval AS late, `+inRows+` AS in_rows,
			l.next - l.expired_to AS lines
		FROM `+keptLogs+` WHERE l.task_id = $2 FOR UPDATE OF l`, days, task, lateLines)
	if fault.Is(err, fault.NotFound) || err == nil && !s.Expired { // the task was deleted, or is kept for longer now
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	done = true
	if s.InRows {
		chunks, err := db.Exec(ctx, `
			DELETE FROM log_chunks c USING (SELECT tableoid, ctid FROM log_chunks WHERE log_task = $1 ORDER BY first LIMIT $2) old
			WHERE c.tableoid = old.tableoid AND c.ctid = old.ctid AND c.log_task = $1`, s.ID, expiredChunks)
		if err != nil {
			return 0, false, err
		}
		done = chunks < expiredChunks
	}
	_, err = db.Exec(ctx, `
		UPDATE log_tasks SET expired_to = next, bytes = 0, expired_at = CASE WHEN next > expired_to THEN now() ELSE expired_at END,
			emptied_at = CASE WHEN $2 THEN now() END
		WHERE id = $1`, s.ID, done && !s.Late)
	return s.Lines, done, err
}

// SetRetention sets the days for all trials of experiments, those that exist and those to come.
func SetRetention(ctx context.Context, db *database.DB, experiments []int, days int) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if _, err := tx.Exec(ctx, `UPDATE experiments SET log_retention_days = $2 WHERE id = ANY($1)`, experiments, days); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE trials SET log_retention_days = NULL WHERE experiment_id = ANY($1) AND log_retention_days IS NOT NULL`, experiments)
		return err
	})
}

// SetTrialRetention sets the days for one trial.
func SetTrialRetention(ctx context.Context, db *database.DB, trial, days int) error {
	_, err := db.Exec(ctx, `UPDATE trials SET log_retention_days = $2 WHERE id = $1`, trial, days)
	return err
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
	byID := make(map[int]TrialRetention, len(list))
	for _, r := range list {
		byID[r.ID] = r
	}
	return byID, err
}
