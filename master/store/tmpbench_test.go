package store

import (
	"fmt"
	"testing"
)

func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{1, 8, 32} {
		w := newWorld(b)
		exp := w.experiment(lossSearcher)
		var ids []int
		for i := range n {
			ids = append(ids, w.trial(exp, i, 1))
		}
		w.exec(`CREATE TABLE bare (trial int, step int, metrics jsonb, PRIMARY KEY (trial, step))`)
		s := 0
		b.Run(fmt.Sprint("ours-", n), func(b *testing.B) {
			for b.Loop() {
				s++
				var batch []*queued[*Report]
				for _, id := range ids {
					batch = append(batch, &queued[*Report]{item: &Report{TrialID: id, RunID: 1, Group: "training", Steps: step(s), Metrics: raw(`{"loss":0.5,"accuracy":0.913,"lr":0.001,"grad_norm":1.25,"throughput":1034.5}`)}})
				}
				if _, err := w.db.insertReports(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("bare-", n), func(b *testing.B) {
			for b.Loop() {
				s++
				var trials, steps []int
				var m []string
				for _, id := range ids {
					trials, steps, m = append(trials, id), append(steps, s), append(m, `{"loss":0.5,"accuracy":0.913,"lr":0.001,"grad_norm":1.25,"throughput":1034.5}`)
				}
				if _, err := w.db.exec(b.Context(), `INSERT INTO bare SELECT t, s, m::jsonb FROM unnest($1::int[], $2::int[], $3::text[]) AS u(t, s, m)`, trials, steps, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
