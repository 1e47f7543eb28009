package metrics_test

import (
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestSampledMetrics: of many reports a sample is read that covers the whole time, also where a node's clock is
// wrong or where nothing was measured for some time; and nothing that comes after it is lost.
func TestSampledMetrics(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	insert := func(from time.Time, reports int, every time.Duration) {
		t.Helper()
		w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, position, reported_at, avg)
			SELECT $1, 1, 'cpu', (extract(epoch FROM x.at) * 1e6)::bigint, x.at, '{"n": {"cpu_util_simple": 1}}'
			FROM (SELECT $2::timestamptz + n * $3::interval AS at FROM generate_series(1, $4::int) n) x`, trial, from, every, reports)
	}
	read := func() (list []metrics.Row, newest metrics.GroupPosition) {
		t.Helper()
		newest, err := metrics.EachSampled(t.Context(), w.DB, trial, "cpu", func(page []metrics.Row) error {
			if len(page) > metrics.MaxPage {
				t.Errorf("a page has %d reports", len(page))
			}
			list = append(list, page...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list, newest
	}
	if list, newest := read(); len(list) != 0 || newest != metrics.BeforeFirst() {
		t.Errorf("nothing was reported: %d reports, %v", len(list), newest)
	}
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	insert(begin, 1000, time.Second)
	if list, _ := read(); len(list) != 1000 {
		t.Errorf("all of 1,000 reports: %d", len(list))
	}
	second := begin.Add(100 * time.Hour) // after a gap
	insert(second, 100_000, time.Second)
	insert(time.Unix(1, 0), 1, time.Second) // clocks that are wrong
	insert(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), 1, time.Second)
	list, newest := read()
	most := metrics.SampleWindows * metrics.WindowReports
	if len(list) > most || len(list) < most/2 {
		t.Errorf("a sample has %d reports, of at most %d", len(list), most)
	}
	for i, m := range list[1:] {
		before := list[i]
		if !m.ReportedAt.After(before.ReportedAt) {
			t.Fatalf("report %s follows %s", m.ReportedAt, before.ReportedAt)
		}
		if gap := m.ReportedAt.Sub(before.ReportedAt); before.ReportedAt.After(second) && m.ReportedAt.Before(time.Now()) && gap > 10*time.Minute {
			t.Errorf("nothing between %s and %s", before.ReportedAt, m.ReportedAt)
		}
	}
	for _, at := range []time.Time{begin.Add(time.Second), second.Add(100_000 * time.Second)} {
		if !slices.ContainsFunc(list, func(m metrics.Row) bool { d := m.ReportedAt.Sub(at).Abs(); return d < 10*time.Minute }) {
			t.Errorf("no report near %s", at)
		}
	}
	insert(time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC), 2, time.Second)
	after := 0
	if _, err := metrics.EachAfter(t.Context(), w.DB, trial, "cpu", newest, func(page []metrics.Row) error { after += len(page); return nil }); err != nil || after != 2 {
		t.Errorf("after the sample: %d reports, %v", after, err)
	}
}

// A sample of long reports is read a few at a time.
func TestSampledMetricsInSmallPages(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	const reports, long, bytes = metrics.SampleWindows*metrics.WindowReports + 2000, 300, 200_000
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, position, reported_at, avg)
		SELECT $1, 1, 'gpu', 1e15 + 1e6 * n, now(), CASE WHEN n <= $3 THEN jsonb_build_object('text', repeat('x', $4)) ELSE '{}' END FROM generate_series(1, $2::int) n`, trial, reports, long, bytes)
	got, pages, last := 0, 0, int64(0)
	newest, err := metrics.EachSampled(t.Context(), w.DB, trial, "gpu", func(page []metrics.Row) error {
		size := 0
		for _, m := range page {
			if size += len(m.Metrics); m.Position <= last {
				t.Errorf("%d follows %d", m.Position, last)
			}
			last = m.Position
		}
		if size > 3*metrics.PageBytes {
			t.Errorf("a page has %.1f MB", float64(size)/(1<<20))
		}
		got, pages = got+len(page), pages+1
		return nil
	})
	if most := metrics.SampleWindows * metrics.WindowReports; err != nil || got > most || got < most/2 || newest.Position() != 1e15+1e6*reports {
		t.Errorf("%d reports in %d pages, up to %v, %v", got, pages, newest, err)
	}
}
