package rows

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/tasks"
)

// A Bundle is a part of a plan that is stored as a whole or not at all: the changes of
// one experiment or task, or one placement.
type Bundle struct {
	Key   string
	Needs []string // keys of earlier bundles; if one of these is not stored, this bundle must not be either
	Changes
}

// ApplyBundles stores the bundles in their order, in the leader's transaction, without those that are stale or
// fail, and those that need one of these; failures has the errors, by key.
func ApplyBundles(ctx context.Context, db *database.DB, bundles []Bundle) (failures map[string]error, err error) {
	list := make([]database.Bundle, len(bundles))
	for i := range bundles {
		list[i] = database.Bundle{Key: bundles[i].Key, Needs: bundles[i].Needs, Queue: bundles[i].queue}
	}
	return db.ApplyBundles(ctx, list)
}

// ApplyChanges stores all changes or none. It runs in a transaction, like ApplyBundles.
func ApplyChanges(ctx context.Context, db *database.DB, c *Changes) error {
	failures, err := ApplyBundles(ctx, db, []Bundle{{Changes: *c}})
	if err != nil {
		return err
	}
	return failures[""]
}

// queue adds the statements of the changes.
func (c *Changes) queue(s *database.Statements) {
	queueAll(s, c.Experiments, queueExperiment)
	queueAll(s, c.Queue, queueWork)
	queueAll(s, c.NewTrials, experiments.QueueNewTrial)
	queueAll(s, c.Allocations, queueAllocation)
	queueAll(s, c.Trials, queueTrial)
	queueAll(s, c.Reopened, queueReopened)
	for _, t := range c.Tasks {
		s.QueueOne("task "+t.ID, `UPDATE tasks SET unstarted = $2, ended_at = CASE WHEN $3 THEN now() END, exit_status = $4
			WHERE id = $1 AND ended_at IS NULL`, t.ID, t.Unstarted, t.Ended, t.ExitStatus)
	}
	queueAll(s, c.NewAllocations, tasks.QueueAttempt)
	queueAll(s, c.Placements, queuePlacement)
	queueAll(s, c.Failures, queueFailures)
	queueEvents(s, c.Events)
	recording.Queue(s, c.Recorded)
}

func queueAll[T any](s *database.Statements, list []T, queue func(*database.Statements, T)) {
	for _, v := range list {
		queue(s, v)
	}
}
