package store

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/tasks"
)

// MoveTask moves a task that is not a trial and has not started to another pool.
func (db *DB) MoveTask(ctx context.Context, id, pool string) error {
	return db.Change(ctx, fault.New(fault.Invalid, "task %s runs or has ended; only experiments can change their pool while they run", id), `
		UPDATE tasks SET pool = $2 WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL AND NOT EXISTS (
			SELECT FROM allocations a WHERE a.task_id = $1 AND a.state NOT IN ('PENDING', 'TERMINATED'))`, id, pool)
}

// PlaceJob moves a job in the queue directly before or behind another job of the same pool,
// and sets its priority to that of the other job, unless may returns an error. If the times of queueing leave no gap,
// the jobs behind get later times, by a microsecond.
func (db *DB) PlaceJob(ctx context.Context, id, anchor string, ahead bool, may func(priority int) error) error {
	return db.Tx(ctx, func(tx *DB) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('queue places'))"); err != nil {
			return err
		}
		all, err := tx.Jobs(ctx, auth.Everywhere(), "")
		if err != nil {
			return err
		}
		me, err := waitingJob(all, id)
		if err != nil {
			return err
		}
		other, err := waitingJob(all, anchor)
		switch {
		case err != nil:
			return err
		case other.Scheduled():
			return fault.New(fault.Invalid, "job %s does not wait: it already runs", anchor)
		case me.Pool != other.Pool:
			return fault.New(fault.Invalid, "job %s is in pool %s and job %s in pool %s", id, me.Pool, anchor, other.Pool)
		}
		if me.Priority != other.Priority {
			if err := may(other.Priority); err != nil {
				return err
			}
			if err := tx.prioritize(ctx, me, other.Priority); err != nil {
				return err
			}
		}
		return tx.insertJob(ctx, all, me, other, ahead)
	})
}

func waitingJob(all []Job, id string) (Job, error) {
	i := slices.IndexFunc(all, func(j Job) bool { return j.ID == id })
	if i < 0 {
		return Job{}, fault.New(fault.NotFound, "job %s is not in any queue", id)
	}
	return all[i], nil
}

func (db *DB) prioritize(ctx context.Context, j Job, priority int) error {
	if j.ExperimentID == nil {
		return tasks.PrioritizeIn(ctx, db.DB, j.TaskID, priority)
	}
	return db.patchExperiment(ctx, *j.ExperimentID, ExperimentPatch{Priority: &priority})
}

// insertJob stores the job's time of queueing, and those of the jobs that move back.
func (db *DB) insertJob(ctx context.Context, all []Job, me, other Job, ahead bool) error {
	queue := slices.DeleteFunc(slices.Clone(all), func(j Job) bool {
		return j.ID == me.ID || j.Pool != other.Pool || j.Priority != other.Priority || j.Scheduled()
	})
	at := slices.IndexFunc(queue, func(j Job) bool { return j.ID == other.ID })
	if !ahead {
		at++
	}
	moments := make([]time.Time, len(queue))
	for i, j := range queue {
		moments[i] = j.QueuedAt
	}
	moment, shifted := sched.Insert(moments, at)
	jobs, times := []Job{me}, []time.Time{moment}
	for i, m := range shifted {
		jobs, times = append(jobs, queue[i]), append(times, m)
	}
	return db.setQueueTimes(ctx, jobs, times)
}

// setQueueTimes stores the times of jobs, and locks them in the order of their ids.
func (db *DB) setQueueTimes(ctx context.Context, jobs []Job, at []time.Time) error {
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
		if _, err := db.Exec(ctx, `UPDATE experiments o SET queue_time = x.at FROM (
			SELECT e.id, u.at FROM experiments e JOIN unnest($1::int[], $2::timestamptz[]) u (id, at) ON u.id = e.id ORDER BY e.id FOR NO KEY UPDATE OF e) x
			WHERE o.id = x.id`, experiments, ofExperiments); err != nil {
			return err
		}
	}
	if len(tasks) > 0 {
		if _, err := db.Exec(ctx, `UPDATE tasks o SET queue_time = x.at FROM (
			SELECT k.id, u.at FROM tasks k JOIN unnest($1::text[], $2::timestamptz[]) u (id, at) ON u.id = k.id ORDER BY k.id FOR NO KEY UPDATE OF k) x
			WHERE o.id = x.id`, tasks, ofTasks); err != nil {
			return err
		}
	}
	return nil
}
