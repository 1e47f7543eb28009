package queue

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB    *database.DB
	Pools pool.Set
	// Changed wakes the control loop.
	Changed func()
	// Places has the turns of those who place jobs in the queue.
	Places *rest.Shares
	// Policies reads the config policies of a workspace for experiments or for tasks. allows returns why they do not allow a change.
	Policies func(ctx context.Context, workspace int, workload string) (allows func(Change) error, err error)
	// ChangeExperiment changes an experiment that has not ended. It fails if the experiment cannot run in the new pool.
	ChangeExperiment func(ctx context.Context, id int, ch Change) error
	// TaskFits returns why a task cannot run in another pool.
	TaskFits func(ctx context.Context, id, pool string) error
	// PrioritizeExperiment stores the priority of an experiment with its tasks and their attempts.
	PrioritizeExperiment func(ctx context.Context, tx *database.DB, id, priority int) error

	waits *waits // Routes makes it
}

// Routes adds the endpoints of the queue, of quotas and of usage.
func Routes(r *rest.Router, d Deps) {
	d.waits = &waits{}
	rest.Serve(r, v1.ListJobs, d.listJobs)
	rest.Serve(r, v1.ListOldJobs, d.listOldJobs)
	rest.Serve(r, v1.CountJobs, d.countJobs)
	rest.Serve(r, v1.ChangeJobs, d.changeJobs)
	rest.Serve(r, v1.ListQuotas, d.listQuotas)
	rest.Serve(r, v1.PutQuota, d.putQuota)
	rest.ServeOn(r, v1.DeleteQuota, onQuota(d.DB), d.deleteQuota)
	rest.Serve(r, v1.GetRawUsage, d.rawUsage)
	rest.Serve(r, v1.GetAggregatedUsage, d.aggregatedUsage)
	rest.ServeCSV(r, v1.GetRawUsageCSV, d.rawUsageCSV)
	rest.ServeCSV(r, v1.GetAggregatedUsageCSV, d.aggregatedUsageCSV)
	rest.ServeCSV(r, v1.GetAllocationsCSV, d.allocationsCSV)
}
