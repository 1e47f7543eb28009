package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/metrics"
)

// The master rejects numbers that a float64 cannot represent, and calls still work if an earlier master
// has stored one.
func TestNumbersThatNoFloatHolds(t *testing.T) {
	r := newRig(t)
	a, other := r.running(yaml(), 1), r.running(yaml(), 1)
	me := r.user("determined")
	a.stored()
	report := func(who *attempt, group string, step int, loss string) answer {
		return who.ranks[0].post(who.trialPath("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":%s}}}}`, group, step, loss))
	}
	steps := 100
	for _, group := range []string{"training", "validation"} {
		for _, bad := range []string{"1e400", "-1e400", "[1, {\"x\": 1e309}]"} {
			report(a, group, 100, bad).says(400, "range")
		}
		for _, good := range []string{"1e-400", "123456789012345678901234567890", `"1e400"`, `"Infinity"`, "1e308"} {
			report(a, group, steps, good).ok()
			steps++
		}
		report(other, group, 1, "0.5").ok()
	}
	for _, stored := range []string{"1e400", "-1e400", "1e-400"} {
		if err := r.db.Exec(t.Context(), `UPDATE metrics SET avg = jsonb_build_object('loss', $1::numeric), merged = true, xid = pg_current_xact_id() WHERE trial_id = $2`, stored, a.trial); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := metrics.Summarize(t.Context(), r.db); err != nil {
				t.Fatalf("%s: the summaries: %v", stored, err)
			}
		}
		for _, path := range []string{"/api/v1/experiments", fmt.Sprintf("/api/v1/trials/%d", other.trial), fmt.Sprintf("/api/v1/trials/%d", a.trial), fmt.Sprintf("/api/v1/experiments/%d/trials", a.exp),
			fmt.Sprintf("/api/v1/experiments/%d/trials?sortBy=SORT_BY_LATEST_VALIDATION_METRIC", a.exp), fmt.Sprintf("/api/v1/trials/%d/workloads", a.trial),
			fmt.Sprintf("/api/v1/trials/%d/workloads?sortKey=loss", a.trial), fmt.Sprintf("/api/v1/experiments/%d/validation-history", a.exp),
			fmt.Sprintf("/api/v1/experiments/%d/checkpoints?sortByAttr=SORT_BY_SEARCHER_METRIC", a.exp), fmt.Sprintf("/experiments/%d/preview_gc", a.exp),
			fmt.Sprintf("/api/v1/experiments/%d/searcher/best_searcher_validation_metric", a.exp)} {
			if got := me.get(path); got.code != 200 {
				t.Errorf("%s stored: %s: %d %.160s", stored, path, got.code, got.body)
			}
		}
		for _, sort := range []string{"validation.loss=asc", "training.loss.last=asc"} {
			me.post("/api/v1/experiments-search", fmt.Sprintf(`{"limit":10,"sort":%q}`, sort)).ok()
		}
		if _, err := checkpoints.FilesOfExperiment(t.Context(), r.db, a.exp); err != nil { // called when its files are removed
			t.Errorf("%s stored: %v", stored, err)
		}
	}
}
