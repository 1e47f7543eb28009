package queue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func admitAll(queue.Quota) error { return nil }

// TestPeriodsOfQuotas: days, weeks and months begin at midnight UTC.
func TestPeriodsOfQuotas(t *testing.T) {
	created := time.Date(2026, 1, 5, 6, 7, 8, 0, time.UTC)
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("west", -3600)) // a Sunday, 01:30 UTC
	for period, want := range map[string][2]string{queue.PeriodDay: {"2026-03-01", "2026-03-02"}, queue.PeriodWeek: {"2026-02-23", "2026-03-02"}, queue.PeriodMonth: {"2026-03-01", "2026-04-01"}} {
		q := queue.Quota{Period: period, CreatedAt: created}
		if begin, end := q.Begin(now), q.End(now); begin.Format(time.DateOnly) != want[0] || end == nil || end.Format(time.DateOnly) != want[1] || begin.Hour() != 0 {
			t.Errorf("%s: %v to %v, want %v", period, begin, end, want)
		}
		before := q.Begin(now).Add(-time.Second)
		q.UsedSeconds, q.UsedSince, q.MeasuredAt = 7, &before, &before
		if used, until := q.Measured(now); used != 0 || !until.Equal(q.Begin(now)) {
			t.Errorf("%s: %g were used up to %v, which were used in the period before", period, used, until)
		}
	}
	total := queue.Quota{Period: queue.PeriodTotal, CreatedAt: created, UsedSeconds: 7, UsedSince: &created, MeasuredAt: &now}
	if used, until := total.Measured(now); total.End(now) != nil || !total.Begin(now).Equal(created) || used != 7 || !until.Equal(now) {
		t.Errorf("%g, %v", used, until)
	}
}

