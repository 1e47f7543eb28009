package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/spelling"
)

// A quota is a row with what the attempts of a cycle hold under it.
type quota struct {
	queue.Quota
	bound *sched.Quota          // what the scheduler receives
	pools map[string]sched.Held // by pool
	used  float64               // slot-seconds of its period
	until time.Time             // when used was measured: what attempts used before that is in it
}

// quotas are those of a cycle. Attempts of the same workspace, project and user share the list that
// the scheduler receives.
type quotas struct {
	now   time.Time
	nodes inventories
	all   []*quota
	by    map[subject][]*quota
	lists map[sharedBy]quotaList
}

// A subject is whom a quota bounds; each empty field stands for all.
type subject struct {
	workspace string
	project   int
	user      string
}

type sharedBy struct {
	pool string
	subject
}

type quotaList struct {
	rows   []*quota
	bounds []*sched.Quota
}

func newQuotas(list []queue.Quota, nodes inventories, now time.Time) *quotas {
	s := &quotas{now: now, nodes: nodes, by: map[subject][]*quota{}, lists: map[sharedBy]quotaList{}}
	for _, row := range list {
		q := &quota{Quota: row, bound: &sched.Quota{Of: row.Name(), Where: row.Pools(), Raise: row.Raisers() + " can raise it"}, pools: map[string]sched.Held{}}
		if units := map[string]int{queue.MeasureSlots: 1, queue.MeasureCPUs: 1000, queue.MeasureMemory: 1024}[row.Measure]; units > 0 {
			q.bound.Soft, q.bound.Hard = times(row.Soft, units), times(row.Hard, units)
			q.bound.Kind = map[string]sched.Kind{queue.MeasureCPUs: sched.Processors, queue.MeasureMemory: sched.Memory}[row.Measure]
		}
		q.used, q.until = row.Measured(now)
		of := subject{workspace: row.Workspace, user: row.Username}
		if row.ProjectID != nil {
			of = subject{project: *row.ProjectID}
		}
		s.all, s.by[of] = append(s.all, q), append(s.by[of], q)
	}
	return s
}

func times(bound *int, units int) *int {
	if bound == nil {
		return nil
	}
	return new(*bound * units)
}

// of lists the quotas of those who hold or ask for slots of a pool: of the user, the project, the user
// in the workspace, and the workspace.
func (s *quotas) of(pool string, by sharer) quotaList {
	if s == nil || len(s.all) == 0 {
		return quotaList{}
	}
	key := sharedBy{pool, subject{by.workspace, by.project, by.user}}
	list, known := s.lists[key]
	if known {
		return list
	}
	subjects := []subject{{user: by.user}, {project: by.project}, {workspace: by.workspace, user: by.user}, {workspace: by.workspace}}
	for _, of := range subjects {
		for _, q := range s.by[of] {
			if q.Pool == "" || q.Pool == pool {
				list.rows, list.bounds = append(list.rows, q), append(list.bounds, q.bound)
			}
		}
	}
	s.lists[key] = list
	return list
}

// hold counts what an attempt holds, and returns its quotas for the scheduler.
func (s *quotas) hold(a *rows.LiveAllocation, by sharer, leaving bool) []*sched.Quota {
	list := s.of(a.Pool, by)
	for _, q := range list.rows {
		n := s.heldBy(q, partsOf(a))
		if q.add(a.Pool, n, 0); leaving {
			q.add(a.Pool, 0, n)
		}
		began := optional.Value(a.AssignedAt)
		if began.Before(q.until) {
			began = q.until
		}
		q.used += float64(a.Slots) * max(0, s.now.Sub(began).Seconds())
	}
	return list.bounds
}

// partsOf are what an attempt has of its nodes.
func partsOf(a *rows.LiveAllocation) []sched.Part {
	return each.Of(a.Members, func(x rows.LiveMember) sched.Part {
		return sched.Part{NodeID: x.NodeID, SlotIDs: x.SlotIDs, Uses: sched.Amount{MHz: x.MHz, MemoryMB: x.MemoryMB}}
	})
}

// heldBy is what parts of an attempt hold under a quota.
func (s *quotas) heldBy(q *quota, parts []sched.Part) int {
	return q.bound.Kind.Of(parts, func(id string) *sched.Supply {
		n := s.nodes[id].node
		return &sched.Supply{MHz: n.MHz, Cores: n.Cores}
	})
}

