package cluster

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
)

// maxReads is the maximum number of changed allocations to read one by one; if there are
// more, a list with the states of all tasks is cheaper.
const maxReads = 256

// listedJob is a job whose id begins with det-.
type listedJob struct {
	JobFact // without AllocationID if the job is not of this cluster
	key     jobKey
}

// listJobs lists the jobs whose ids begin with det-, and caches their owners.
func (c *Cluster) listJobs(ctx context.Context) ([]listedJob, uint64, error) {
	var jobs []listedJob
	var lowest uint64
	for i, ns := range c.namespaces {
		index, err := pages(ctx, c, ns, func(q *api.QueryOptions) ([]*api.JobListStub, *api.QueryMeta, error) {
			q.Prefix = jobspecs.JobPrefix()
			return c.api.Jobs().ListOptions(&api.JobListOptions{Fields: &api.JobListFields{Meta: true}}, q)
		}, func(j *api.JobListStub) {
			job := listedJob{key: jobKey{ns, j.ID}, JobFact: JobFact{
				AllocationID: c.ownerOf(j.Meta), JobID: j.ID, Status: j.Status, Stopped: j.Stop, SubmittedAt: time.Unix(0, j.SubmitTime),
			}}
			c.seen.owners[job.key] = job.AllocationID
			jobs = append(jobs, job)
		})
		if err != nil {
			return nil, 0, err
		}
		if i == 0 || index < lowest {
			lowest = index
		}
	}
	return jobs, lowest, nil
}

// noJob is the id of a job that does not exist.
const noJob = "detent-no-such-job"

// jobsTable returns the Nomad index of the last change of any job in any namespace: Nomad
// sends it in a 404 answer for a job. It is 0 if the answer has no index.
func (c *Cluster) jobsTable(ctx context.Context) (uint64, error) {
	var index uint64
	call, cancel := context.WithTimeout(context.WithValue(ctx, indexWanted{}, &index), callWithin)
	defer cancel()
	_, _, err := c.api.Jobs().Info(noJob, c.query(call, c.namespaces[0]))
	switch {
	case statusOf(err) == http.StatusNotFound:
		return index, nil
	case err == nil || statusOf(err) == http.StatusForbidden: // checkRights reports missing rights
		return 0, nil
	}
	return 0, err
}

// pages reads a list page by page, and returns the lowest Nomad index of the pages: every
// object that existed at that index and still exists is on one of them.
func pages[T any](ctx context.Context, c *Cluster, ns string, list func(*api.QueryOptions) ([]T, *api.QueryMeta, error), each func(T)) (uint64, error) {
	var index uint64
	token := ""
	for first := true; first || token != ""; first = false {
		call, cancel := context.WithTimeout(ctx, callWithin)
		q := c.query(call, ns)
		q.PerPage, q.NextToken = pageSize, token
		items, meta, err := list(q)
		cancel()
		if err != nil {
			return 0, err
		}
		for _, item := range items {
			each(item)
		}
		if first || meta.LastIndex < index {
			index = meta.LastIndex
		}
		token = meta.NextToken
	}
	return index, nil
}

// listAllocations lists the allocations of our jobs. The first list includes the states of
// all tasks; later lists omit them, and only the allocations that have changed are read.
func (c *Cluster) listAllocations(ctx context.Context, jobs []listedJob) ([]TaskFact, uint64, error) {
	listed := each.Set(jobs, func(j listedJob) jobKey { return j.key })
	list := c.listChanged
	if len(c.seen.facts) == 0 {
		list = c.listWithStates
	}
	facts, index, err := list(ctx, listed)
	if err != nil {
		return nil, 0, err
	}
	link(facts)
	// Drop cached objects that the lists no longer contain.
	clear(c.seen.facts)
	for _, f := range facts {
		c.seen.facts[f.NomadAllocID] = f
	}
	maps.DeleteFunc(c.seen.owners, func(key jobKey, _ string) bool { return !listed[key] })
	return facts, index, nil
}

// link sets Previous of an allocation that was created after another one of the same
// member, because Nomad's list lacks it.
func link(facts []TaskFact) {
	type member struct {
		id   string
		rank int
	}
	slices.SortFunc(facts, func(a, b TaskFact) int { return cmp.Compare(a.CreateIndex, b.CreateIndex) })
	latest := map[member]string{}
	for i := range facts {
		f := &facts[i]
		key := member{f.AllocationID, f.Rank}
		f.Previous = cmp.Or(f.Previous, latest[key])
		latest[key] = f.NomadAllocID
	}
}

// stubs lists the allocations of all jobs whose ids begin with det-.
func (c *Cluster) stubs(ctx context.Context, states bool) ([]*api.AllocationListStub, uint64, error) {
	var all []*api.AllocationListStub
	var lowest uint64
	for i, ns := range c.namespaces {
		index, err := pages(ctx, c, ns, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
			q.Filter = `JobID matches "^` + jobspecs.JobPrefix() + `"`
			if !states {
				q.Params = map[string]string{"task_states": "false"}
			}
			return c.api.Allocations().List(q)
		}, func(a *api.AllocationListStub) { all = append(all, a) })
		if err != nil {
			return nil, 0, err
		}
		if i == 0 || index < lowest {
			lowest = index
		}
	}
	return all, lowest, nil
}

func (c *Cluster) listWithStates(ctx context.Context, listed map[jobKey]bool) ([]TaskFact, uint64, error) {
	stubs, index, err := c.stubs(ctx, true)
	if err != nil {
		return nil, 0, err
	}
	var facts []TaskFact
	var strangers []string // allocations of jobs that were purged, or submitted after the list of jobs
	for _, a := range stubs {
		key := jobKey{a.Namespace, a.JobID}
		listed[key] = true
		owner, known := c.seen.owners[key]
		if !known {
			strangers = append(strangers, a.ID)
		} else if f, ok := factOf(a, owner); ok && owner != "" {
			f.Previous = c.seen.facts[a.ID].Previous
			facts = append(facts, f)
		}
	}
	more, err := c.readAllocations(ctx, strangers)
	return append(facts, more...), index, err
}

func (c *Cluster) listChanged(ctx context.Context, listed map[jobKey]bool) ([]TaskFact, uint64, error) {
	stubs, index, err := c.stubs(ctx, false)
	if err != nil {
		return nil, 0, err
	}
	var facts []TaskFact
	var changed []string
	for _, a := range stubs {
		key := jobKey{a.Namespace, a.JobID}
		listed[key] = true
		if owner, known := c.seen.owners[key]; known && owner == "" {
			continue
		}
		if f, ok := c.seen.facts[a.ID]; ok && f.Index == a.ModifyIndex {
			facts = append(facts, f)
		} else {
			changed = append(changed, a.ID)
		}
	}
	if len(changed) > maxReads {
		return c.listWithStates(ctx, listed)
	}
	more, err := c.readAllocations(ctx, changed)
	return append(facts, more...), index, err
}
