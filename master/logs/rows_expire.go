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
	// expiredPage is the number of tasks that a pass examines in one statement.
	expiredPage = 2_000
	// expiredChunks is the number of chunks that one transaction deletes, each with up to a
	// thousand lines.
	expiredChunks = 100
	// lateLines is how long after the end of a task lines may still arrive: runners retry for a day.
	lateLines = 48 * time.Hour
)

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
	return db.Exec(ctx, `INSERT INTO work (kind, subject, parent, owner_id)
		SELECT 'expire', k.id, coalesce('experiment ' || k.experiment_id, k.id), k.owner_id FROM tasks k WHERE k.id = ANY($1)
		ORDER BY k.id ON CONFLICT DO NOTHING`, tasks)
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
		chunks, err := db.Affect(ctx, `
			DELETE FROM log_chunks c USING (SELECT tableoid, ctid FROM log_chunks WHERE log_task = $1 ORDER BY first LIMIT $2) old
			WHERE c.tableoid = old.tableoid AND c.ctid = old.ctid AND c.log_task = $1`, s.ID, expiredChunks)
		if err != nil {
			return 0, false, err
		}
		done = chunks < expiredChunks
	}
	err = db.Exec(ctx, `
		UPDATE log_tasks SET expired_to = next, bytes = 0, expired_at = CASE WHEN next > expired_to THEN now() ELSE expired_at END,
			emptied_at = CASE WHEN $2 THEN now() END
		WHERE id = $1`, s.ID, done && !s.Late)
	return s.Lines, done, err
}
