package store

import (
	"os"
	"strconv"
	"strings"
	"fmt"
	"testing"
)

func BenchmarkParts(b *testing.B) {
	for _, c := range []struct{ name, sql string }{
		{"all", ""},
		{"nofk", "ALTER TABLE metrics DROP CONSTRAINT metrics_trial_id_fkey"},
		{"noxid", "DROP INDEX metrics_by_xid"},
		{"noid", "ALTER TABLE metrics ALTER COLUMN id DROP IDENTITY; ALTER TABLE metrics ALTER COLUMN id SET DEFAULT 1"},
		{"nocheck", "ALTER TABLE metrics DROP CONSTRAINT metrics_grp_check; ALTER TABLE metrics DROP CONSTRAINT metrics_check"},
		{"nofk,noxid", "ALTER TABLE metrics DROP CONSTRAINT metrics_trial_id_fkey; DROP INDEX metrics_by_xid"},
	} {
		w := newWorld(b)
		if c.sql != "" {
			if _, err := w.db.pool.Exec(b.Context(), c.sql); err != nil {
				for _, s := range splitSQL(c.sql) {
					w.exec(s)
				}
			}
		}
		exp := w.experiment(lossSearcher)
		var ids []int
		for i := range 32 {
			ids = append(ids, w.trial(exp, i, 1))
		}
		s := 0
		one := openTest(b, w.dsn, 1)
		w.db = one
		cpu := func() float64 {
			pid := w.int("SELECT pg_backend_pid()")
			raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				b.Fatal(err)
			}
			f := strings.Fields(string(raw)[strings.LastIndex(string(raw), ")")+2:])
			u, _ := strconv.Atoi(f[11])
			k, _ := strconv.Atoi(f[12])
			return float64(u+k) * 10000
		}
		b.Run(fmt.Sprint(c.name), func(b *testing.B) {
			at, n := cpu(), 0
			defer func() { b.ReportMetric((cpu()-at)/float64(n), "us-cpu/op") }()
			for b.Loop() {
				n++
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
	}
}

func splitSQL(s string) []string {
	var out []string
	cur := ""
	for _, r := range s {
		if r == ';' {
			out = append(out, cur)
			cur = ""
			continue
		}
		cur += string(r)
	}
	return append(out, cur)
}
