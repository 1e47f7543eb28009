package control

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/nodes"
)

const (
	orphanGrace = nodes.OrphanGrace
	// maxSwept is how many orphans, and how many jobs of ended attempts, one sweep stops.
	maxSwept = maxCalls
	// maxOrphans is how many orphans' devices and memory the scheduler treats as taken.
	maxOrphans = 1000
)

// recordOrphans stores the orphans: the jobs of a full list that have no row in the
// database. It ignores an incomplete list, and one that is not trusted.
func (v *view) recordOrphans(ctx context.Context, tx *database.DB, o cluster.Observation) error {
	if !o.Full || o.Alarm != "" {
		return nil
	}
	jobs := []nodes.Orphan{}
	for _, j := range o.Jobs {
		if alive(j) {
			jobs = append(jobs, nodes.Orphan{AllocationID: j.AllocationID, JobID: j.JobID, SubmittedAt: j.SubmittedAt})
		}
	}
	found, err := rows.RecordOrphans(ctx, tx, v.name, jobs)
	if err != nil {
		return fmt.Errorf("orphans: %w", err)
	}
	for _, f := range found {
		v.log.Warn("a job in Nomad has this cluster's id and no row in the database; the master stops it after a grace period",
			"term", v.lead.Term, "job", f.JobID, "allocation_id", f.AllocationID, "submitted", f.SubmittedAt, "grace", orphanGrace)
	}
	all, err := rows.OrphansIn(ctx, tx, v.name, 0, maxOrphans)
	if err != nil {
		return fmt.Errorf("orphans: %w", err)
	}
	v.known.Orphans = each.Of(all, func(o nodes.Orphan) string { return o.JobID })
	return nil
}

// alive reports whether a process of a job runs or will run.
func alive(j cluster.JobFact) bool { return !j.Stopped && j.Status != "dead" }

// aliveIn returns the attempts whose jobs are alive.
func aliveIn(jobs []cluster.JobFact) []string {
	var ids []string
	for _, j := range jobs {
		if alive(j) {
			ids = append(ids, j.AllocationID)
		}
	}
	return ids
}

// sweep queues stops of two kinds of jobs: those that have had no row for orphanGrace, and
// those of attempts that ended long ago. The latter exist because a call that registers a
// job can time out in the master and still reach Nomad, after the call that stops the job.
// sweep runs after each full list of Nomad's jobs, if Nomad's state is trusted.
func (v *view) sweep(ctx context.Context) error {
	if !v.listed || v.alarm != "" {
		return nil
	}
	v.listed = false
	return v.db.Fenced(ctx, v.lead.Term, func(tx *database.DB) error {
		orphans, err := rows.OrphansIn(ctx, tx, v.name, orphanGrace, maxSwept)
		if err != nil {
			return fmt.Errorf("orphans: %w", err)
		}
		for _, o := range orphans {
			v.log.Warn("stopping a job that has no row in the database", "term", v.lead.Term, "job", o.JobID, "allocation_id", o.AllocationID)
			if err := rows.QueueStop(ctx, tx, o.AllocationID); err != nil {
				return err
			}
		}
		ended, err := rows.EndedWithRunningJobs(ctx, tx, v.alive, leftover.JobMargin, time.Since(v.began), maxSwept)
		if err != nil {
			return fmt.Errorf("attempts that ended: %w", err)
		}
		for _, id := range ended {
			v.log.Warn("stopping the job of an ended attempt, because a process of it still runs", "term", v.lead.Term, "allocation_id", id)
			if err := rows.QueueStop(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}
