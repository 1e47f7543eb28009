package queue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestUsageSums compares the sums with a second count, over attempts of some days.
func TestUsageSums(t *testing.T) {
	w := rowtest.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	day := 24 * time.Hour
	begin := time.Now().UTC().Truncate(day).Add(-5 * day)
	want := map[string]float64{} // by day, kind and key
	since, until := begin.Add(day), begin.Add(4*day)
	for i := range 300 {
		from := begin.Add(time.Duration(random.Int64N(int64(5 * day))).Round(time.Microsecond))
		to := from.Add(time.Duration(random.Int64N(int64(40 * time.Hour))).Round(time.Microsecond))
		var ended *time.Time
		if to.Before(time.Now()) {
			ended = &to
		}
		model := fmt.Sprintf("m%d", random.IntN(3))
		slots, user, pool, label := random.IntN(5), fmt.Sprintf("u%d", random.IntN(3)), fmt.Sprintf("p%d", random.IntN(2)), fmt.Sprintf("l%d", random.IntN(2))
		w.Exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project, experiment_id, labels, pool, slots, models, queued_at, started_at, ended_at)
			VALUES ($1, 'TRIAL', 1, $2, 1, 'w', 'p', 1, ARRAY[$3, 'all'], $4, $5, $8, $6, $6, $7)`, fmt.Sprint(i), user, label, pool, slots, from, ended, modelsOf(slots, model))
		for d := since; d.Before(until); d = d.Add(day) {
			a, b := from, to
			if a.Before(d) {
				a = d
			}
			if b.After(d.Add(day)) {
				b = d.Add(day)
			}
			if slots == 0 || !b.After(a) {
				continue
			}
			held := float64(slots) * b.Sub(a).Seconds()
			for _, key := range []string{"total total", "username " + user, "resource_pool " + pool, "experiment_label " + label, "experiment_label all", "workspace w", "project w/p", "task_type TRIAL"} {
				want[d.Format(time.DateOnly)+" "+key] += held
				want[d.Format("2006-01-01")[:7]+"-01 month "+key] += held
			}
			for m, n := range modelsOf(slots, model) {
				part := held / float64(slots) * float64(n)
				want[d.Format(time.DateOnly)+" gpu_model "+m] += part
				want[d.Format("2006-01-01")[:7]+"-01 month gpu_model "+m] += part
			}
		}
	}
	for _, monthly := range []bool{false, true} {
		list, err := queue.UsageSums(t.Context(), w.DB, auth.Everywhere(), since, until, monthly)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, s := range list {
			key := s.Period.UTC().Format(time.DateOnly) + " " + s.Kind + " " + s.Key
			if monthly {
				key = s.Period.UTC().Format(time.DateOnly) + " month " + s.Kind + " " + s.Key
			}
			if math.Abs(s.Seconds-want[key]) > 0.001 {
				t.Errorf("%s: %f slot-seconds, and the second count has %f", key, s.Seconds, want[key])
			}
			found++
		}
		expected := 0
		for key := range want {
			if (len(key) > 16 && key[11:16] == "month") == monthly {
				expected++
			}
		}
		if found != expected {
			t.Errorf("monthly %v: %d sums, and the second count has %d", monthly, found, expected)
		}
	}
	list, err := queue.Usages(t.Context(), w.DB, auth.Everywhere(), since, until, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sum, all := 0.0, 0.0
	for _, u := range list {
		sum += float64(u.Slots) * u.Seconds
	}
	for d := since; d.Before(until); d = d.Add(day) {
		all += want[d.Format(time.DateOnly)+" total total"]
	}
	if math.Abs(sum-all) > 0.01 {
		t.Errorf("the attempts have %f slot-seconds, and the days %f", sum, all)
	}
}

// modelsOf gives m0 no model, as cores have none, and of m2 one slot of another model.
func modelsOf(slots int, model string) map[string]int {
	switch {
	case slots == 0 || model == "m0":
		return map[string]int{}
	case model == "m2" && slots > 1:
		return map[string]int{"m1": 1, "m2": slots - 1}
	}
	return map[string]int{model: slots}
}

// What has not ended counts to now, and not into the future.
func TestUsageToNow(t *testing.T) {
	w := rowtest.New(t)
	w.Exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, pool, slots, queued_at, started_at)
		VALUES ('a', 'COMMAND', 1, 'u', 1, 'w', 'p', 2, now(), now() - interval '10 s')`)
	now := time.Now()
	list, err := queue.Usages(t.Context(), w.DB, auth.Everywhere(), now.Add(-time.Hour), now.Add(time.Hour), 10)
	if err != nil || len(list) != 1 || list[0].Seconds < 10 || list[0].Seconds > 300 || list[0].EndedAt != nil {
		t.Errorf("%+v, %v", list, err)
	}
	total := 0.0
	sums, err := queue.UsageSums(t.Context(), w.DB, auth.Everywhere(), now.Add(-time.Hour), now.Add(48*time.Hour), false)
	for _, s := range sums {
		if s.Kind == queue.UsageTotal {
			total += s.Seconds
		}
	}
	if err != nil || total < 20 || total > 600 {
		t.Errorf("%f slot-seconds: %+v, %v", total, sums, err)
	}
}
