package control

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sched/record"
	"github.com/detent-ml/detent/master/sleep"
)

// How often the leader counts what was used lately of pools whose fair share has a half-life, and how long a new leader waits for the first count: until
// then it divides as without a memory.
const (
	countUseEvery = 30 * time.Second
	firstUse      = 10 * time.Second
)

// countUse counts what was used lately.
func (t *term) countUse(ctx context.Context) {
	if t.used == nil {
		return
	}
	if err := t.used.Count(ctx, t.db); err != nil && ctx.Err() == nil {
		t.log.Warn("could not count what was used lately; retrying", "term", t.lead.Term, "error", err)
	}
}

// keepCountingUse counts again and again.
func (t *term) keepCountingUse(ctx context.Context) {
	for t.used != nil && sleep.For(ctx, countUseEvery) == nil {
		t.countUse(ctx)
	}
}

// expireRecording deletes the frames of the recording of the queue whose time has ended.
func (t *term) expireRecording(ctx context.Context) {
	recording.KeepExpiring(ctx, t.cfg.Recording, func(do func(tx *database.DB) error) error { return t.db.Fenced(ctx, t.lead.Term, do) }, func(err error) {
		t.log.Warn("could not delete old frames of the recording of the queue; retrying", "term", t.lead.Term, "error", err)
	})
}

// record records what the plan of a pool was asked, and what it decided; nil: there was no plan.
func (d *queuePass) record(p *pool.Pool, in *input, nodes []sched.Node, res *sched.Result) {
	if d.p.keeper == nil {
		return
	}
	d.p.keeper.Note(record.Input{Pool: p, At: d.p.Now, Planned: res != nil, Nodes: nodes, Running: in.running, Queued: in.queued, Reserved: d.p.Reserved.In(p.Name),
		Quotas: d.quotas.recorded(p.Name), Result: optional.Value(res)})
}

// recorded says whom the quotas of a pool bound.
func (s *quotas) recorded(pool string) map[*sched.Quota]record.Quota {
	all := map[*sched.Quota]record.Quota{}
	for _, q := range s.all {
		if q.Pool == "" || q.Pool == pool {
			all[q.bound] = record.Quota{ID: q.ID, Pool: q.Pool, Workspace: q.Workspace, User: q.Username, Project: q.ProjectID != nil, Hours: q.Measure == queue.MeasureSlotHours}
		}
	}
	return all
}

// recordingKey is the key of the bundle with what was recorded.
const recordingKey = "recording of the queue"

// addRecording adds what was recorded to a plan: it is stored with the plan's changes, in the same transaction.
func (t *term) addRecording(plan *Plan, now time.Time) {
	if err := t.keeper.Err(); err != nil {
		t.log.Error("could not record the input of a plan; the recording of the queue has a gap", "term", t.lead.Term, "error", err)
	}
	if frames := t.keeper.Due(len(plan.Bundles) > 0, now); frames != nil {
		plan.Bundles = append(plan.Bundles, rows.Bundle{Key: recordingKey, Changes: rows.Changes{Recorded: frames}})
	}
}
