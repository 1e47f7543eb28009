package control

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/leftover"
	"github.com/detent-ml/detent/master/store"
)

// What must not run on, and is stopped after a while.
const (
	orphanGrace = store.OrphanGrace
	// maxSwept is how many of either are stopped after one full list.
	maxSwept = maxCalls
	// maxOrphans bounds the orphans whose devices and memory are kept from others.
	maxOrphans = 1000
)

// recordOrphans keeps those jobs of a full list that no row knows. A list that may
// lack something, or that was made without the right to see all, says nothing.
func (t *term) recordOrphans(ctx context.Context, tx *store.DB, o cluster.Observation) error {
	if !o.Full || o.Alarm != "" {
		return nil
	}
	jobs := []store.Orphan{}
	for _, j := range o.Jobs {
		if alive(j) {
			jobs = append(jobs, store.Orphan{AllocationID: j.AllocationID, JobID: j.JobID, SubmittedAt: j.SubmittedAt})
		}
	}
	found, err := tx.RecordOrphans(ctx, jobs)
	if err != nil {
		return fmt.Errorf("orphans: %w", err)
	}
	for _, f := range found {
		t.log.Warn("a job in Nomad carries this cluster's id and has no row in the database; it is stopped after a grace time",
			"term", t.lead.Term, "job", f.JobID, "allocation_id", f.AllocationID, "submitted", f.SubmittedAt, "grace", orphanGrace)
	}
	all, err := tx.Orphans(ctx, 0, maxOrphans)
	if err != nil {
		return fmt.Errorf("orphans: %w", err)
	}
	t.known.Orphans = make([]string, len(all))
	for i, o := range all {
		t.known.Orphans[i] = o.JobID
	}
	return nil
}

// alive tells whether something of a job runs, or will.
func alive(j cluster.JobFact) bool { return !j.Stopped && j.Status != "dead" }

// aliveIn are the attempts of the jobs that are alive.
func aliveIn(jobs []cluster.JobFact) []string {
	var ids []string
	for _, j := range jobs {
		if alive(j) {
			ids = append(ids, j.AllocationID)
		}
	}
	return ids
}

// sweep has jobs stopped that have no row for long, and those of attempts that ended
// long ago: also of those that were stopped, or never handed over as far as is known. A call
// to register a job that timed out here may reach Nomad after the order to stop it. The
// sweep looks after each full list of Nomad's, and only while that can be trusted.
func (t *term) sweep(ctx context.Context) error {
	if !t.listed || t.alarm != "" {
		return nil
	}
	t.listed = false
	return t.db.Fenced(ctx, t.lead.Term, func(tx *store.DB) error {
		orphans, err := tx.Orphans(ctx, orphanGrace, maxSwept)
		if err != nil {
			return fmt.Errorf("orphans: %w", err)
		}
		for _, o := range orphans {
			t.log.Warn("stopping a job that has no row in the database", "term", t.lead.Term, "job", o.JobID, "allocation_id", o.AllocationID)
			if err := tx.QueueStop(ctx, o.AllocationID); err != nil {
				return err
			}
		}
		ended, err := tx.EndedWithRunningJobs(ctx, t.alive, leftover.JobMargin, time.Since(t.began), maxSwept)
		if err != nil {
			return fmt.Errorf("attempts that ended: %w", err)
		}
		for _, id := range ended {
			t.log.Warn("stopping the job of an ended attempt, because a process of it still runs", "term", t.lead.Term, "allocation_id", id)
			if err := tx.QueueStop(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}
