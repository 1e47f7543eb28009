package metrics_test

import (
	"testing"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// Pages of reports end after a megabyte, and together have every report once.
func TestPagesOfLongReports(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at)
		SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('x', CASE WHEN n BETWEEN 500 AND 520 THEN 400000 ELSE 10 END)), now()
		FROM generate_series(1, 2500) AS n`, trial)
	next, pages := 1, 0
	err := metrics.Each(t.Context(), w.DB, []int{trial}, "training", func(page []metrics.Row) error {
		pages++
		bytes := 0
		for _, m := range page {
			if *m.Steps != next {
				t.Fatalf("report %d follows %d", *m.Steps, next-1)
			}
			next++
			bytes += len(m.Metrics)
		}
		if bytes > metrics.PageBytes+500_000 {
			t.Errorf("a page has %d bytes", bytes)
		}
		return nil
	})
	if err != nil || next != 2501 || pages > 40 {
		t.Errorf("%d reports in %d pages: %v", next-1, pages, err)
	}
}
