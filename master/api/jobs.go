package api

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (a *API) registerJobs() {
	rest.Serve(a.router, v1.ListJobs, a.jobs)
	rest.Serve(a.router, v1.ListOldJobs, a.oldJobs)
	rest.Serve(a.router, v1.CountJobs, a.jobStats)
	rest.Serve(a.router, v1.ChangeJobs, a.updateJobs)
}

func jobType(task string) v1.JobType {
	if task == "TRIAL" {
		return v1.JobTypeExperiment
	}
	return v1.JobType("TYPE_" + task)
}

func jobState(j store.Job) v1.JobState {
	if j.Scheduled() {
		return v1.JobStateScheduled
	}
	return v1.JobStateQueued
}

// wireJob fills the message. Only under the priority scheduler jobs have a position in the
// queue; -1 means that a job has none.
func (a *API) wireJob(j store.Job) v1.Job {
	if a.cfg.Pools.Scheduler(j.Pool) != string(pool.Priority) {
		j.Ahead = -1
	}
	entity := j.TaskID
	if j.ExperimentID != nil {
		entity = strconv.Itoa(*j.ExperimentID)
	}
	return v1.Job{JobID: j.ID, EntityID: entity, Type: jobType(j.Type), Name: j.Name, Username: j.Owner, UserID: j.OwnerID,
		WorkspaceID: j.WorkspaceID, ResourcePool: j.Pool, SubmissionTime: j.SubmittedAt, RequestedSlots: j.Requested,
		AllocatedSlots: j.Allocated, Priority: j.Priority, Weight: j.Weight, Progress: optional.Value(j.Progress),
		IsPreemptible: j.Type == "TRIAL", Summary: &v1.JobSummary{JobsAhead: j.Ahead, State: jobState(j)}, WaitingReason: j.Waiting}
}

func (a *API) jobs(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest) (*v1.GetJobsV2Response, error) {
	return a.queue(ctx, c, req, true)
}

// seesJob reports whether the caller may see more of a job than that it is in the queue.
func seesJob(c *rest.Call, j store.Job) bool {
	return c.Scope().Has(auth.Object{Kind: v1.KindJob, WorkspaceID: j.WorkspaceID})
}

// queue lists jobs. Of a job that the caller may not see it tells what the job takes from others,
// with limited, or nothing.
func (a *API) queue(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest, limited bool) (*v1.GetJobsV2Response, error) {
	desc, err := rest.Descending(req.OrderBy)
	if err != nil {
		return nil, err
	}
	list, err := a.db.Jobs(ctx, auth.Everywhere(), req.ResourcePool)
	if err != nil {
		return nil, err
	}
	if !limited {
		list = slices.DeleteFunc(list, func(j store.Job) bool { return !seesJob(c, j) })
	}
	if len(req.States) > 0 {
		list = slices.DeleteFunc(list, func(j store.Job) bool { return !slices.Contains(req.States, jobState(j)) })
	}
	if desc {
		slices.Reverse(list)
	}
	list, page, err := rest.Cut(list, req.Window)
	if err != nil {
		return nil, err
	}
	forecasts, err := a.db.Forecasts(ctx)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetJobsV2Response{Pagination: page}
	for _, j := range list {
		full := a.wireJob(j)
		if !j.Scheduled() {
			start := forecasts[j.Pool].Expect(j)
			full.EstimatedStart, full.StartUnknown = start.At, start.Unknown
		}
		if seesJob(c, j) {
			resp.Jobs = append(resp.Jobs, v1.RBACJob{Full: &full})
			continue
		}
		resp.Jobs = append(resp.Jobs, v1.RBACJob{Limited: &v1.LimitedJob{JobID: full.JobID, Type: full.Type, ResourcePool: full.ResourcePool, Summary: full.Summary,
			RequestedSlots: full.RequestedSlots, AllocatedSlots: full.AllocatedSlots, IsPreemptible: full.IsPreemptible, Priority: full.Priority, Weight: full.Weight}})
	}
	return resp, nil
}

// oldJobs lists jobs for clients that do not know entries with a part of a job's fields.
func (a *API) oldJobs(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest) (*v1.GetJobsResponse, error) {
	list, err := a.queue(ctx, c, req, false)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetJobsResponse{Pagination: list.Pagination}
	for _, j := range list.Jobs {
		resp.Jobs = append(resp.Jobs, *j.Full)
	}
	return resp, nil
}

