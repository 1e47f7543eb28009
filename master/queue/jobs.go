package queue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func jobType(task string) v1.JobType {
	if task == "TRIAL" {
		return v1.JobTypeExperiment
	}
	return v1.JobType("TYPE_" + task)
}

func (j Job) state() v1.JobState {
	if j.Scheduled() {
		return v1.JobStateScheduled
	}
	return v1.JobStateQueued
}

// summary is the state of a job, and its position in its queue. Only under the priority scheduler jobs have a position; -1 means that a job
// has none.
func (j Job) summary(pools pool.Set) *v1.JobSummary {
	if pools.Scheduler(j.Pool) != string(pool.Priority) {
		j.Ahead = -1
	}
	return &v1.JobSummary{JobsAhead: j.Ahead, State: j.state()}
}

func (j Job) wire(pools pool.Set) v1.Job {
	entity := j.TaskID
	if j.ExperimentID != nil {
		entity = strconv.Itoa(*j.ExperimentID)
	}
	return v1.Job{JobID: j.ID, EntityID: entity, Type: jobType(j.Type), Name: j.Name, Username: j.Owner, UserID: j.OwnerID,
		WorkspaceID: j.WorkspaceID, ResourcePool: j.Pool, SubmissionTime: j.SubmittedAt, RequestedSlots: j.Requested,
		AllocatedSlots: j.Allocated, Priority: j.Priority, Weight: j.Weight, Progress: optional.Value(j.Progress),
		IsPreemptible: j.Type == "TRIAL", Summary: j.summary(pools), WaitingReason: j.Waiting}
}

func (d Deps) listJobs(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest) (*v1.GetJobsV2Response, error) {
	return d.jobs(ctx, c, req, true)
}

// seenBy reports whether the caller may see more of a job than that it is in the queue.
func (j Job) seenBy(c *rest.Call) bool {
	return c.Scope().Has(auth.Object{Kind: v1.KindJob, WorkspaceID: j.WorkspaceID})
}

// jobs lists jobs. With limited, jobs that the caller may not see are in the list with the slots that they hold or ask for, and without
// names; else they are left out.
func (d Deps) jobs(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest, limited bool) (*v1.GetJobsV2Response, error) {
	desc, err := rest.Descending(req.OrderBy)
	if err != nil {
		return nil, err
	}
	list, err := Jobs(ctx, d.DB, auth.Everywhere(), req.ResourcePool)
	if err != nil {
		return nil, err
	}
	if !limited {
		list = slices.DeleteFunc(list, func(j Job) bool { return !j.seenBy(c) })
	}
	if len(req.States) > 0 {
		list = slices.DeleteFunc(list, func(j Job) bool { return !slices.Contains(req.States, j.state()) })
	}
	if desc {
		slices.Reverse(list)
	}
	list, page, err := rest.Cut(list, req.Window)
	if err != nil {
		return nil, err
	}
	forecasts, err := Forecasts(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetJobsV2Response{Pagination: page}
	for _, j := range list {
		full := j.wire(d.Pools)
		if !j.Scheduled() {
			start := forecasts[j.Pool].Expect(j)
			full.EstimatedStart, full.StartUnknown = start.At, start.Unknown
		} else if end := forecasts[j.Pool].ExpectEnd(j); end != nil {
			full.ExpectedEnd = &v1.ExpectedEnd{Earliest: end.Earliest, Likely: end.Likely, Latest: end.Latest, Attempts: end.Attempts}
		}
		if j.seenBy(c) {
			resp.Jobs = append(resp.Jobs, v1.RBACJob{Full: &full})
			continue
		}
		resp.Jobs = append(resp.Jobs, v1.RBACJob{Limited: &v1.LimitedJob{JobID: full.JobID, Type: full.Type, ResourcePool: full.ResourcePool, Summary: full.Summary,
			RequestedSlots: full.RequestedSlots, AllocatedSlots: full.AllocatedSlots, IsPreemptible: full.IsPreemptible, Priority: full.Priority, Weight: full.Weight}})
	}
	return resp, nil
}

// listOldJobs lists jobs for clients that do not know entries with a part of a job's fields.
func (d Deps) listOldJobs(ctx context.Context, c *rest.Call, req *v1.GetJobsRequest) (*v1.GetJobsResponse, error) {
	list, err := d.jobs(ctx, c, req, false)
	if err != nil {
		return nil, err
	}
	return &v1.GetJobsResponse{Pagination: list.Pagination, Jobs: each.Of(list.Jobs, func(j v1.RBACJob) v1.Job { return *j.Full })}, nil
}

func (d Deps) countJobs(ctx context.Context, c *rest.Call, req *v1.GetJobQueueStatsRequest) (*v1.JobStatsResponse, error) {
	list, err := Jobs(ctx, d.DB, c.Scope(), "")
	if err != nil {
		return nil, err
	}
	resp := &v1.JobStatsResponse{}
	for _, p := range d.Pools {
		if len(req.ResourcePools) > 0 && !slices.Contains(req.ResourcePools, p.Name) {
			continue
		}
		s := v1.JobStatsOfPool{ResourcePool: p.Name}
		if s.Aggregates, err = d.waits.of(ctx, d.DB, time.Now(), p.Name); err != nil {
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

// Summary returns the position of a job in its queue; nil if the job is not in a queue.
func Summary(ctx context.Context, db *database.DB, pools pool.Set, id string) (*v1.JobSummary, error) {
	list, err := Jobs(ctx, db, auth.Everywhere(), "")
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		if j.ID == id {
			return j.summary(pools), nil
		}
	}
	return nil, nil
}