// TestQuotas sets, replaces, lists and deletes quotas.
func TestQuotas(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	one, two, eight := 1, 2, 8
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1) RETURNING id`, theirs)
	set := func(q queue.Quota) queue.Quota {
		t.Helper()
		got, err := queue.SetQuota(ctx, w.DB, q, admitAll)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	whole := set(queue.Quota{WorkspaceID: &theirs, Measure: queue.MeasureSlots, Hard: &eight})
	set(queue.Quota{WorkspaceID: &theirs, UserID: &one, Pool: "gpu", Measure: queue.MeasureSlots, Soft: &one})
	of := set(queue.Quota{WorkspaceID: &theirs, ProjectID: &project, Measure: queue.MeasureSlots, Soft: &one, Hard: &two})
	mine := set(queue.Quota{UserID: &two, Measure: queue.MeasureSlotHours, Period: queue.PeriodDay, Hard: &two})
	if again := set(queue.Quota{WorkspaceID: &theirs, Measure: queue.MeasureSlots, Soft: &two}); again.ID != whole.ID || *again.Soft != 2 || again.Hard != nil {
		t.Errorf("a quota replaces the one before: %+v", again)
	}
	if *of.WorkspaceID != theirs || of.Workspace != "theirs" || of.Project != "p" || of.OfWorkspace() || of.Name() != "project p of workspace theirs" {
		t.Errorf("%+v", of)
	}
	for _, c := range []struct {
		in   auth.Scope
		me   int
		f    queue.QuotaFilter
		want int
	}{
		{auth.Everywhere(), 0, queue.QuotaFilter{}, 4}, {auth.Everywhere(), 0, queue.QuotaFilter{Workspace: theirs}, 3}, {auth.Everywhere(), 0, queue.QuotaFilter{Project: project}, 1},
		{auth.Everywhere(), 0, queue.QuotaFilter{User: 2}, 1}, {auth.Scope{Workspaces: []int{theirs}}, 1, queue.QuotaFilter{}, 3}, {auth.Scope{Workspaces: []int{1}}, 2, queue.QuotaFilter{}, 1}, {auth.Scope{}, 1, queue.QuotaFilter{}, 0},
	} {
		list, err := queue.Quotas(ctx, w.DB, c.in, c.me, c.f, 0, 10)
		if n, failed := queue.CountQuotas(ctx, w.DB, c.in, c.me, c.f); err != nil || failed != nil || len(list) != c.want || n != c.want {
			t.Errorf("%+v: %d of %d quotas, want %d; %v, %v", c, len(list), n, c.want, err, failed)
		}
	}
	if list, err := queue.QuotasOver(ctx, w.DB, theirs, project, 1, "gpu"); err != nil || len(list) != 3 {
		t.Errorf("of a trial of user 1: %+v, %v", list, err)
	}
	if list, err := queue.QuotasOver(ctx, w.DB, theirs, 0, 2, "other"); err != nil || len(list) != 2 {
		t.Errorf("of a task of user 2: %+v, %v", list, err)
	}
	if err := queue.DeleteQuota(ctx, w.DB, mine.ID); err != nil {
		t.Error(err)
	}
	if err := queue.DeleteQuota(ctx, w.DB, mine.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a deleted quota is deleted again: %v", err)
	}
	refused := fault.New(fault.Invalid, "over it")
	if _, err := queue.SetQuota(ctx, w.DB, queue.Quota{WorkspaceID: &theirs, UserID: &two, Measure: queue.MeasureSlots, Hard: &eight}, func(above queue.Quota) error {
		if above.ID == whole.ID {
			return refused
		}
		return nil
	}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a quota over that of its workspace: %v", err)
	}
	w.Exec(`INSERT INTO users (username) SELECT 'u' || n FROM generate_series(1, $1) n`, queue.MaxQuotasOfWorkspace)
	w.Exec(`INSERT INTO quotas (workspace_id, user_id, measure, period, hard) SELECT $1, id, 'slots', '', 1 FROM users WHERE username LIKE 'u%' LIMIT $2`, theirs, queue.MaxQuotasOfWorkspace-2)
	if _, err := queue.SetQuota(ctx, w.DB, queue.Quota{WorkspaceID: &theirs, ProjectID: &project, Pool: "gpu", Measure: queue.MeasureSlots, Hard: &one}, admitAll); !fault.Is(err, fault.TooMany) {
		t.Errorf("one quota too many of a workspace: %v", err)
	}
	w.Exec(`DELETE FROM projects WHERE id = $1`, project)
	if _, err := queue.QuotaByID(ctx, w.DB, of.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the quota of a deleted project: %v", err)
	}
}

// TestQuotasOfOneOwner: what the whole cluster has a limited number of, one user does not use up with many workspaces.
func TestQuotasOfOneOwner(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	mine := w.Int(`INSERT INTO users (username) VALUES ('mine') RETURNING id`)
	w.Exec(`INSERT INTO workspaces (name, owner_id) SELECT 'w' || n, $1 FROM generate_series(1, 10) n`, mine)
	last := w.Int(`SELECT max(id) FROM workspaces`)
	other := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('others', 1) RETURNING id`)
	eight, one := 8, 1
	w.Exec(`INSERT INTO users (username) SELECT 'u' || n FROM generate_series(1, 100) n`)
	w.Exec(`INSERT INTO quotas (workspace_id, user_id, measure, period, hard)
		SELECT w.id, u.id, 'slots', '', 1 FROM workspaces w, users u WHERE w.owner_id = $1 AND u.username LIKE 'u%' AND w.id <> $2 LIMIT $3`, mine, last, queue.MaxQuotasOfOwner)
	if _, err := queue.SetQuota(ctx, w.DB, queue.Quota{WorkspaceID: &last, UserID: &one, Measure: queue.MeasureSlots, Hard: &eight}, admitAll); !fault.Is(err, fault.TooMany) {
		t.Errorf("one quota too many of an owner: %v", err)
	}
	if _, err := queue.SetQuota(ctx, w.DB, queue.Quota{WorkspaceID: &other, UserID: &one, Measure: queue.MeasureSlots, Hard: &eight}, admitAll); err != nil {
		t.Errorf("a quota of another owner: %v", err)
	}
}

