package control

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/sleep"
)

// maxExpiries is the number of tasks whose log lines are deleted at the same time. One call deletes a
// part of a task's lines; between the calls the tasks of other users have their turn.
const maxExpiries = 2

// expirePause is the time until a pass that failed is repeated.
const expirePause = time.Minute

// A LogRetention says for how long the log lines of tasks are kept, and when the leader looks for lines
// whose time has ended.
type LogRetention struct {
	Days int                       // for tasks whose configuration sets none; logs.Forever keeps them for ever
	Next func(time.Time) time.Time // the next pass after a time
}

// expireLogs queues the deletion of lines, at the times of the schedule.
func (t *term) expireLogs(ctx context.Context) {
	if t.cfg.Retention.Next == nil {
		return
	}
	for {
		now := time.Now()
		if sleep.For(ctx, t.cfg.Retention.Next(now).Sub(now)) != nil {
			return
		}
		for t.queueExpiries(ctx) != nil {
			if sleep.For(ctx, expirePause) != nil {
				return
			}
		}
	}
}

// queueExpiries is one pass over all tasks whose lines are kept.
func (t *term) queueExpiries(ctx context.Context) error {
	queued := 0
	for after := 0; ; {
		tasks, next, err := logs.Expired(ctx, t.db, t.cfg.Retention.Days, after)
		if err == nil && len(tasks) > 0 {
			err = t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) error { return logs.QueueExpiry(ctx, tx, tasks) })
		}
		if err != nil {
			if ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
				t.log.Warn("could not look for logs whose retention has ended; retrying", "term", t.lead.Term, "error", err)
			}
			return err
		}
		if queued, after = queued+len(tasks), next; next == 0 {
			break
		}
	}
	if queued > 0 {
		t.log.Info("deleting logs whose retention has ended", "term", t.lead.Term, "tasks", queued)
	}
	return nil
}

// expire deletes a part of a task's log lines.
func (t *term) expire(ctx context.Context, w rows.Work) error {
	_, err := t.part(ctx, w, func(tx *database.DB) (done bool, err error) {
		_, done, err = logs.Expire(ctx, tx, t.cfg.Retention.Days, w.Subject)
		return done, err
	})
	return err
}
