package control

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/sched"
)

// TestQuotasOfACycle: which quotas bound an attempt, what is held elsewhere, and when slot-hours are used up.
func TestQuotasOfACycle(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	midnight := now.Truncate(24 * time.Hour)
	id, eight, hundred, measured := 7, 8, 100, now.Add(-time.Hour)
	slots := func(q queue.Quota) queue.Quota {
		q.Measure, q.Hard = queue.MeasureSlots, &eight
		return q
	}
	list := []queue.Quota{
		slots(queue.Quota{WorkspaceID: &id, Workspace: "w"}), slots(queue.Quota{WorkspaceID: &id, Workspace: "w", Pool: "a"}),
		slots(queue.Quota{UserID: &id, Username: "ann"}), slots(queue.Quota{WorkspaceID: &id, Workspace: "w", UserID: &id, Username: "ann"}),
		slots(queue.Quota{WorkspaceID: &id, Workspace: "w", ProjectID: &id, Project: "p"}), slots(queue.Quota{WorkspaceID: &id, Workspace: "other"}),
		{WorkspaceID: &id, Workspace: "w", Measure: queue.MeasureSlotHours, Period: queue.PeriodDay, Hard: &hundred, UsedSeconds: 95 * 3600, UsedSince: &midnight, MeasuredAt: &measured},
	}
	s := newQuotas(list, nil, now)
	names := func(pool string, by sharer) string {
		var all []string
		for _, q := range s.of(pool, by).bounds {
			all = append(all, q.Of+" in "+q.Where)
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	ann := sharer{workspace: "w", project: 7, user: "ann"}
	const own = "workspace w in all pools, workspace w in all pools"
	for by, want := range map[sharer]string{
		ann:                              "project p of workspace w in all pools, user ann in all pools, user ann in workspace w in all pools, " + own,
		{workspace: "w", user: "bob"}:    own,
		{workspace: "x", user: "ann"}:    "user ann in all pools",
		{workspace: "x", user: "nobody"}: "",
	} {
		if got := names("b", by); got != want {
			t.Errorf("%+v: %s, want %s", by, got, want)
		}
	}
	if got := names("a", sharer{workspace: "w", user: "bob"}); got != own+", workspace w in pool a" {
		t.Errorf("in pool a: %s", got)
	}

	before, since := now.Add(-5*time.Hour), now.Add(-30*time.Minute)
	s.hold(&rows.LiveAllocation{Pool: "a", Slots: 4, Members: []rows.LiveMember{{SlotIDs: []int{0, 1}}, {SlotIDs: []int{0, 1}}}, AssignedAt: &before}, ann, true)
	if under := s.hold(&rows.LiveAllocation{Pool: "b", Slots: 2, Members: []rows.LiveMember{{SlotIDs: []int{2, 3}}}, AssignedAt: &since}, ann, false); len(under) != 5 {
		t.Errorf("%d quotas", len(under))
	}
	whole := s.all[0].bound
	if s.begin("a"); whole.Elsewhere != (sched.Held{All: 2}) || s.all[1].bound.Elsewhere != (sched.Held{}) {
		t.Errorf("elsewhere than in pool a: %+v, %+v", whole.Elsewhere, s.all[1].bound.Elsewhere)
	}
	if s.begin("b"); whole.Elsewhere != (sched.Held{All: 4, Leaving: 4}) {
		t.Errorf("elsewhere than in pool b: %+v", whole.Elsewhere)
	}
	// 95 hours were counted up to an hour ago; since then 4 slots for an hour and 2 for a half.
	const spent = "workspace w has used 100 of the 100 slot-hours of its quota of this day in all pools; the next day begins at 2026-05-07 00:00 UTC, and administrators of the cluster can raise it"
	if got := s.all[6].bound.Spent; got != spent {
		t.Errorf("%q", got)
	}
	in := &input{queued: []sched.Request{{ID: "q", Slots: 3, Quotas: s.of("b", ann).bounds}},
		running: []sched.Running{{ID: "r", Parts: []sched.Part{{SlotIDs: []int{0, 1}}}, Quotas: s.of("b", ann).bounds}}}
	s.planned("b", in, sched.Result{Place: []sched.Placement{{ID: "q", Parts: []sched.Part{{SlotIDs: []int{3, 4, 5}}}}}, Preempt: []sched.Preemption{{ID: "r"}}})
	if s.begin("c"); whole.Elsewhere != (sched.Held{All: 9, Leaving: 6}) {
		t.Errorf("after the plan of pool b: %+v", whole.Elsewhere)
	}

	// A day later nothing of yesterday counts, and what runs counts from midnight.
	s = newQuotas(list, nil, now.Add(24*time.Hour))
	s.hold(&rows.LiveAllocation{Pool: "a", Slots: 8, AssignedAt: &before}, ann, false)
	if q := s.all[6]; q.used != 8*12*3600 || q.spent(s.now) != "" {
		t.Errorf("%f slot-seconds: %s", q.used, q.spent(s.now))
	}
}
