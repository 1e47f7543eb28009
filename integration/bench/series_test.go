package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSeries: a curve of 100,000 points, thinned and whole, against reading
// the same rows from the database; and what the points take on disk.
func BenchmarkSeries(b *testing.B) {
	const part, points, clients = "Curves of 100,000 points", 100_000, 32
	r := start(b)
	a := r.hold(b, 1)[0]
	before := r.disk(b, "^(metrics|trial_summaries)")
	took := r.report(b, a, points, clients)
	add := func(f figure) { f.part = part; shared.figures.add(f) }
	add(figure{what: "32 clients that report for one trial", value: points / took.Seconds(), unit: "/s", determined: "491 /s (tuned 548 /s)"})
	add(figure{what: "on disk, with dead rows", value: (r.disk(b, "^(metrics|trial_summaries)") - before) / 1e6, unit: "MB", determined: "47–50 MB"})
	w := dial(b, r.MasterURL)
	read := func(path string) func() pace {
		return func() pace {
			return r.calls(b, 3, func(context.Context) error {
				_, err := w.call("GET", path, r.client.Token(), nil)
				return err
			})
		}
	}
	series := fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&maxDatapoints=1000&metricIds=training.loss", a.trial)
	found := alternately(read(series), read(series+"&metricIds=training.accuracy&metricIds=training.lr&metricIds=training.grad_norm&metricIds=training.throughput"),
		read(fmt.Sprintf("/api/v1/trials/metrics/training_metrics?trialIds=%d", a.trial)),
		func() pace {
			return r.calls(b, 3, func(context.Context) error { return r.readPoints(b, a.trial, points, "(avg->>'loss')::float8") })
		},
		func() pace {
			return r.calls(b, 3, func(context.Context) error { return r.readPoints(b, a.trial, points, "avg") })
		})
	add(figure{what: "thinned to 1,000, one metric", value: found[0].p50, unit: "ms", against: "that metric of all rows, by SQL", yardstick: found[3].p50, determined: "53 ms"})
	add(figure{what: "thinned to 1,000, five metrics", value: found[1].p50, unit: "ms", against: "all rows, by SQL", yardstick: found[4].p50, determined: "118 ms"})
	add(figure{what: "all points, five metrics", value: found[2].p50, unit: "ms", against: "all rows, by SQL", yardstick: found[4].p50, determined: "1,270 ms"})
	b.ReportMetric(found[0].p50, "ms/series")
}

// report fills a trial with points, from several clients that share it.
func (r *rig) report(b *testing.B, a attempt, points, clients int) time.Duration {
	b.Helper()
	wires := dialAll(b, r.MasterURL, clients)
	var step atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for _, w := range wires {
		wg.Go(func() {
			for n := int(step.Add(1)); n <= points && !b.Failed(); n = int(step.Add(1)) {
				if _, err := w.call("POST", fmt.Sprintf("/api/v1/trials/%d/metrics", a.trial), a.token, fiveMetrics(a.trial, n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if b.Failed() {
		b.FailNow()
	}
	r.summariesBehind(b, []attempt{a}, []int{points})
	return took
}

// disk returns the size of tables and their indexes, in bytes.
func (r *rig) disk(b *testing.B, tables string) (size float64) {
	b.Helper()
	err := r.db.QueryRow(b.Context(), "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 FROM pg_class WHERE relkind = 'r' AND relname ~ $1", tables).Scan(&size)
	if err != nil {
		b.Fatal(err)
	}
	return size
}

func (r *rig) readPoints(b *testing.B, trial, n int, what string) error {
	rows, err := r.db.Query(b.Context(), "SELECT steps, "+what+" FROM metrics WHERE trial_id = $1 ORDER BY steps", trial)
	if err != nil {
		return err
	}
	got := 0
	for rows.Next() {
		got++
		rows.RawValues()
	}
	if err := rows.Err(); err != nil || got != n {
		return fmt.Errorf("%d rows: %w", got, err)
	}
	return nil
}