func (a *API) jobStats(ctx context.Context, c *rest.Call, req *v1.GetJobQueueStatsRequest) (*v1.JobStatsResponse, error) {
	list, err := a.db.Jobs(ctx, c.Scope(), "")
	if err != nil {
		return nil, err
	}
	resp := &v1.JobStatsResponse{}
	for _, p := range a.cfg.Pools {
		if len(req.ResourcePools) > 0 && !slices.Contains(req.ResourcePools, p.Name) {
			continue
		}
		s := v1.JobStatsOfPool{ResourcePool: p.Name}
		if s.Aggregates, err = a.queueTimes.of(ctx, a.db, time.Now(), p.Name); err != nil {
			return nil, err
		}
		for _, j := range list {
			switch {
			case j.Pool != p.Name:
			case j.Scheduled():
				s.Stats.ScheduledCount++
			default:
				s.Stats.QueuedCount++
			}
		}
		resp.Results = append(resp.Results, s)
	}
	return resp, nil
}

// jobSummary returns the position of a job in its queue; nil if the job is not in a queue.
func (a *API) jobSummary(ctx context.Context, id string) (*v1.JobSummary, error) {
	list, err := a.db.Jobs(ctx, auth.Everywhere(), "")
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		if j.ID == id {
			return a.wireJob(j).Summary, nil
		}
	}
	return nil, nil
}

// maxQueueChanges is the maximum number of changes in one request: each reads the whole queue.
const maxQueueChanges = 100

func (a *API) updateJobs(ctx context.Context, c *rest.Call, req *v1.UpdateJobQueueRequest) (*v1.Empty, error) {
	if n := len(req.Updates); n > maxQueueChanges {
		return nil, fault.New(fault.Invalid, "updates: %d changes; %d are allowed in one request", n, maxQueueChanges)
	}
	for _, u := range req.Updates {
		if optional.Value(u.AheadOf) != "" && optional.Value(u.BehindOf) != "" {
			return nil, fault.New(fault.Invalid, "job %s: give either aheadOf or behindOf, not both", fault.Clip(u.JobID))
		}
		if err := checkShare(u.Priority, u.Weight); err != nil {
			return nil, err
		}
		if err := a.updateJob(ctx, c, u); err != nil {
			return nil, err
		}
	}
	a.bus.Publish(store.TopicIntent)
	return &v1.Empty{}, nil
}

// ofJob is a job as auth knows it: with roles, who may change an experiment may change its job.
func ofJob(id string, ref store.JobRef) auth.Object {
	o := auth.Object{Kind: v1.KindJob, Name: "job " + id, OwnerID: ref.OwnerID, WorkspaceID: ref.WorkspaceID}
	if ref.ExperimentID != nil {
		o.Kind = v1.KindExperiment
	}
	return o
}

// jobFor finds a job for which the caller may do the verb.
func (a *API) jobFor(ctx context.Context, c *rest.Call, verb auth.Verb, id string) (store.JobRef, error) {
	ref, err := a.db.JobByID(ctx, id)
	if err == nil {
		err = c.May(verb, ofJob(id, ref))
	}
	return ref, err
}

// anchorOf is the job beside which a request places a job; "" if it moves none.
func (a *API) anchorOf(ctx context.Context, c *rest.Call, u v1.QueueControl) (anchor string, ahead bool, err error) {
	anchor = optional.Value(u.BehindOf)
	if optional.Value(u.AheadOf) != "" {
		anchor, ahead = *u.AheadOf, true
	}
	if anchor == u.JobID {
		anchor = ""
	}
	if anchor != "" {
		_, err = a.jobFor(ctx, c, auth.View, anchor)
	}
	return anchor, ahead, err
}

