package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
)

// Cluster is one Detent cluster's view of a Nomad. It behaves like cluster.Cluster.
type Cluster struct {
	nomad *Nomad
	id    string
	wake  chan struct{}
	full  bool   // the next observation must be full
	seen  uint64 // Nomad index of the last observation
	shown uint64 // Nomad index of the last submission
	term  int64  // Known.Term of the last observation
	alarm string
}

// Wake fires when there is something to observe.
func (c *Cluster) Wake() <-chan struct{} { return c.wake }

func (c *Cluster) fire() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Submit registers the job of an attempt, once.
func (c *Cluster) Submit(ctx context.Context, task jobspecs.Task) (cluster.Outcome, error) {
	if _, err := jobspecs.Render(task); err != nil {
		return cluster.Refused, err
	}
	if err := c.answer(ctx); err != nil {
		return cluster.TryAgain, err
	}
	task.ClusterID = c.id
	id := jobspecs.JobID(task.AllocationID)
	outcome, err := cluster.Done, error(nil)
	c.nomad.change(func() {
		if j := c.nomad.jobs[id]; j != nil {
			if !c.owns(j) || j.task.AllocationID != task.AllocationID {
				outcome, err = cluster.Refused, fmt.Errorf("job %s exists already and is not this cluster's", id)
			}
			return
		}
		if no := c.nomad.noRoom(task); no != nil && len(task.Members) > 1 {
			outcome, err = cluster.TryAgain, no
			return
		}
		c.nomad.jobs[id] = &job{task: task, submitted: time.Unix(int64(c.nomad.index), 0)}
		c.shown = c.nomad.index
	})
	return outcome, err
}

// noRoom returns the error for members that cannot be placed; nil if all can.
func (n *Nomad) noRoom(task jobspecs.Task) error {
	no := &cluster.NoRoom{}
	for rank, m := range task.Members {
		i := slices.IndexFunc(n.nodes, func(x cluster.Node) bool { return x.ID == m.NodeID && x.Schedulable && m.MemoryMB <= x.MemoryMB })
		if i < 0 {
			no.Nodes = append(no.Nodes, m.NodeID)
			no.Reason = strings.TrimPrefix(no.Reason+"; ", "; ") + fmt.Sprintf("Nomad has no room for %s on node %s", jobspecs.GroupName(rank), m.NodeName)
		}
	}
	if len(no.Nodes) == 0 {
		return nil
	}
	return no
}

// Stop ends the job of an attempt.
func (c *Cluster) Stop(ctx context.Context, allocationID string) (cluster.Outcome, error) {
	if err := c.answer(ctx); err != nil {
		return cluster.TryAgain, err
	}
	outcome, err := cluster.Done, error(nil)
	c.nomad.change(func() {
		j := c.nomad.jobs[jobspecs.JobID(allocationID)]
		switch {
		case j == nil || j.stopped:
		case !c.owns(j):
			outcome, err = cluster.Refused, fmt.Errorf("job %s is not this cluster's and is left alone", jobspecs.JobID(allocationID))
		default:
			j.stopped = true
			for _, a := range j.allocs {
				if a.fact.Desired = "stop"; !a.fact.Over() {
					a.fact.Status, a.fact.Index = "complete", c.nomad.index
				}
			}
		}
	})
	return outcome, err
}

// answer is the error that every call returns now; nil for none.
func (c *Cluster) answer(ctx context.Context) error {
	c.nomad.mu.Lock()
	defer c.nomad.mu.Unlock()
	if c.nomad.fail != nil {
		return c.nomad.fail
	}
	if c.nomad.denied {
		return fmt.Errorf("nomad does not allow it")
	}
	return ctx.Err()
}

func (c *Cluster) owns(j *job) bool { return j.task.ClusterID == c.id }

