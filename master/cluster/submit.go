package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
)

// Submit registers the job of an attempt. It is idempotent: if the attempt's job exists,
// the outcome is Done. For an attempt with several members, Submit first asks Nomad to plan
// the job, and registers it only if Nomad can place every member; else the error is a
// *NoRoom.
func (c *Cluster) Submit(ctx context.Context, task jobspecs.Task) (Outcome, error) {
	job, err := jobspecs.Render(task)
	if err != nil {
		return Refused, err
	}
	ns := cmp.Or(task.Pool.Namespace, c.cfg.Namespace)
	if !slices.Contains(c.namespaces, ns) {
		return Refused, fmt.Errorf("pool %s is in Nomad namespace %q, which this master does not watch", task.Pool.Name, ns)
	}
	job.Namespace = &ns
	if c.cfg.Region != "" {
		job.Region = &c.cfg.Region
	}
	what := fmt.Sprintf("job %s", *job.ID)
	if len(task.Members) > 1 {
		if outcome, err := c.plan(ctx, task, job); err != nil {
			return outcome, err
		}
	}
	if len(task.Variables) > 0 {
		if outcome, err := c.putVariables(ctx, ns, task); err != nil {
			return outcome, err
		}
	}
	registered, _, err := c.api.Jobs().EnforceRegister(job, 0, c.write(ctx, ns))
	if err == nil {
		raise(&c.shownJobs, registered.JobModifyIndex)
		return Done, nil
	}
	if kindOf(err) != exists {
		return outcomeOf(err, what)
	}
	there, _, err := c.api.Jobs().Info(*job.ID, c.query(ctx, ns))
	if statusOf(err) == http.StatusNotFound {
		return TryAgain, fmt.Errorf("%s disappeared during its registration", what)
	}
	if err != nil {
		return outcomeOf(err, what)
	}
	if !c.owns(there.Meta, task.AllocationID) {
		return Refused, fmt.Errorf("%s already exists in namespace %q and does not belong to this cluster: %s", what, ns, whose(there.Meta))
	}
	return Done, nil
}

// cannotPlan is part of the error with which Nomad rejects a plan request of a workload
// identity: it searches the identity among its ACL tokens, whose ids are UUIDs.
const cannotPlan = "UUID must be 36 characters"

// plan asks Nomad whether it would place every member. If Nomad cannot plan for this
// token, Submit registers the job without a plan; the loop stops the job if Nomad does not
// place all members in time.
func (c *Cluster) plan(ctx context.Context, task jobspecs.Task, job *api.Job) (Outcome, error) {
	plan, _, err := c.api.Jobs().PlanOpts(job, &api.PlanOptions{}, c.write(ctx, *job.Namespace))
	if strings.Contains(rawBody(err), cannotPlan) {
		return Done, nil
	}
	if err != nil {
		return outcomeOf(err, fmt.Sprintf("job %s", *job.ID))
	}
	if len(plan.FailedTGAllocs) == 0 {
		return Done, nil
	}
	no := &NoRoom{}
	var reasons []string
	for _, group := range slices.Sorted(maps.Keys(plan.FailedTGAllocs)) {
		where := "?"
		if rank, ok := jobspecs.RankOf(group); ok && rank < len(task.Members) {
			no.Nodes = append(no.Nodes, task.Members[rank].NodeID)
			where = task.Members[rank].NodeName
		}
		reasons = append(reasons, fmt.Sprintf("%s on node %s: %s", group, where, whyNotPlaced(plan.FailedTGAllocs[group])))
	}
	no.Reason = "Nomad has no room for " + strings.Join(reasons, "; ")
	return TryAgain, no
}

// whyNotPlaced describes why Nomad's scheduler found no node for a group.
func whyNotPlaced(m *api.AllocationMetric) string {
	if m == nil {
		return "it gives no reason"
	}
	parts := each.Of(slices.Sorted(maps.Keys(m.DimensionExhausted)), func(dimension string) string { return dimension + " is exhausted" })
	for _, constraint := range slices.Sorted(maps.Keys(m.ConstraintFiltered)) {
		if !strings.HasPrefix(constraint, "${node.unique.id}") {
			parts = append(parts, fmt.Sprintf("constraint %q is not met", constraint))
		}
	}
	for _, class := range slices.Sorted(maps.Keys(m.ClassFiltered)) {
		parts = append(parts, fmt.Sprintf("nodes of class %q do not fit", class))
	}
	if len(m.QuotaExhausted) > 0 {
		parts = append(parts, "quota is exhausted: "+strings.Join(m.QuotaExhausted, ", "))
	}
	if len(parts) == 0 {
		return "the node is not ready, or not in the datacenter or node pool of the job"
	}
	return strings.Join(parts, ", ")
}

// WhyNotPlaced returns why Nomad does not place a submitted attempt; "" if Nomad gives no
// reason.
func (c *Cluster) WhyNotPlaced(ctx context.Context, allocationID string) (string, error) {
	for _, ns := range c.namespaces {
		evals, _, err := c.api.Jobs().Evaluations(jobspecs.JobID(allocationID), c.query(ctx, ns))
		if err != nil {
			return "", fmt.Errorf("evaluations of job %s: %w", jobspecs.JobID(allocationID), err)
		}
		slices.SortFunc(evals, func(a, b *api.Evaluation) int { return int(b.ModifyIndex) - int(a.ModifyIndex) })
		for _, e := range evals {
			var reasons []string
			for _, group := range slices.Sorted(maps.Keys(e.FailedTGAllocs)) {
				reasons = append(reasons, group+": "+whyNotPlaced(e.FailedTGAllocs[group]))
			}
			if len(reasons) > 0 {
				return "Nomad has no room for " + strings.Join(reasons, "; "), nil
			}
		}
	}
	return "", nil
}

// Stop stops the job of an attempt. It does not purge the job, so that Submit cannot
// register it a second time. If the job does not exist, the outcome is Done.
func (c *Cluster) Stop(ctx context.Context, allocationID string) (Outcome, error) {
	id := jobspecs.JobID(allocationID)
	what := "job " + id
	for _, ns := range c.namespaces {
		job, _, err := c.api.Jobs().Info(id, c.query(ctx, ns))
		if statusOf(err) == http.StatusNotFound {
			continue
		}
		if err != nil {
			return outcomeOf(err, what)
		}
		if !c.owns(job.Meta, allocationID) {
			if len(c.namespaces) > 1 {
				continue // our job may be in another namespace
			}
			return Refused, fmt.Errorf("%s in namespace %q does not belong to this cluster and was not changed: %s", what, ns, whose(job.Meta))
		}
		if job.Stop != nil && *job.Stop {
			return Done, nil
		}
		if _, _, err := c.api.Jobs().Deregister(id, false, c.write(ctx, ns)); err != nil {
			return outcomeOf(err, what)
		}
		return Done, nil
	}
	return Done, nil
}

// owns reports whether a job with this metadata is the attempt's job of this cluster.
func (c *Cluster) owns(meta map[string]string, allocationID string) bool {
	return meta[jobspecs.MetaCluster] == c.cfg.ClusterID && meta[jobspecs.MetaAllocation] == allocationID
}

func whose(meta map[string]string) string {
	if cluster := meta[jobspecs.MetaCluster]; cluster != "" {
		return fmt.Sprintf("its metadata names cluster %s and attempt %s", cluster, meta[jobspecs.MetaAllocation])
	}
	return "its metadata names no cluster"
}
