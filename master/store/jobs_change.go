package store

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched"
)

// MoveTask moves a task that is not a trial and has not started to another pool.
func (db *DB) MoveTask(ctx context.Context, id, pool string) error {
	n, err := db.exec(ctx, `
		UPDATE tasks SET pool = $2 WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL AND NOT EXISTS (
			SELECT FROM allocations a WHERE a.task_id = $1 AND a.state NOT IN ('PENDING', 'TERMINATED'))`, id, pool)
	if err == nil && n == 0 {
		return fault.New(fault.Invalid, "task %s runs or has ended; only experiments can change their pool while they run", id)
	}
	return err
}

// PlaceJob moves a job in the queue directly before or behind another job of the same pool,
// and sets its priority to that of the other job, unless may returns an error. If the times of queueing leave no gap,
// the jobs behind get later times, by a microsecond.
func (db *DB) PlaceJob(ctx context.Context, id, anchor string, ahead bool, may func(priority int) error) error {
	return db.Tx(ctx, func(tx *DB) error {
		if _, err := tx.exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('queue places'))"); err != nil {
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
		return db.setTaskPriority(ctx, j.TaskID, priority)
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
	if err := db.setQueueTime(ctx, me, moment); err != nil {
		return err
	}
	for i, m := range shifted {
		if err := db.setQueueTime(ctx, queue[i], m); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) setQueueTime(ctx context.Context, j Job, at time.Time) error {
	if j.ExperimentID != nil {
		_, err := db.exec(ctx, `UPDATE experiments SET place = $2 WHERE id = $1`, *j.ExperimentID, at)
		return err
	}
	_, err := db.exec(ctx, `UPDATE tasks SET place = $2 WHERE id = $1`, j.TaskID, at)
	return err
}
