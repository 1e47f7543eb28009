package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
)

const (
	// fullEvery is how often everything is listed, whatever events said.
	fullEvery = 15 * time.Second
	// nodesEvery bounds how often events make us list the nodes.
	nodesEvery = time.Second
	// A tenth of the live jobs, and more than two of them, do not vanish at once
	// because somebody purged them.
	fewVanish = 2
	tenth     = 10
)

// memory is what was seen at the last observations. All of it can be had anew
// from Nomad: it saves reading what has not changed.
type memory struct {
	orphans []string            // jobs of ours that no row knows
	owners  map[jobKey]string   // attempt of each job that begins like ours; "" for somebody else's
	facts   map[string]TaskFact // by Nomad allocation
	full    time.Time           // of the last full list
	nodes   time.Time           // of the last list of nodes
	alarm   string              // of the last full list
	term    int64               // of the last full list
	details map[string]nodeDetail
}

type jobKey struct{ namespace, id string }

func newMemory() memory {
	return memory{owners: map[jobKey]string{}, facts: map[string]TaskFact{}, details: map[string]nodeDetail{}}
}

// Observe says what changed since the last call, or everything: at first, every
// fifteen seconds, and whenever events may have been missed. An error means that
// nothing was learned; what was to be looked at is looked at next time.
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
		// A token that was taken away. The list is made anew when it is back.
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

// changes reads what events have named.
func (c *Cluster) changes(ctx context.Context, work lookups, now time.Time) (Observation, error) {
	o := Observation{Alarm: c.seen.alarm}
	ids := make([]string, 0, len(work.allocations))
	for id := range work.allocations {
		ids = append(ids, id)
	}
	facts, err := c.readAllocations(ctx, ids)
	if err != nil {
		return o, err
	}
	o.Tasks = facts
	if work.nodes {
		if now.Sub(c.seen.nodes) < nodesEvery {
			c.named.addNodes()
			return o, nil
		}
		if o.Nodes, err = c.listNodes(ctx); err != nil {
			return o, err
		}
		c.seen.nodes = now
	}
	return o, nil
}

// everything lists all there is, and judges what is missing.
func (c *Cluster) everything(ctx context.Context, known Known) (Observation, error) {
	o := Observation{Full: true}
	if known.Term != c.seen.term {
		c.seen.term = known.Term
		c.forget()
	}
	known.Index = max(known.Index, c.shown.Load()) // before the lists: a submission may overtake them
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
	live := map[string]bool{}
	for _, id := range known.Live {
		live[id] = true
	}
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
	if o.Gone, o.Alarm, err = c.judge(ctx, known, o.Alarm, registered); err != nil {
		return o, err
	}
	if o.Alarm == "" {
		raise(&c.shownJobs, table)
	}
	now := c.now()
	c.seen.full, c.seen.nodes, c.seen.alarm = now, now, o.Alarm
	return o, nil
}

// olderState is the alarm when Nomad is at lower indexes than it had reached: its table
// of jobs, of which 0 says nothing, or its lists. The table counts for itself, because a
// restored Nomad soon lifts the lists above whatever there was: it reconciles the
// summaries of jobs, and clients report their allocations.
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

// judge says which of the live attempts are gone, or why that cannot be said. older
// is what olderState said.
func (c *Cluster) judge(ctx context.Context, known Known, older string, registered map[string]bool) (gone []string, alarm string, err error) {
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

// raise notes an index of Nomad's that an answer to this process has carried. The
// caller knows those of full lists only, and Nomad may be restored before the next.
func raise(shown *atomic.Uint64, index uint64) {
	for old := shown.Load(); index > old && !shown.CompareAndSwap(old, index); old = shown.Load() {
	}
}

// forget forgets which indexes Nomad has shown.
func (c *Cluster) forget() {
	c.shown.Store(0)
	c.shownJobs.Store(0)
}

// confirm keeps those attempts whose job, read by itself, does not exist.
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

// inParallel does n things, a few at once, and returns the first error.
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
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}

// readAllocations reads allocations one by one. Those that are gone, or not
// ours, are left out.
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

// ownerOf is the attempt that a job is of; "" for somebody else's.
func (c *Cluster) ownerOf(meta map[string]string) string {
	if meta[jobspecs.MetaCluster] != c.cfg.ClusterID {
		return ""
	}
	return meta[jobspecs.MetaAllocation]
}
