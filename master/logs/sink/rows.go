package sink

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/logs/sink/entry"
)

// unsent is a log with lines that a sink does not have, and what the lines say of their task.
type unsent struct {
	ID           int    `db:"id"`
	TaskID       string `db:"task_id"`
	Sent         int64  `db:"sent"` // the number of the first line that the sink does not have
	Type         string `db:"type"`
	ExperimentID *int   `db:"experiment_id"`
	TrialID      *int   `db:"trial_id"`
	Workspace    string `db:"workspace"`
	Owner        string `db:"owner"`
	Running      bool   `db:"running"` // the task has an allocation that has not ended
}

// begin makes the rows of a sink. A new one begins with the lines of this moment.
func (t *term) begin(ctx context.Context) error {
	var begun bool
	err := t.db.Fenced(ctx, t.number, func(tx *database.DB) error {
		err := tx.Exec(ctx, `INSERT INTO log_sinks (name, masters) SELECT $1::text, coalesce(max(id), 0) FROM master_logs ON CONFLICT DO NOTHING`, t.cfg.Name)
		if err != nil {
			return err
		}
		begun, err = database.Scalar[bool](ctx, tx, `SELECT begun FROM log_sinks WHERE name = $1`, t.cfg.Name)
		return err
	})
	for last := 0; err == nil && !begun; {
		err = t.db.Fenced(ctx, t.number, func(tx *database.DB) error {
			last, err = database.Scalar[int](ctx, tx, `
				WITH part AS (SELECT id, next FROM log_tasks WHERE id > $2 ORDER BY id LIMIT $3),
					made AS (INSERT INTO log_sink_tasks (sink, log_task, next) SELECT $1::text, id, next FROM part ON CONFLICT DO NOTHING)
				SELECT coalesce(max(id), 0) FROM part`, t.cfg.Name, last, logsAtOnce)
			if begun = err == nil && last == 0; begun {
				err = tx.Exec(ctx, `UPDATE log_sinks SET begun = true WHERE name = $1`, t.cfg.Name)
			}
			return err
		})
	}
	return err
}

// logsAtOnce bounds the logs for which one transaction makes rows.
const logsAtOnce = 10_000

// unsent lists logs with lines that are not sent, after a log: of tasks that run, or of all.
func (t *term) unsent(ctx context.Context, all bool, after int) ([]unsent, error) {
	which := ` AND l.task_id IN (SELECT a.task_id FROM allocations a WHERE a.state <> 'TERMINATED')`
	if all {
		which = ""
	}
	return database.Rows[unsent](ctx, t.db, `
		SELECT l.id, l.task_id, coalesce(s.next, 1) AS sent, k.type, k.experiment_id,
			(SELECT t.id FROM trials t WHERE t.task_id = k.id) AS trial_id, coalesce(w.name, '') AS workspace, u.username AS owner,
			EXISTS (SELECT FROM allocations a WHERE a.task_id = l.task_id AND a.state <> 'TERMINATED') AS running
		FROM log_tasks l LEFT JOIN log_sink_tasks s ON s.sink = $1 AND s.log_task = l.id
			JOIN tasks k ON k.id = l.task_id JOIN users u ON u.id = k.owner_id LEFT JOIN workspaces w ON w.id = k.workspace_id
		WHERE l.next > coalesce(s.next, 1) AND l.id > $2`+which+` ORDER BY l.id LIMIT $3`, t.cfg.Name, after, maxLogs)
}

// settleWithin is how long a master may take to store its lines: an id is given before its row can be seen.
const settleWithin = 5 * time.Second

// mastersAtOnce bounds the lines of masters in one request.
const mastersAtOnce = 1_000

