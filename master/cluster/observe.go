package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
)

const (
	// fullEvery is how often Observe lists everything, regardless of events.
	fullEvery = 15 * time.Second
	// nodesEvery is the minimum time between two lists of nodes that events cause.
	nodesEvery = time.Second
	// If more than fewVanish jobs, and more than a tenth of the live ones, are missing at
	// once, Observe raises an alarm: operators do not purge so many jobs by hand.
	fewVanish = 2
	tenth     = 10
)

// memory caches the results of earlier observations, so that unchanged objects need not be
// read again.
type memory struct {
	orphans []string              // Known.Orphans
	owners  map[jobKey]string     // attempt of each job whose id begins with det-; "": not of this cluster
	facts   map[string]TaskFact   // by Nomad allocation
	full    time.Time             // when everything was last listed
	nodes   time.Time             // when the nodes were last listed
	alarm   string                // of the last full list
	term    int64                 // of the last full list
	details map[string]nodeDetail // by node
}

type jobKey struct{ namespace, id string }

func newMemory() memory {
	return memory{owners: map[jobKey]string{}, facts: map[string]TaskFact{}, details: map[string]nodeDetail{}}
}

// Observe returns what changed since the last call, or the whole state: in the first call,
// every fifteen seconds, and whenever events may have been missed. After an error, the next
// call returns the whole state.
func (c *Cluster) Observe(ctx context.Context, known Known) (Observation, error) {
	c.observing.Lock()
	defer c.observing.Unlock()
	work := c.named.take()
	now := c.now()
	c.seen.orphans = known.Orphans
	var o Observation
	var err error
	if known.Full || work.full || now.Sub(c.seen.full) >= fullEvery {
		o, err = c.everything(ctx, known)
	} else {
		o, err = c.changes(ctx, work, now)
	}
	if statusOf(err) == http.StatusForbidden {
		// The token was revoked, or its rights were. Once it works again, list everything.
		alarm, rightsErr := c.checkRights(ctx)
		if rightsErr == nil {
			if alarm == "" {
				alarm = fmt.Sprintf("the master's Nomad token lacks rights (%v); it needs read-job in its namespace and node read", err)
			}
			c.seen.alarm = alarm
			o, err = Observation{Alarm: alarm}, nil
			c.named.all()
		}
	}
	if err != nil {
		c.named.all()
		return Observation{}, fmt.Errorf("nomad at %s: %w", c.cfg.Address, err)
	}
	return o, nil
}

// changes reads the allocations and nodes that events have named.
func (c *Cluster) changes(ctx context.Context, work lookups, now time.Time) (Observation, error) {
	o := Observation{Alarm: c.seen.alarm}
	facts, err := c.readAllocations(ctx, slices.Collect(maps.Keys(work.allocations)))
	if err != nil {
		return o, err
	}
	o.Tasks = facts
	if work.nodes {
		if early := nodesEvery - now.Sub(c.seen.nodes); early > 0 {
			c.named.addNodes()
			time.AfterFunc(early, c.fire)
			return o, nil
		}
		if o.Nodes, err = c.listNodes(ctx); err != nil {
			return o, err
		}
		c.seen.nodes = now
	}
	return o, nil
}

// everything lists all jobs, allocations and nodes, and finds the jobs that are gone.
func (c *Cluster) everything(ctx context.Context, known Known) (Observation, error) {
	o := Observation{Full: true}
	if known.Term != c.seen.term {
		c.seen.term = known.Term
		c.forget()
	}
	known.Index = max(known.Index, c.shown.Load()) // read this before the lists: a parallel submission may raise it
	tableBefore := c.shownJobs.Load()
	table, err := c.jobsTable(ctx)
	if err != nil {
		return o, err
	}
	jobs, jobsIndex, err := c.listJobs(ctx)
	if err != nil {
		return o, err
	}
	facts, allocsIndex, err := c.listAllocations(ctx, jobs)
	if err != nil {
		return o, err
	}
	o.Index = max(jobsIndex, allocsIndex)
	registered := map[string]bool{}
	for _, j := range jobs {
		if j.AllocationID != "" {
			registered[j.AllocationID] = true
			o.Jobs = append(o.Jobs, j.JobFact)
		}
	}
	live := each.Set(known.Live, func(id string) string { return id })
	for _, f := range facts {
		if live[f.AllocationID] || !f.Over() {
			o.Tasks = append(o.Tasks, f)
		}
	}
	slices.SortFunc(o.Tasks, func(a, b TaskFact) int {
		return cmp.Or(cmp.Compare(a.AllocationID, b.AllocationID), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.CreateIndex, b.CreateIndex))
	})
	if o.Nodes, err = c.listNodes(ctx); err != nil {
		return o, err
	}
	if known.Trust {
		c.forget()
	} else {
		o.Alarm = olderState(table, tableBefore, o.Index, known.Index)
	}
	if o.Gone, o.Alarm, err = c.findGone(ctx, known, o.Alarm, registered); err != nil {
		return o, err
	}
	if o.Alarm == "" {
		raise(&c.shownJobs, table)
	}
	now := c.now()
	c.seen.full, c.seen.nodes, c.seen.alarm = now, now, o.Alarm
	return o, nil
}

