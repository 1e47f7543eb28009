package store

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/budget"
	"github.com/detent-ml/detent/master/fault"
)

// Pages of reports end after a megabyte, and together have every report once.
func TestPagesOfLongReports(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at)
		SELECT $1, 1, 'training', n, n, jsonb_build_object('text', repeat('x', CASE WHEN n BETWEEN 500 AND 520 THEN 400000 ELSE 10 END)), now()
		FROM generate_series(1, 2500) AS n`, trial)
	next, pages := 1, 0
	err := w.db.EachMetric(t.Context(), []int{trial}, "training", func(page []MetricRow) error {
		pages++
		bytes := 0
		for _, m := range page {
			if *m.Steps != next {
				t.Fatalf("report %d follows %d", *m.Steps, next-1)
			}
			next++
			bytes += len(m.Metrics)
		}
		if bytes > metricsPageBytes+500_000 {
			t.Errorf("a page has %d bytes", bytes)
		}
		return nil
	})
	if err != nil || next != 2501 || pages > 40 {
		t.Errorf("%d reports in %d pages: %v", next-1, pages, err)
	}
}

func TestMemorySums(t *testing.T) {
	b := budget.Budget{Bytes: 1000}
	s := &memorySums{}
	if s.admit(b, 1, 10) {
		t.Error("admitted before the database was read")
	}
	began := time.Now()
	if err := s.replace(b, map[int]int64{}, began, 1, 100); err != nil {
		t.Fatal(err)
	}
	if !s.admit(b, 1, 300) || s.admit(b, 1, 200) { // 400 of the 500 for one owner
		t.Error("an owner gets more than its share, or less")
	}
	// Another request read the database before these two were committed.
	if err := s.replace(b, map[int]int64{}, began.Add(1), 2, 100); err != nil {
		t.Fatal(err)
	}
	if s.admit(b, 1, 200) {
		t.Error("what was admitted a moment ago is forgotten")
	}
	if err := s.replace(b, map[int]int64{1: 450}, began, 1, 100); !fault.Is(err, fault.TooMany) {
		t.Errorf("over the share by what the database has: %v", err)
	}
	if !s.admit(b, 1, 50) { // sums that are older than the present ones are not kept
		t.Error("older sums replaced newer ones")
	}
}

// Long texts are not the last value of a summary: lists of trials have one for each metric.
func TestLastValues(t *testing.T) {
	for name, v := range map[string]any{"a text": strings.Repeat("x", maxLast), "a list": []any{1.0, 2.0}, "a number": 3.0, "nothing": nil} {
		m := &MetricSummary{}
		if m.add(v); !reflect.DeepEqual(m.Last, v) {
			t.Errorf("the last value is %v in place of %s", m.Last, name)
		}
	}
	long := strings.Repeat("x", maxLast+1)
	for name, v := range map[string]any{"a text": long, "a list": []any{long}, "a map": map[string]any{"a": long}} {
		m := &MetricSummary{}
		if m.add(v); m.Last != nil || m.Count != 1 || m.Type == "" {
			t.Errorf("%s of %d bytes is kept: %.80v", name, len(long), m)
		}
	}
}