// masters reads lines of masters that are not sent, as far as no master can still store one between them.
func (t *term) masters(ctx context.Context) (b batch, more bool, err error) {
	type place struct {
		Sent  int64 `db:"sent"`
		First int64 `db:"first"` // the oldest line that there is
		Last  int64 `db:"last"`
	}
	at, err := database.Row[place](ctx, t.db, "log sink "+t.cfg.Name, `
		SELECT masters AS sent, (SELECT coalesce(min(id), 0) FROM master_logs) AS first, (SELECT coalesce(max(id), 0) FROM master_logs) AS last FROM log_sinks WHERE name = $1`, t.cfg.Name)
	if err != nil {
		return b, false, err
	}
	switch now := time.Now(); {
	case t.seenAt.IsZero():
		t.seen, t.seenAt = at.Last, now
	case now.Sub(t.seenAt) >= t.settle():
		t.settled, t.seen, t.seenAt = t.seen, at.Last, now
	}
	if at.First > at.Sent+1 {
		b.lostMasters = at.First - at.Sent - 1
	}
	lines, err := masterlog.Lines(ctx, t.db, at.Sent, mastersAtOnce)
	if err != nil {
		return b, false, err
	}
	for _, l := range lines {
		if l.ID > t.settled {
			break
		}
		b.masters = l.ID
		b.add(entry.Entry{At: l.At, Level: masterLevel(l.Level), Text: l.Message, Number: l.ID, Rank: -1, Source: "master"})
		if b.full() {
			return b, true, nil
		}
	}
	if b.masters == 0 {
		b.lostMasters = 0
	}
	return b, len(lines) == mastersAtOnce && b.masters == lines[len(lines)-1].ID, nil
}

// settle is settleWithin, or less in tests.
func (t *term) settle() time.Duration { return min(settleWithin, t.cfg.Timing.LookAll) }

// masterLevel is a level of the API.
func masterLevel(name string) int {
	switch name {
	case "DEBUG":
		return 2
	case "INFO":
		return 3
	case "WARN":
		return 4
	case "ERROR":
		return 5
	}
	return 0
}

// advance notes that a batch is sent.
func (t *term) advance(ctx context.Context, b *batch, sent, rejected int64) error {
	ids, nexts, lost := make([]int, len(b.progress)), make([]int64, len(b.progress)), b.lostMasters
	for i, p := range b.progress {
		ids[i], nexts[i] = p.log, p.next
		lost += p.lost
	}
	return t.db.Fenced(ctx, t.number, func(tx *database.DB) error {
		err := tx.Exec(ctx, `UPDATE log_sinks SET masters = greatest(masters, $2), sent = sent + $3, rejected = rejected + $4, lost = lost + $5, failing_since = NULL WHERE name = $1`,
			t.cfg.Name, b.masters, sent, rejected, lost)
		if err != nil || len(ids) == 0 {
			return err
		}
		// A log may be deleted meanwhile.
		return tx.Exec(ctx, `
			INSERT INTO log_sink_tasks (sink, log_task, next)
			SELECT $1::text, l.id, u.next FROM unnest($2::int[], $3::bigint[]) AS u(id, next) JOIN log_tasks l ON l.id = u.id ORDER BY l.id FOR KEY SHARE OF l
			ON CONFLICT (sink, log_task) DO UPDATE SET next = excluded.next`, t.cfg.Name, ids, nexts)
	})
}

// noteFailing notes since when the receiver takes nothing.
func (t *term) noteFailing(ctx context.Context) error {
	return t.db.Fenced(ctx, t.number, func(tx *database.DB) error {
		return tx.Exec(ctx, `UPDATE log_sinks SET failing_since = coalesce(failing_since, now()) WHERE name = $1`, t.cfg.Name)
	})
}

// countWaiting notes how many lines of tasks are not sent. A sink of tasks for which no line waits does not fail, whatever the last
// error was: it may be long until the next line shows that.
func (t *term) countWaiting(ctx context.Context) error {
	n, err := database.Scalar[int64](ctx, t.db, `SELECT coalesce(sum(l.next - greatest(coalesce(s.next, 1), l.expired_to)), 0)::bigint
		FROM log_tasks l LEFT JOIN log_sink_tasks s ON s.sink = $1 AND s.log_task = l.id WHERE l.next > greatest(coalesce(s.next, 1), l.expired_to)`, t.cfg.Name)
	if err != nil {
		return err
	}
	idle := n == 0 && !t.cfg.Masters
	if idle {
		t.failing = time.Time{}
	}
	return t.db.Fenced(ctx, t.number, func(tx *database.DB) error {
		return tx.Exec(ctx, `UPDATE log_sinks SET waiting = $2, failing_since = CASE WHEN $3 THEN NULL ELSE failing_since END
			WHERE name = $1 AND (waiting <> $2 OR $3 AND failing_since IS NOT NULL)`, t.cfg.Name, n, idle)
	})
}