// Observe says what changed since the last call, or everything.
func (c *Cluster) Observe(ctx context.Context, known cluster.Known) (cluster.Observation, error) {
	n := c.nomad
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		c.full = true
		return cluster.Observation{}, n.fail
	}
	if err := ctx.Err(); err != nil {
		return cluster.Observation{}, err
	}
	if n.denied {
		c.full, c.alarm = true, "the master's Nomad token lost its rights"
		return cluster.Observation{Alarm: c.alarm}, nil
	}
	o := cluster.Observation{Full: known.Full || c.full, Nodes: c.nodes()}
	live := map[string]bool{}
	for _, id := range known.Live {
		live[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(n.jobs)) {
		j := n.jobs[id]
		if !c.owns(j) {
			continue
		}
		if o.Full {
			o.Jobs = append(o.Jobs, j.fact())
		}
		for _, a := range j.allocs {
			if o.Full && (live[a.fact.AllocationID] || !a.fact.Over()) || !o.Full && a.fact.Index > c.seen {
				o.Tasks = append(o.Tasks, a.fact)
			}
		}
	}
	slices.SortFunc(o.Tasks, func(a, b cluster.TaskFact) int {
		return cmp.Or(cmp.Compare(a.AllocationID, b.AllocationID), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.CreateIndex, b.CreateIndex))
	})
	if o.Full {
		o.Index = n.index
		o.Gone, c.alarm = c.judge(known, o.Index)
	}
	o.Alarm = c.alarm
	c.seen, c.full = n.index, false
	return o, nil
}

func (c *Cluster) nodes() []cluster.Node {
	nodes := make([]cluster.Node, len(c.nomad.nodes))
	for i, n := range c.nomad.nodes {
		n.Devices = maps.Clone(n.Devices)
		nodes[i] = n
	}
	return nodes
}

func (c *Cluster) judge(known cluster.Known, index uint64) (gone []string, alarm string) {
	if known.Term != c.term {
		c.term, c.shown = known.Term, 0
	}
	if known.Trust {
		c.shown = 0
	} else if reached := max(known.Index, c.shown); index < reached {
		return nil, fmt.Sprintf("Nomad's lists of jobs and allocations are at index %d, below %d: Nomad was restored from an older state", index, reached)
	}
	for _, id := range known.Live {
		if j := c.nomad.jobs[jobspecs.JobID(id)]; j == nil || !c.owns(j) {
			gone = append(gone, id)
		}
	}
	if n := len(gone); !known.Trust && n > 2 && 10*n > len(known.Live) {
		return nil, fmt.Sprintf("%d of %d jobs vanished from Nomad at once", n, len(known.Live))
	}
	slices.Sort(gone)
	return gone, ""
}

func (j *job) fact() cluster.JobFact {
	f := cluster.JobFact{AllocationID: j.task.AllocationID, JobID: jobspecs.JobID(j.task.AllocationID), Status: "pending", Stopped: j.stopped, SubmittedAt: j.submitted}
	over := len(j.allocs) > 0
	for _, a := range j.allocs {
		if !a.fact.Over() {
			f.Status = "running"
			over = false
		}
	}
	if over || j.stopped {
		f.Status = "dead"
	}
	return f
}

// VerifyIdentity accepts the identities that Nomad.JWT returns.
func (c *Cluster) VerifyIdentity(ctx context.Context, jwt string) (task.Workload, error) {
	if err := c.answer(ctx); err != nil {
		return task.Workload{}, fault.Wrap(fault.Unavailable, err, "Nomad cannot be asked; try again")
	}
	c.nomad.mu.Lock()
	defer c.nomad.mu.Unlock()
	id, ok := strings.CutPrefix(jwt, "identity-of:")
	for jobID, j := range c.nomad.jobs {
		for _, a := range j.allocs {
			if ok && a.fact.NomadAllocID == id {
				return task.Workload{
					Namespace: "default", JobID: jobID, Group: jobspecs.GroupName(a.fact.Rank), NomadAllocID: id,
					FirstOfGroup: a.fact.Previous == "", NodeID: a.fact.NodeID,
				}, nil
			}
		}
	}
	return task.Workload{}, fault.New(fault.Unauthenticated, "the workload identity is not accepted")
}

// WhyNotPlaced returns why a member of a submitted attempt is not placed.
func (c *Cluster) WhyNotPlaced(ctx context.Context, allocationID string) (string, error) {
	if err := c.answer(ctx); err != nil {
		return "", err
	}
	c.nomad.mu.Lock()
	defer c.nomad.mu.Unlock()
	j := c.nomad.jobs[jobspecs.JobID(allocationID)]
	if j == nil || len(j.allocs) >= len(j.task.Members) {
		return "", nil
	}
	if no := c.nomad.noRoom(j.task); no != nil {
		return no.Error(), nil
	}
	return "", nil
}