func (a *API) updateJob(ctx context.Context, c *rest.Call, u v1.QueueControl) error {
	ref, err := a.jobFor(ctx, c, auth.Change, u.JobID)
	if err != nil {
		return err
	}
	anchor, ahead, err := a.anchorOf(ctx, c, u)
	if err != nil {
		return err
	}
	if optional.Value(u.ResourcePool) == "" {
		u.ResourcePool = nil
	}
	if err := a.allowed(ctx, ref.WorkspaceID, workloadOf(ref), launch.Change{Priority: u.Priority, Weight: u.Weight, Pool: u.ResourcePool}); err != nil {
		return err
	}
	if u.ResourcePool != nil {
		if err := workspaces.OpenIn(ctx, a.db.DB, *u.ResourcePool, ref.WorkspaceID); err != nil {
			return err
		}
	}
	if ref.ExperimentID != nil {
		err = a.updateExperimentJob(ctx, *ref.ExperimentID, u)
	} else {
		err = a.updateTaskJob(ctx, ref.TaskID, u)
	}
	if err != nil || anchor == "" {
		return err
	}
	guard, err := a.guardOf(ctx, ref.WorkspaceID, workloadOf(ref))
	if err != nil {
		return err
	}
	// Whoever places a job waits here, where each user has a turn, and not with a connection to the database.
	waiting, cancel := context.WithTimeout(ctx, rest.AnswerTimeout)
	defer cancel()
	turn, err := a.limits.places.Take(waiting, c.Owner(), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many jobs are being placed in the queue; try again")
	}
	defer turn.Release()
	return a.db.PlaceJob(ctx, u.JobID, anchor, ahead, func(priority int) error { return guard.Allows(launch.Change{Priority: &priority}) })
}

// workloadOf is the type of workload of a job, as policies have it.
func workloadOf(ref store.JobRef) string {
	if ref.ExperimentID != nil {
		return workspaces.WorkloadExperiment
	}
	return workspaces.WorkloadTasks
}

func (a *API) updateExperimentJob(ctx context.Context, id int, u v1.QueueControl) error {
	e, err := a.db.Experiment(ctx, id)
	if err != nil {
		return err
	}
	if e.Terminal() {
		return fault.New(fault.Invalid, "experiment %d has ended; its job cannot be changed", id)
	}
	if u.ResourcePool != nil {
		if err := a.fitsPool(e, *u.ResourcePool); err != nil {
			return err
		}
		if err := a.experiments.CheckPool(ctx, *u.ResourcePool, e.SlotsPerTrial, false); err != nil {
			return err
		}
	}
	return a.db.PatchExperiment(ctx, id, store.ExperimentPatch{Priority: u.Priority, Weight: u.Weight, Pool: u.ResourcePool})
}

// fitsPool returns why an experiment cannot continue in another pool.
func (a *API) fitsPool(e store.Experiment, name string) error {
	pool, err := a.cfg.Pools.Find(name)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseConfigJSON(e.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "experiment %d cannot run in pool %s: %w", e.ID, name, err)
	}
	return nil
}

// taskFitsPool returns why a task cannot run in another pool. The pool to which it was
// submitted has allowed what the configuration asks of a node; another pool may not.
func (a *API) taskFitsPool(ctx context.Context, id, name string) error {
	pool, err := a.cfg.Pools.Find(name)
	if err != nil {
		return err
	}
	k, err := tasks.Get(ctx, a.db.DB, id)
	if err != nil {
		return err
	}
	cfg, err := expconf.ParseCommandConfigJSON(k.Config)
	if err != nil {
		return err
	}
	if err := cfg.Refused(a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	several := cfg.Resources.IsSingleNode != nil && !*cfg.Resources.IsSingleNode
	if err := a.experiments.CheckPool(ctx, name, k.Slots, !several || pool.SingleNode); err != nil {
		return err
	}
	if k.Type != task.Tensorboard {
		return nil
	}
	shown, err := a.shownBy(ctx, id)
	if err != nil {
		return err
	}
	if err := expconf.RefusedShown(shown, a.cfg.Site.CapabilitiesIn(pool)); err != nil {
		return fault.New(fault.Invalid, "task %s cannot run in pool %s: %w", id, name, err)
	}
	return nil
}

// shownBy returns the experiments that a TensorBoard shows.
func (a *API) shownBy(ctx context.Context, id string) ([]expconf.ShownExperiment, error) {
	rows, err := tasks.ShownBy(ctx, a.db.DB, id)
	if err != nil {
		return nil, err
	}
	list, _, err := task.Shown(rows)
	return list, err
}

func (a *API) updateTaskJob(ctx context.Context, id string, u v1.QueueControl) error {
	if u.Weight != nil {
		return fault.New(fault.Invalid, "job %s: only experiments have a weight", u.JobID)
	}
	if u.ResourcePool != nil {
		if err := a.taskFitsPool(ctx, id, *u.ResourcePool); err != nil {
			return err
		}
		if err := a.db.MoveTask(ctx, id, *u.ResourcePool); err != nil {
			return err
		}
	}
	if u.Priority == nil {
		return nil
	}
	return tasks.Prioritize(ctx, a.db.DB, id, *u.Priority)
}
