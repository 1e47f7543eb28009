package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/hashicorp/nomad/api"
)

// taskStopTimeout is how long tasks may take to end after their jobs were stopped; then they are
// killed.
const taskStopTimeout = 30 * time.Second

// stopJobs stops the jobs that which names and waits until none of their tasks runs.
func (c *Cluster) stopJobs(ctx context.Context, which func(id string) bool) error {
	client, err := c.Nomad()
	if err != nil {
		return err
	}
	every := (&api.QueryOptions{Namespace: api.AllNamespacesNamespace}).WithContext(ctx)
	jobs, _, err := client.Jobs().List(every)
	if err != nil {
		return fmt.Errorf("list Nomad's jobs: %w", err)
	}
	stopping := map[string]bool{}
	for _, job := range jobs {
		if !which(job.ID) || job.Stop && job.Status == "dead" {
			continue
		}
		// Not purged: Nomad's pages continue showing what ran.
		write := (&api.WriteOptions{Namespace: job.Namespace}).WithContext(ctx)
		if _, _, err := client.Jobs().Deregister(job.ID, false, write); err != nil {
			return fmt.Errorf("stop the job %s: %w", job.ID, err)
		}
		stopping[job.Namespace+"/"+job.ID] = true
	}
	return c.awaitStopped(ctx, client, stopping)
}

// awaitStopped waits until the jobs have no allocation that runs, and gives up without an error after a
// while: who calls kills what is left.
func (c *Cluster) awaitStopped(ctx context.Context, client *api.Client, jobs map[string]bool) error {
	deadline := time.Now().Add(taskStopTimeout)
	for len(jobs) > 0 && time.Now().Before(deadline) {
		every := (&api.QueryOptions{Namespace: api.AllNamespacesNamespace}).WithContext(ctx)
		allocs, _, err := client.Allocations().List(every)
		if err != nil {
			return fmt.Errorf("list Nomad's allocations: %w", err)
		}
		if !slices.ContainsFunc(allocs, func(a *api.AllocationListStub) bool { return jobs[a.Namespace+"/"+a.JobID] && mayRun(a.ClientStatus) }) {
			return nil
		}
		if sleep.For(ctx, agentPoll) != nil {
			return ctx.Err()
		}
	}
	return nil
}

// mayRun reports whether an allocation with this status may have processes that Nomad will still stop.
func mayRun(status string) bool {
	return status == api.AllocClientStatusPending || status == api.AllocClientStatusRunning
}

// taskFailure describes why a task does not start, with its events and its log.
func (c *Cluster) taskFailure(ctx context.Context, client *api.Client, alloc *api.Allocation, task string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "allocation %s is %s", alloc.ID[:8], alloc.ClientStatus)
	if state := alloc.TaskStates[task]; state != nil {
		for _, e := range state.Events[max(0, len(state.Events)-4):] {
			fmt.Fprintf(&b, "\n  %s: %s", e.Type, e.DisplayMessage)
		}
	}
	for _, kind := range []string{"stderr", "stdout"} {
		if tail := c.taskLogTail(ctx, client, alloc, task, kind); tail != "" {
			fmt.Fprintf(&b, "\nthe end of its %s:\n  %s", kind, strings.ReplaceAll(tail, "\n", "\n  "))
		}
	}
	return errors.New(b.String())
}
