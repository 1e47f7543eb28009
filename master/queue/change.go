package queue

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// maxChanges is the maximum number of changes in one request: each reads the whole queue.
const maxChanges = 100

// A Change changes the experiment or the task of a job; nil leaves a field unchanged.
type Change struct {
	Priority *int
	Weight   *float64
	Pool     *string
}

// CheckShare checks a priority and a weight.
func CheckShare(priority *int, weight *float64) error {
	switch {
	case priority != nil && (*priority < 1 || *priority > 99):
		return fault.New(fault.Invalid, "priority: expected 1 (first) to 99 (last), found %d", *priority)
	case weight != nil && !(*weight > 0 && *weight <= 1e6):
		return fault.New(fault.Invalid, "weight: expected a number above 0 and up to 1,000,000, found %g", *weight)
	}
	return nil
}

func (d Deps) changeJobs(ctx context.Context, c *rest.Call, req *v1.UpdateJobQueueRequest) (*v1.Empty, error) {
	if n := len(req.Updates); n > maxChanges {
		return nil, fault.New(fault.Invalid, "updates: %d changes; %d are allowed in one request", n, maxChanges)
	}
	for _, u := range req.Updates {
		if optional.Value(u.AheadOf) != "" && optional.Value(u.BehindOf) != "" {
			return nil, fault.New(fault.Invalid, "job %s: give either aheadOf or behindOf, not both", fault.Clip(u.JobID))
		}
		if err := CheckShare(u.Priority, u.Weight); err != nil {
			return nil, err
		}
		if err := d.changeJob(ctx, c, u); err != nil {
			return nil, err
		}
	}
	d.Changed()
	return &v1.Empty{}, nil
}

func (d Deps) changeJob(ctx context.Context, c *rest.Call, u v1.QueueControl) error {
	of, err := d.jobFor(ctx, c, auth.Change, u.JobID)
	if err != nil {
		return err
	}
	anchor, ahead, err := d.anchorOf(ctx, c, u)
	if err != nil {
		return err
	}
	if optional.Value(u.ResourcePool) == "" {
		u.ResourcePool = nil
	}
	ch := Change{Priority: u.Priority, Weight: u.Weight, Pool: u.ResourcePool}
	if err := d.mayChange(ctx, of, ch); err != nil {
		return err
	}
	if of.ExperimentID != nil {
		err = d.ChangeExperiment(ctx, *of.ExperimentID, ch)
	} else {
		err = d.changeTask(ctx, u.JobID, of.TaskID, ch)
	}
	if err != nil || anchor == "" {
		return err
	}
	return d.place(ctx, c, of, Move{Job: u.JobID, Anchor: anchor, Ahead: ahead})
}

// object is a job for auth: with roles, a caller who may change an experiment may change its job.
func (r jobRef) object(job string) auth.Object {
	o := auth.Object{Kind: v1.KindJob, Name: "job " + job, OwnerID: r.OwnerID, WorkspaceID: r.WorkspaceID}
	if r.ExperimentID != nil {
		o.Kind = v1.KindExperiment
	}
	return o
}

// workload is the type of workload of a job, as config policies name it.
func (r jobRef) workload() string {
	if r.ExperimentID != nil {
		return workspaces.WorkloadExperiment
	}
	return workspaces.WorkloadTasks
}

// jobFor finds a job for which the caller may do the verb.
func (d Deps) jobFor(ctx context.Context, c *rest.Call, verb auth.Verb, id string) (jobRef, error) {
	r, err := refOf(ctx, d.DB, id)
	if err == nil {
		err = c.May(verb, r.object(id))
	}
	return r, err
}

// anchorOf is the job beside which a request places a job; "" if the request moves no job.
func (d Deps) anchorOf(ctx context.Context, c *rest.Call, u v1.QueueControl) (anchor string, ahead bool, err error) {
	anchor = optional.Value(u.BehindOf)
	if optional.Value(u.AheadOf) != "" {
		anchor, ahead = *u.AheadOf, true
	}
	if anchor == u.JobID {
		anchor = ""
	}
	if anchor != "" {
		_, err = d.jobFor(ctx, c, auth.View, anchor)
	}
	return anchor, ahead, err
}

// mayChange fails if the config policies of the job's workspace do not allow a change, or if the workspace may not use the new pool.
func (d Deps) mayChange(ctx context.Context, of jobRef, ch Change) error {
	if ch != (Change{}) {
		allows, err := d.Policies(ctx, of.WorkspaceID, of.workload())
		if err == nil {
			err = allows(ch)
		}
		if err != nil {
			return err
		}
	}
	if ch.Pool == nil {
		return nil
	}
	return workspaces.OpenIn(ctx, d.DB, *ch.Pool, of.WorkspaceID)
}

func (d Deps) changeTask(ctx context.Context, job, task string, ch Change) error {
	if ch.Weight != nil {
		return fault.New(fault.Invalid, "job %s: only experiments have a weight", job)
	}
	if ch.Pool != nil {
		if err := d.TaskFits(ctx, task, *ch.Pool); err != nil {
			return err
		}
		if err := moveTask(ctx, d.DB, task, *ch.Pool); err != nil {
			return err
		}
	}
	if ch.Priority == nil {
		return nil
	}
	return tasks.Prioritize(ctx, d.DB, task, *ch.Priority)
}

// place moves a job in the queue, if the policies of its workspace allow the priority that the job gets.
func (d Deps) place(ctx context.Context, c *rest.Call, of jobRef, m Move) error {
	allows, err := d.Policies(ctx, of.WorkspaceID, of.workload())
	if err != nil {
		return err
	}
	m.Prioritize = func(ctx context.Context, tx *database.DB, j Job, priority int) error {
		if err := allows(Change{Priority: &priority}); err != nil {
			return err
		}
		if j.ExperimentID != nil {
			return d.PrioritizeExperiment(ctx, tx, *j.ExperimentID, priority)
		}
		return tasks.PrioritizeIn(ctx, tx, j.TaskID, priority)
	}
	// A caller waits here, where each user has a turn, and not with a connection to the database.
	waiting, cancel := context.WithTimeout(ctx, rest.AnswerTimeout)
	defer cancel()
	turn, err := d.Places.Take(waiting, c.Owner(), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many jobs are being placed in the queue; try again")
	}
	defer turn.Release()
	return Place(ctx, d.DB, m)
}
