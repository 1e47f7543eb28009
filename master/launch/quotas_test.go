package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
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

// TestASubmissionIsToldOfQuotas: of those of its workspace, project, user and pool, and of no others.
func TestASubmissionIsToldOfQuotas(t *testing.T) {
	w, l, starts := launchers(t)
	for _, q := range []queue.Quota{{WorkspaceID: new(1), Pool: "gpu", Hard: new(1)}, {WorkspaceID: new(1), Pool: "aux", Hard: new(0)}, {UserID: new(ben.Who.UserID), Hard: new(0)}} {
		q.Measure = queue.MeasureSlots
		if _, err := queue.SetQuota(t.Context(), w.DB, q, func(queue.Quota) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	made, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + "resources: {slots_per_trial: 2}\n")})
	if err != nil {
		t.Fatal(err)
	}
	started, err := starts.Start(t.Context(), me, tasks.Command(), tasks.Request{Config: v1.Struct(`{"entrypoint":["true"],"resources":{"slots":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, remarks := range [][]string{made.Remarks, started.Remarks} {
		if told := strings.Join(remarks, "\n"); strings.Count(told, "raise the quota") != 1 || !strings.Contains(told, "more than the 1 slot of the quota of workspace w in pool gpu") {
			t.Errorf("told %q", told)
		}
	}
}
