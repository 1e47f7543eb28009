package logs

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
)

// Fields has the values that a client can filter a task's lines by.
type Fields struct {
	AllocationIDs, AgentIDs, ContainerIDs, Sources, Stdtypes []string
	RankIDs                                                  []int
}

// ReadFields reads the fields of a task's log. With a part, these are the attempts, nodes and containers of that part, and the kinds of
// lines of the whole log.
func ReadFields(ctx context.Context, db *database.DB, task string, part *int) (Fields, error) {
	var f Fields
	kinds, err := database.Rows[kindRow](ctx, db, `
		SELECT k.log_task, stdtype, source, rank FROM log_kinds k JOIN log_tasks t ON t.id = k.log_task WHERE t.task_id = $1`, task)
	if err != nil {
		return f, err
	}
	origins, err := database.Rows[Origin](ctx, db, `
		SELECT o.allocation_id, o.agent_id, o.container_id FROM log_origins o JOIN log_tasks l ON l.id = o.log_task `+partOf("l.task_id", "$2")+`
		LEFT JOIN allocations a ON a.id = o.allocation_id AND a.task_id = l.task_id
		WHERE l.task_id = $1 AND (a.id IS NULL OR `+trial.HoldsRun("coalesce(p.first_run, 0)", "coalesce(q.first_run, 0)")+`)`, task, part)
	if err != nil {
		return f, err
	}
	for _, k := range kinds {
		f.Stdtypes, f.Sources = append(f.Stdtypes, k.Stdtype), append(f.Sources, k.Source)
		if k.Rank >= 0 {
			f.RankIDs = append(f.RankIDs, k.Rank)
		}
	}
	for _, o := range origins {
		f.AllocationIDs, f.AgentIDs = append(f.AllocationIDs, o.AllocationID), append(f.AgentIDs, o.AgentID)
		f.ContainerIDs = append(f.ContainerIDs, o.ContainerID)
	}
	for _, l := range []*[]string{&f.AllocationIDs, &f.AgentIDs, &f.ContainerIDs, &f.Sources, &f.Stdtypes} {
		slices.Sort(*l)
		*l = slices.DeleteFunc(slices.Compact(*l), func(s string) bool { return s == "" })
	}
	slices.Sort(f.RankIDs)
	f.RankIDs = slices.Compact(f.RankIDs)
	return f, nil
}

// endGrace is how long a log stays open after the end of its task if a shipper has not
// reported its end, because its node was lost or the shipper was killed.
const endGrace = 30 * time.Second

// Ended reports whether the log of a task, or of a part of it, is complete: it has ended, and each shipper
// has reported its end or exceeded endGrace.
func Ended(ctx context.Context, db *database.DB, task string, part *int) (bool, error) {
	ended, err := database.Scalar[bool](ctx, db, `
		SELECT (t.ended_at IS NOT NULL OR q.n IS NOT NULL) AND NOT EXISTS (
			SELECT 1 FROM allocations a JOIN members m ON m.allocation_id = a.id
			WHERE a.task_id = t.id AND `+trial.HoldsRun("coalesce(p.first_run, 0)", "coalesce(q.first_run, 0)")+`
				AND m.claimed_at IS NOT NULL AND NOT m.logs_done AND coalesce(a.ended_at, now()) > now() - $2::interval)
		FROM tasks t `+partOf("t.id", "$3")+` WHERE t.id = $1`, task, endGrace, part)
	return ended, database.Missing(err, fault.New(fault.NotFound, "task %s not found", task))
}