func (q *quota) add(pool string, n, leaving int) {
	h := q.pools[pool]
	q.pools[pool] = sched.Held{All: h.All + n, Leaving: h.Leaving + leaving}
}

// begin prepares the quotas for the plan of a pool: what is held in the other pools, and which
// slot-hours are used up.
func (s *quotas) begin(pool string) {
	if s == nil {
		return
	}
	for _, q := range s.all {
		q.bound.Elsewhere = sched.Held{}
		for name, h := range q.pools {
			if name != pool {
				q.bound.Elsewhere.All += h.All
				q.bound.Elsewhere.Leaving += h.Leaving
			}
		}
		if q.Measure == queue.MeasureSlotHours {
			q.bound.Spent = q.spent(s.now)
		}
	}
}

// planned counts what a plan has given out and asked back, for the plans of the other pools.
func (s *quotas) planned(pool string, in *input, res sched.Result) {
	if s == nil || len(s.all) == 0 {
		return
	}
	byBound := each.Keyed(s.all, func(q *quota) *sched.Quota { return q.bound })
	placed := each.Map(res.Place, func(x sched.Placement) (string, []sched.Part) { return x.ID, x.Parts })
	for i := range in.queued {
		r := &in.queued[i]
		parts, starts := placed[r.ID]
		for _, b := range r.Quotas {
			if starts {
				byBound[b].add(pool, s.heldBy(byBound[b], parts), 0)
			}
		}
	}
	asked := each.Set(res.Preempt, func(x sched.Preemption) string { return x.ID })
	for i := range in.running {
		r := &in.running[i]
		if !asked[r.ID] {
			continue
		}
		for _, b := range r.Quotas {
			byBound[b].add(pool, 0, s.heldBy(byBound[b], r.Parts))
		}
	}
}

// spent says why nothing may start under a quota of slot-hours; "" if it may. The number of used
// hours is rounded down to a hundredth of the bound, so that the sentences of thousands of attempts
// seldom change.
func (q *quota) spent(now time.Time) string {
	hours := q.used / 3600
	if q.Hard == nil || hours < float64(*q.Hard) {
		return ""
	}
	step := max(1, float64(*q.Hard)/100)
	used := strconv.FormatFloat(math.Floor(math.Floor(hours/step)*step), 'f', -1, 64)
	when := "of its quota"
	again := ""
	if end := q.End(now); end != nil {
		when = fmt.Sprintf("of its quota of this %s", q.Period)
		again = fmt.Sprintf("the next %s begins at %s, and ", q.Period, end.Format("2006-01-02 15:04 UTC"))
	}
	return fmt.Sprintf("%s has used %s of the %s %s in %s; %s%s", q.bound.Of, used, spelling.Count(*q.Hard, "slot-hour"), when, q.bound.Where, again, q.bound.Raise)
}

// How often the leader counts used slot-hours in the accounting, and after which pause it tries again.
const (
	measureEvery = 30 * time.Second
	measureOlder = 25 * time.Second
)

// measureQuotas counts the used slot-hours of all quotas, again and again. In between, the cycle adds
// what running attempts use, so only what began and ended since is missing.
func (t *term) measureQuotas(ctx context.Context) {
	for {
		if err := t.measureDue(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, database.ErrNotLeader) {
			t.log.Warn("could not count the slot-hours of quotas; retrying", "term", t.lead.Term, "error", err)
		}
		if sleep.For(ctx, measureEvery) != nil {
			return
		}
	}
}

// measureDue measures the quotas whose turn it is. One that cannot be measured keeps none of the
// others waiting.
func (t *term) measureDue(ctx context.Context) error {
	ids, err := queue.DueQuotas(ctx, t.db, measureOlder)
	for _, id := range ids {
		failed := t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) error {
			_, err := queue.MeasureQuota(ctx, tx, id)
			return err
		})
		if ctx.Err() != nil || errors.Is(failed, database.ErrNotLeader) {
			return failed
		}
		if failed != nil {
			err = fault.New(fault.CodeOf(failed), "quota %d: %w", id, failed)
		}
	}
	return err
}
