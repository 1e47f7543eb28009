package metrics_test

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// BenchmarkReports stores batches of reports of 50 trials: new ones, the same again, and further names of their steps.
//
//	go test ./master/metrics -run '^$' -bench Reports -benchtime 2s
func BenchmarkReports(b *testing.B) {
	const size = 200 // reports of a batch
	for _, group := range []string{report.Training, report.Validation} {
		for _, kind := range []string{"new", "repeated", "merged"} {
			b.Run(group+"/"+kind, func(b *testing.B) {
				w := newWorld(b)
				exp := w.Experiment(rowtest.LossSearcher)
				trials := make([]int, 50)
				for i := range trials {
					trials[i] = w.Trial(exp, i, 1)
				}
				m := w.writer()
				send := func(first int, values string) {
					batch := make([]*database.Queued[*metrics.Report], size)
					for i := range batch {
						r := &metrics.Report{TrialID: trials[i%len(trials)], RunID: 1, Group: group, Steps: step(first + i), Metrics: raw(values)}
						if err := r.Check(); err != nil {
							b.Fatal(err)
						}
						batch[i] = &database.Queued[*metrics.Report]{Item: r}
					}
					m.Flush(batch)
					for _, q := range batch {
						if q.Err != nil {
							b.Fatal(q.Err)
						}
					}
				}
				const values = `{"loss": 0.693147, "accuracy": 0.913, "lr": 0.001, "grad_norm": 1.25, "throughput": 1034.5, "epoch": 3}`
				send(0, values)
				n := 0
				for b.Loop() {
					switch n++; kind {
					case "new":
						send(n*size, values)
					case "repeated":
						send(0, values)
					case "merged":
						send(0, fmt.Sprintf(`{"a%d": 0.25, "b%[1]d": 1e-3}`, n))
					}
				}
				b.ReportMetric(float64(size*b.N)/b.Elapsed().Seconds(), "reports/s")
			})
		}
	}
}
