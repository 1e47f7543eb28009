package queue

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched"
)

// moveTask moves a task that is not a trial and has not started to another pool.
func moveTask(ctx context.Context, db *database.DB, id, pool string) error {
	return db.Change(ctx, fault.New(fault.Invalid, "task %s runs or has ended; only experiments can change their pool while they run", id), `
		UPDATE tasks SET pool = $2 WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL AND NOT EXISTS (
			SELECT FROM allocations a WHERE a.task_id = $1 AND a.state NOT IN ('PENDING', 'TERMINATED'))`, id, pool)
}

// A Move moves a job in the queue directly before or behind another job of the same pool, whose priority the job gets.
type Move struct {
	Job    string
	Anchor string // the other job, which waits
	Ahead  bool   // the job moves before the anchor, not behind it
	// Prioritize stores the new priority of the job in the transaction of the move, or returns why the job may not have this priority.
	Prioritize func(ctx context.Context, tx *database.DB, j Job, priority int) error
}

// Place stores the new place of a job. If the times of queueing leave no gap, the jobs behind get later times, by a microsecond.
func Place(ctx context.Context, db *database.DB, m Move) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('queue places'))"); err != nil {
			return err
		}
		all, err := Jobs(ctx, tx, auth.Everywhere(), "")
		if err != nil {
			return err
		}
		me, err := queuedJob(all, m.Job)
		if err != nil {
			return err
		}
		other, err := queuedJob(all, m.Anchor)
		switch {
		case err != nil:
			return err
		case other.Scheduled():
			return fault.New(fault.Invalid, "job %s does not wait: it already runs", m.Anchor)
		case me.Pool != other.Pool:
			return fault.New(fault.Invalid, "job %s is in pool %s and job %s in pool %s", m.Job, me.Pool, m.Anchor, other.Pool)
		}
		if me.Priority != other.Priority {
			if err := m.Prioritize(ctx, tx, me, other.Priority); err != nil {
				return err
			}
		}
		return insertJob(ctx, tx, all, me, other, m.Ahead)
	})
}

func queuedJob(all []Job, id string) (Job, error) {
	i := slices.IndexFunc(all, func(j Job) bool { return j.ID == id })
	if i < 0 {
		return Job{}, fault.New(fault.NotFound, "job %s is not in any queue", id)
	}
	return all[i], nil
}

// insertJob stores the job's time of queueing, and those of the jobs that move back.
func insertJob(ctx context.Context, tx *database.DB, all []Job, me, other Job, ahead bool) error {
	queue := slices.DeleteFunc(slices.Clone(all), func(j Job) bool {
		return j.ID == me.ID || j.Pool != other.Pool || j.Priority != other.Priority || j.Scheduled()
	})
	at := slices.IndexFunc(queue, func(j Job) bool { return j.ID == other.ID })
	if !ahead {
		at++
	}
	moments := each.Of(queue, func(j Job) time.Time { return j.QueuedAt })
	moment, shifted := sched.Insert(moments, at)
	jobs, times := []Job{me}, []time.Time{moment}
	for i, m := range shifted {
		jobs, times = append(jobs, queue[i]), append(times, m)
	}
	return setTimes(ctx, tx, jobs, times)
}

// setTimes stores the times of queueing of jobs, and locks the jobs in the order of their ids.
func setTimes(ctx context.Context, tx *database.DB, jobs []Job, at []time.Time) error {
	var experiments []int
	var tasks []string
	var ofExperiments, ofTasks []time.Time
	for i, j := range jobs {
		if j.ExperimentID != nil {
			experiments, ofExperiments = append(experiments, *j.ExperimentID), append(ofExperiments, at[i])
		} else {
			tasks, ofTasks = append(tasks, j.TaskID), append(ofTasks, at[i])
		}
	}
	if len(experiments) > 0 {
		if err := tx.Exec(ctx, `UPDATE experiments o SET queue_time = x.at FROM (
			SELECT e.id, u.at FROM experiments e JOIN unnest($1::int[], $2::timestamptz[]) u (id, at) ON u.id = e.id ORDER BY e.id FOR NO KEY UPDATE OF e) x
			WHERE o.id = x.id`, experiments, ofExperiments); err != nil {
			return err
		}
	}
	if len(tasks) > 0 {
		if err := tx.Exec(ctx, `UPDATE tasks o SET queue_time = x.at FROM (
			SELECT k.id, u.at FROM tasks k JOIN unnest($1::text[], $2::timestamptz[]) u (id, at) ON u.id = k.id ORDER BY k.id FOR NO KEY UPDATE OF k) x
			WHERE o.id = x.id`, tasks, ofTasks); err != nil {
			return err
		}
	}
	return nil
}