// TestMeasureQuota compares what is used with a second count of random attempts, for each kind of quota
// and each period.
func TestMeasureQuota(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	one, ten := 1, 10
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1) RETURNING id`, theirs)
	var quotas []queue.Quota
	for _, of := range []queue.Quota{{WorkspaceID: &theirs}, {WorkspaceID: &theirs, UserID: &one}, {UserID: &one}, {WorkspaceID: &theirs, ProjectID: &project}} {
		for _, period := range []string{queue.PeriodDay, queue.PeriodWeek, queue.PeriodMonth, queue.PeriodTotal} {
			for _, pool := range []string{"", "p1"} {
				of.Measure, of.Period, of.Pool, of.Hard = queue.MeasureSlotHours, period, pool, &ten
				q, err := queue.SetQuota(ctx, w.DB, of, admitAll)
				if err != nil {
					t.Fatal(err)
				}
				quotas = append(quotas, q)
			}
		}
	}
	w.Exec(`UPDATE quotas SET created_at = now() - interval '40 days', measured_at = now() - interval '1 hour'`)
	type attempt struct {
		workspace, owner, project, slots int
		pool                             string
		from                             time.Time
		to                               *time.Time
	}
	var attempts []attempt
	random := rand.New(rand.NewPCG(3, 4))
	now := time.Now().UTC()
	for range 200 {
		a := attempt{workspace: 1, owner: 1 + random.IntN(2), slots: random.IntN(4), pool: []string{"p1", "p2"}[random.IntN(2)]}
		if random.IntN(2) == 0 {
			a.workspace = theirs
			a.project = []int{0, project}[random.IntN(2)]
		}
		a.from = now.Add(-time.Duration(random.Int64N(int64(50 * 24 * time.Hour)))).Round(time.Microsecond)
		if to := a.from.Add(time.Duration(random.Int64N(int64(30 * time.Hour)))).Round(time.Microsecond); to.Before(now) {
			a.to = &to
		}
		attempts = append(attempts, a)
		w.Exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project_id, pool, slots, queued_at, started_at, ended_at)
			VALUES ($1, 'TRIAL', $2, 'x', $3, 'w', nullif($4, 0), $5, $6, $7, $7, $8)`, fmt.Sprint(len(attempts)), a.owner, a.workspace, a.project, a.pool, a.slots, a.from, a.to)
	}
	due, err := queue.DueQuotas(ctx, w.DB, time.Minute)
	if err != nil || len(due) != len(quotas) {
		t.Fatalf("%d of %d quotas are due; %v", len(due), len(quotas), err)
	}
	for _, id := range due {
		if ok, err := queue.MeasureQuota(ctx, w.DB, id); !ok || err != nil {
			t.Fatal(ok, err)
		}
		q, err := queue.QuotaByID(ctx, w.DB, id)
		if err != nil {
			t.Fatal(err)
		}
		begin, want := q.Begin(*q.MeasuredAt), 0.0
		for _, a := range attempts {
			if q.Pool != "" && a.pool != q.Pool || q.ProjectID != nil && a.project != *q.ProjectID || q.WorkspaceID != nil && a.workspace != *q.WorkspaceID || q.UserID != nil && a.owner != *q.UserID {
				continue
			}
			from, to := a.from, *q.MeasuredAt
			if a.to != nil {
				to = *a.to
			}
			if from.Before(begin) {
				from = begin
			}
			want += float64(a.slots) * max(0, to.Sub(from).Seconds())
		}
		if got, until := q.Measured(*q.MeasuredAt); math.Abs(got-want) > 0.01 || !until.Equal(*q.MeasuredAt) || !q.UsedSince.Equal(begin) {
			t.Errorf("%s, %s, pool %q: %f slot-seconds since %v, and the second count has %f since %v", q.Name(), q.Period, q.Pool, got, q.UsedSince, want, begin)
		}
	}
	if due, err := queue.DueQuotas(ctx, w.DB, time.Minute); err != nil || len(due) != 0 {
		t.Errorf("after that %v are due; %v", due, err)
	}
}
