package servertest

import (
	"context"
	"sync"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
)

// A Program is what an attempt runs. Its context ends when the attempt must end; its result is
// its exit code.
type Program func(ctx context.Context, a *Attempt) int

// fakeNodes run the jobs of the fake Nomad.
type fakeNodes struct {
	m        *Master
	programs sync.WaitGroup
	stops    map[string]context.CancelFunc // by attempt
}

func newNodes(m *Master) *fakeNodes { return &fakeNodes{m: m, stops: map[string]context.CancelFunc{}} }

// run starts and stops programs until ctx ends.
func (n *fakeNodes) run(ctx context.Context) {
	defer n.programs.Wait()
	view := n.m.Nomad.Cluster(clusterID)
	for {
		seen, err := view.Observe(ctx, cluster.Known{Full: true})
		if err != nil && ctx.Err() == nil {
			n.m.t.Errorf("Nomad cannot be observed: %v", err)
		}
		for _, job := range seen.Jobs {
			n.follow(ctx, job)
		}
		select {
		case <-ctx.Done():
			return
		case <-view.Wake():
		}
	}
}

func (n *fakeNodes) follow(ctx context.Context, job cluster.JobFact) {
	stop, there := n.stops[job.AllocationID]
	if !there {
		var of context.Context
		of, stop = context.WithCancel(ctx)
		n.stops[job.AllocationID] = stop
		n.programs.Go(func() { n.attempt(ctx, of, job.AllocationID) })
	}
	if job.Stopped {
		stop()
	}
}

// attempt runs one attempt from the claim to the report of its exit, which follows a stop too.
func (n *fakeNodes) attempt(ctx, of context.Context, id string) {
	a, err := claim(ctx, n.m, id)
	if fault.Is(err, fault.Conflict) { // the attempt was killed before the claim
		return
	}
	if err == nil {
		defer a.master.Close()
		err = a.exit(ctx, n.m.program(of, a))
	}
	if err != nil && ctx.Err() == nil && of.Err() == nil {
		n.m.t.Errorf("attempt %s: %v", id, err)
	}
}
