package metrics_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/runs"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// What a query of names may cost.
const (
	maxMemory = 48 << 20 // of its backend, over that of a search for nothing
	maxTemp   = 4 << 20  // bytes of temporary files
)

// allocates returns how many bytes the master allocates in a call.
func allocates(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Names of many wide reports that no summary has yet cost little, and names of other reports are listed nevertheless.
func TestNamesOfWideReports(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial, other := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	insert := func(trial int, group string, first, n int, avg string) {
		t.Helper()
		w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, $2, s, s, `+avg+`, now() FROM generate_series($3::int, $3::int + $4::int - 1) s`,
			trial, group, first, n)
	}
	list := func(db *database.DB) (names []string) {
		t.Helper()
		found, err := metrics.Names(context.Background(), db, []int{exp})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			names = append(names, m.Group+"."+m.Name)
		}
		return names
	}
	insert(trial, report.Validation, 0, 3, `'{"loss": 1, "a.b": 1}'`)
	insert(trial, "avg", 0, 1, `'{"early": 1}'`)
	insert(trial, report.Training, 0, 40, fmt.Sprintf(`(SELECT jsonb_object_agg('a metric ' || s || ' of a layer ' || n, n) FROM generate_series(1, %d) n)`, report.MaxNames))
	insert(other, "avg", 1, 1, `'{"late": 1}'`)
	var names []string
	memory, temp := w.Costs(func(db *database.DB) error {
		if got := allocates(func() { names = list(db) }); got > 16<<20 {
			t.Errorf("the master allocates %.1f MB", float64(got)/(1<<20))
		}
		return nil
	}, func(db *database.DB) error {
		_, _, err := runs.Search(t.Context(), db, auth.Everywhere(), query.Search{IDs: []int{0}}, 0, 10)
		return err
	})
	t.Logf("%.1f MB of memory, %.1f MB of temporary files", float64(memory)/(1<<20), float64(temp)/(1<<20))
	if memory > maxMemory || temp > maxTemp {
		t.Errorf("the names cost %.1f MB of memory and %.1f MB of temporary files", float64(memory)/(1<<20), float64(temp)/(1<<20))
	}
	if len(names) != database.MaxFirstTexts || names[0] != "avg.early" || slices.Contains(names, "avg.late") {
		t.Errorf("%d names: %v", len(names), names[:min(len(names), 3)])
	}
	w.summarize()
	if names = list(w.DB); len(names) != database.MaxFirstTexts || names[0] != "avg.early" || names[1] != "avg.late" {
		t.Errorf("from the summaries: %d names: %v", len(names), names[:min(len(names), 3)])
	}
	w.Exec(`DELETE FROM metrics WHERE group_name = 'training'`)
	w.Exec(`UPDATE trial_summaries SET summary = summary - 'avg_metrics'`)
	insert(other, "Zeta", 0, 1, `'{"new": 1}'`)
	if got := fmt.Sprint(list(w.DB)); got != "[Zeta.new avg.early avg.late validation.a.b validation.loss]" {
		t.Errorf("names: %s", got)
	}
}

// Summaries include reports that the summarizer has not processed, but not many large ones.
func TestSummariesOfLargeReports(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'training', s, s, jsonb_build_object('x', repeat('x', 8000000)), now() FROM generate_series(1, 4) s`, trial)
	var sums map[int]summary.Trial
	got := allocates(func() {
		var err error
		if sums, err = metrics.Summaries(t.Context(), w.DB, []int{trial}); err != nil {
			t.Fatal(err)
		}
	})
	if x := sums[trial].Metrics["avg_metrics"]["x"]; got > 80<<20 || x == nil || x.Count != 1 {
		t.Errorf("%.1f MB allocated, %+v", float64(got)/(1<<20), x)
	}
	w.summarize()
	if sums, err := metrics.Summaries(t.Context(), w.DB, []int{trial}); err != nil || sums[trial].Metrics["avg_metrics"]["x"].Count != 4 {
		t.Errorf("%+v, %v", sums[trial], err)
	}
}
