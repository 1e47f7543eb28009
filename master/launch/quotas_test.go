package launch

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/queue"
)

// TestRemarksOfQuotas: a remark says until when a job waits, and who can raise the quota.
func TestRemarksOfQuotas(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	used := func(hours float64, q queue.Quota) queue.Quota {
		q.WorkspaceID, q.Workspace, q.CreatedAt = new(1), "w", now.AddDate(0, -1, 0)
		begin := q.Begin(now)
		q.UsedSeconds, q.UsedSince, q.MeasuredAt = hours*3600, &begin, &now
		return q
	}
	hours := func(period string, soft, hard *int) queue.Quota {
		return queue.Quota{Measure: queue.MeasureSlotHours, Period: period, Soft: soft, Hard: hard}
	}
	for _, x := range []struct {
		quota queue.Quota
		slots int
		want  string
	}{
		{used(0, queue.Quota{Measure: queue.MeasureSlots, Hard: new(4)}), 4, ""},
		{used(0, queue.Quota{Measure: queue.MeasureSlots, Hard: new(4), Pool: "gpu"}), 5,
			"it needs 5 slots, more than the 4 slots of the quota of workspace w in pool gpu: it waits until administrators of the cluster raise the quota"},
		{used(9.5, hours(queue.PeriodMonth, nil, new(10))), 1, ""},
		{used(10, hours(queue.PeriodMonth, nil, new(10))), 1,
			"workspace w has used the 10 slot-hours of its quota of this month in all pools: this job waits until 2026-06-01 00:00 UTC, or until administrators of the cluster raise the quota"},
		{used(10, hours(queue.PeriodTotal, nil, new(10))), 1,
			"workspace w has used the 10 slot-hours of its quota in all pools: this job waits until administrators of the cluster raise the quota"},
		{used(6.25, hours(queue.PeriodDay, new(5), new(10))), 1, "workspace w has used 6.2 slot-hours of this day in all pools, over its soft quota of 5"},
	} {
		if got := remarkOf(x.quota, x.slots, now); got != x.want {
			t.Errorf("%+v:\n%q, want\n%q", x.quota, got, x.want)
		}
	}
}
