package store

import "testing"

// Long reports, for which a page waits somewhere, fill no master's memory: each query of the feed ends after a megabyte, and together
// they have every report once.
func TestFeedOfLongReports(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	const reports = 20
	w.exec(`INSERT INTO metrics (trial_id, run_id, grp, steps, ord, avg, reported_at) SELECT $1, 1, 'training', s, s, avg, now()
		FROM (SELECT jsonb_build_object('text', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 20000) n)) AS avg OFFSET 0) a, generate_series(1, $2::int) s`, trial, reports)
	seen, at := 0, cursor{}
	for more, queries := true, 0; more; queries++ {
		list, next, further, err := w.db.metricsFrom(LimitReads(t.Context(), feedBytes+(1<<20)), at)
		if err != nil || queries > 2*reports {
			t.Fatalf("after %d reports and %d queries: %v", seen, queries, err)
		}
		for _, r := range list {
			if seen++; *r.Steps != seen || len(r.Metrics) < 600_000 {
				t.Fatalf("step %d with %d bytes after %d reports", *r.Steps, len(r.Metrics), seen-1)
			}
		}
		more, at = further, next
	}
	if seen != reports {
		t.Errorf("%d reports, want %d", seen, reports)
	}
	missed, from := 0, Position{}
	for range 2 * reports {
		list, err := w.db.MetricsBetween(LimitReads(t.Context(), feedBytes+(1<<20)), []int{trial}, from, Position(at))
		if err != nil {
			t.Fatal(err)
		}
		if missed += len(list); len(list) == 0 {
			break
		}
		from = Position{list[len(list)-1].XID, list[len(list)-1].ID}
	}
	if missed != reports {
		t.Errorf("a reader that missed %d reports gets %d", reports, missed)
	}
}
