package clustertest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/sched"
)

// Nomad is a fake server in memory.
type Nomad struct {
	mu     sync.Mutex
	index  uint64
	serial int
	nodes  []cluster.Node
	jobs   map[string]*job
	views  []*Cluster
	fail   error // every call returns this error; nil: none
	denied bool  // the token has no rights
	hold   bool  // processes start only when Start is called
}

type job struct {
	task      jobspecs.Task
	stopped   bool
	submitted time.Time
	allocs    []*alloc
}

type alloc struct{ fact cluster.TaskFact }

// New makes a Nomad with one ready node, "node-1", of 16 cores and 16 GB.
func New() *Nomad {
	n := &Nomad{index: 10, jobs: map[string]*job{}}
	n.AddNode("node-1", 16, 16384)
	return n
}

// Cluster returns the fake of cluster.Cluster for the Detent cluster with this id.
func (n *Nomad) Cluster(clusterID string) *Cluster {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &Cluster{nomad: n, id: clusterID, wake: make(chan struct{}, 1), full: true}
	n.views = append(n.views, c)
	return c
}

// change runs fn, then places what can be placed, and wakes all clusters.
func (n *Nomad) change(fn func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.index++
	fn()
	n.place()
	for _, c := range n.views {
		c.fire()
	}
}

// AddNode adds a ready node with the drivers raw_exec and exec. Its id is its name.
func (n *Nomad) AddNode(name string, cores, memoryMB int) {
	n.change(func() {
		n.nodes = append(n.nodes, cluster.Node{
			Node: sched.Node{ID: name, Name: name, Address: "127.0.0.1", Schedulable: true}, NodePool: "default", Datacenter: "dc1", Version: "1.11.2",
			Status: "ready", Eligible: true, Drivers: []string{"exec", "raw_exec"}, Cores: cores, MHz: 1000 * cores, MemoryMB: memoryMB,
			FreeCores: cores, FreeMHz: 1000 * cores, FreeMemoryMB: memoryMB, Devices: map[string][]sched.Slot{},
		})
		slices.SortFunc(n.nodes, func(a, b cluster.Node) int { return cmp.Compare(a.Name, b.Name) })
	})
}

// Drain begins or ends the drain of a node.
func (n *Nomad) Drain(node string, on bool, deadline time.Time) {
	n.change(func() {
		x := n.node(node)
		x.Draining, x.Eligible, x.Schedulable, x.Why, x.DrainDeadline = on, !on, !on, "", time.Time{}
		if on {
			x.Why, x.DrainDeadline = "is draining in Nomad", deadline
		}
	})
}

// Hold keeps processes from starting until Start is called.
func (n *Nomad) Hold(on bool) { n.change(func() { n.hold = on }) }

// Start starts the process of a member.
func (n *Nomad) Start(allocationID string, rank int) {
	n.change(func() { n.start(n.newest(allocationID, rank)) })
}

// End lets the process of a member end by itself.
func (n *Nomad) End(allocationID string, rank, code int) {
	n.change(func() {
		a := n.newest(allocationID, rank)
		a.end(code, n.index)
	})
}

// Fetch makes a member fetch its runner or image, and fail to if why is not "".
func (n *Nomad) Fetch(allocationID string, rank int, why string) {
	n.change(func() {
		a := n.newest(allocationID, rank)
		a.fact.Pulling, a.fact.Index = why == "", n.index
		a.fact.Detail = "Client is downloading artifacts"
		if why != "" {
			a.fact.Status, a.fact.Detail = "failed", "Failed Artifact Download: "+why
		}
	})
}

// Purge removes a job and its allocations, as an operator can.
func (n *Nomad) Purge(allocationID string) {
	n.change(func() { delete(n.jobs, jobspecs.JobID(allocationID)) })
}

// Fail makes every call fail with err, until it is called with nil.
func (n *Nomad) Fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = err
}

// Deny revokes the token's rights, or restores them.
func (n *Nomad) Deny(on bool) { n.change(func() { n.denied = on }) }

// Submitted lists the attempts that have a job, stopped or not.
func (n *Nomad) Submitted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ids []string
	for _, j := range n.jobs {
		ids = append(ids, j.task.AllocationID)
	}
	slices.Sort(ids)
	return ids
}

// Task returns the submitted task of an attempt.
func (n *Nomad) Task(allocationID string) (jobspecs.Task, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	j := n.jobs[jobspecs.JobID(allocationID)]
	if j == nil {
		return jobspecs.Task{}, false
	}
	return j.task, true
}

// JWT is the workload identity of the newest allocation of a member.
func (n *Nomad) JWT(allocationID string, rank int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return "identity-of:" + n.newest(allocationID, rank).fact.NomadAllocID
}

func (n *Nomad) node(id string) *cluster.Node {
	for i := range n.nodes {
		if n.nodes[i].ID == id {
			return &n.nodes[i]
		}
	}
	panic(fmt.Sprintf("clustertest: there is no node %q", id))
}

// newest returns the newest allocation of a member.
func (n *Nomad) newest(allocationID string, rank int) *alloc {
	var found *alloc
	if j := n.jobs[jobspecs.JobID(allocationID)]; j != nil {
		for _, a := range j.allocs {
			if a.fact.Rank == rank {
				found = a
			}
		}
	}
	if found == nil {
		panic(fmt.Sprintf("clustertest: attempt %s has no allocation of rank %d", allocationID, rank))
	}
	return found
}

// place simulates Nomad's scheduler: each member of a job that is not stopped gets an
// allocation if its node is ready, and a replacement if its allocation was lost.
func (n *Nomad) place() {
	var ids []string
	for id := range n.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		j := n.jobs[id]
		for rank := range j.task.Members {
			previous := ""
			for _, a := range j.allocs {
				if a.fact.Rank == rank {
					previous = a.fact.NomadAllocID
					if a.fact.Status != "lost" {
						previous = "placed"
					}
				}
			}
			if !j.stopped && previous != "placed" {
				n.allocate(j, rank, previous)
			}
		}
	}
}

func (n *Nomad) allocate(j *job, rank int, previous string) {
	m := j.task.Members[rank]
	i := slices.IndexFunc(n.nodes, func(x cluster.Node) bool { return x.ID == m.NodeID && x.Schedulable })
	if i < 0 || m.MemoryMB > n.nodes[i].MemoryMB {
		return
	}
	n.serial++
	a := &alloc{fact: cluster.TaskFact{
		AllocationID: j.task.AllocationID, Rank: rank, NomadAllocID: fmt.Sprintf("alloc-%d", n.serial), NodeID: m.NodeID, NodeName: n.nodes[i].Name,
		Status: "pending", Desired: "run", Index: n.index, CreateIndex: n.index, Previous: previous,
	}}
	j.allocs = append(j.allocs, a)
	if !n.hold {
		n.start(a)
	}
}

func (n *Nomad) start(a *alloc) {
	a.fact.Status, a.fact.Started, a.fact.Pulling, a.fact.Detail, a.fact.Index = "running", true, false, "", n.index
}

func (a *alloc) end(code int, index uint64) {
	a.fact.Status = "complete"
	if code != 0 {
		a.fact.Status = "failed"
	}
	a.fact.ExitCode, a.fact.Detail, a.fact.Index = &code, fmt.Sprintf("Exit Code: %d", code), index
}