// olderState returns an alarm if Nomad's index is lower than an index it has shown before,
// which means that Nomad was restored from a backup: the index of its table of jobs (0:
// unknown), or of its lists. The table is compared separately, because the lists of a
// restored Nomad soon have higher indexes again: it reconciles the summaries of jobs, and
// clients report their allocations.
func olderState(table, tableBefore, lists, listsBefore uint64) string {
	var what string
	switch {
	case table > 0 && table < tableBefore:
		what = fmt.Sprintf("table of jobs is at index %d, below %d, which it had reached", table, tableBefore)
	case lists < listsBefore:
		what = fmt.Sprintf("lists of jobs and allocations are at index %d, below %d, which they had reached", lists, listsBefore)
	default:
		return ""
	}
	return "Nomad's " + what + ": Nomad was restored from an older state. " +
		"Detent ends no task that Nomad does not list until an operator confirms the loss (det master trust-nomad)"
}

// findGone returns the live attempts whose jobs are gone, or an alarm if missing jobs must
// not count as gone. older is the result of olderState.
func (c *Cluster) findGone(ctx context.Context, known Known, older string, registered map[string]bool) (gone []string, alarm string, err error) {
	if alarm, err := c.checkRights(ctx); alarm != "" || err != nil {
		return nil, alarm, err
	}
	if older != "" {
		return nil, older, nil
	}
	var missing []string
	for _, id := range known.Live {
		if !registered[id] {
			missing = append(missing, id)
		}
	}
	absent, err := c.confirm(ctx, missing)
	if err != nil {
		return nil, "", err
	}
	if n := len(absent); !known.Trust && n > fewVanish && n*tenth > len(known.Live) {
		return nil, fmt.Sprintf("%d of %d jobs vanished from Nomad at once (%s and others). "+
			"Detent ends none of their tasks until an operator confirms the loss (det master trust-nomad)", n, len(known.Live), jobspecs.JobID(absent[0])), nil
	}
	return absent, "", nil
}

// raise records a Nomad index that an answer to this process has shown. Known.Index has
// only those of full lists, and Nomad may be restored before the next full list.
func raise(shown *atomic.Uint64, index uint64) {
	for old := shown.Load(); index > old && !shown.CompareAndSwap(old, index); old = shown.Load() {
	}
}

// forget resets the indexes that Nomad has shown.
func (c *Cluster) forget() {
	c.shown.Store(0)
	c.shownJobs.Store(0)
}

// confirm reads the job of each of these attempts, and returns the attempts whose job does
// not exist.
func (c *Cluster) confirm(ctx context.Context, ids []string) ([]string, error) {
	absent := make([]bool, len(ids))
	err := inParallel(len(ids), func(i int) error {
		for _, ns := range c.namespaces {
			call, cancel := context.WithTimeout(ctx, callWithin)
			job, _, err := c.api.Jobs().Info(jobspecs.JobID(ids[i]), c.query(call, ns))
			cancel()
			switch {
			case err == nil && c.owns(job.Meta, ids[i]):
				return nil
			case err != nil && statusOf(err) != http.StatusNotFound:
				return err
			}
		}
		absent[i] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for i, id := range ids {
		if absent[i] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// inParallel calls do for 0 to n-1, `readers` calls at once, and returns the first error.
func inParallel(n int, do func(i int) error) error {
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		first error
		next  int
	)
	for range min(n, readers) {
		all.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= n || first != nil
				mu.Unlock()
				if stop {
					return
				}
				if err := do(i); err != nil {
					mu.Lock()
					first = cmp.Or(first, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}

// readAllocations reads allocations one by one. It leaves out those that no longer exist
// or are not of this cluster's jobs.
func (c *Cluster) readAllocations(ctx context.Context, ids []string) ([]TaskFact, error) {
	slices.Sort(ids)
	got := make([]*api.Allocation, len(ids))
	err := inParallel(len(ids), func(i int) error {
		call, cancel := context.WithTimeout(ctx, callWithin)
		defer cancel()
		a, _, err := c.api.Allocations().Info(ids[i], c.query(call, c.cfg.Namespace))
		if statusOf(err) == http.StatusNotFound {
			return nil
		}
		got[i] = a
		return err
	})
	if err != nil {
		return nil, err
	}
	var facts []TaskFact
	for _, a := range got {
		if a == nil || a.Job == nil {
			continue
		}
		owner := c.ownerOf(a.Job.Meta)
		c.seen.owners[jobKey{a.Namespace, a.JobID}] = owner
		if owner == "" {
			continue
		}
		if f, ok := factOf(a.Stub(), owner); ok {
			f.Previous = a.PreviousAllocation
			c.seen.facts[f.NomadAllocID] = f
			raise(&c.shown, f.Index)
			facts = append(facts, f)
		}
	}
	return facts, nil
}

// ownerOf returns the attempt of a job, from the job's metadata; "" if the job is not of
// this cluster.
func (c *Cluster) ownerOf(meta map[string]string) string {
	if meta[jobspecs.MetaCluster] != c.cfg.ClusterID {
		return ""
	}
	return meta[jobspecs.MetaAllocation]
}
