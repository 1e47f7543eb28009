package summary_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// At its bounds, a summary keeps the metrics that it has.
func TestBoundsOfSummaries(t *testing.T) {
	db, err := database.Open(t.Context(), pgtest.New(t, schema.Hash(), schema.Migrate), database.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	values := func(prefix string, n int, v any) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("%s%d", prefix, i)] = v
		}
		return m
	}
	one, long := json.Number("1"), strings.Repeat("x", summary.MaxLast)
	for name, c := range map[string]struct {
		folds []map[string]any
		group func(i int) string
		full  bool
		names int
	}{
		"a large model":          {folds: []map[string]any{values("layer.weights.norm.", report.MaxNames, one)}, names: report.MaxNames},
		"ever new names":         {folds: []map[string]any{values("a", 15_000, one), values("b", 15_000, one)}, full: true, names: summary.MaxNames - 1},
		"long names":             {folds: []map[string]any{values(long[:990], 10_000, one)}, full: true},
		"too long names":         {folds: []map[string]any{values(long, 10, one)}, full: true},
		"long texts":             {folds: []map[string]any{values("a", 10_000, one), values("a", 10_000, long)}, full: true},
		"long numbers":           {folds: []map[string]any{values("a", 10_000, one), values("a", 10_000, json.Number("1e308"))}, full: true},
		"ever new groups":        {folds: make([]map[string]any, 30_000), group: func(i int) string { return fmt.Sprint("group", i) }, full: true},
		"some groups of metrics": {folds: []map[string]any{values("a", 100, one), values("a", 100, one)}, group: func(i int) string { return fmt.Sprint("group", i) }, names: 200},
	} {
		s := summary.Trial{}
		for i, values := range c.folds {
			group := report.Training
			if c.group != nil {
				group = c.group(i)
			}
			s.Fold(summary.Report{Run: 1, Group: group, Steps: &i, Values: values}, "loss", true)
		}
		names := 0
		for _, g := range s.Metrics {
			names += len(g)
		}
		if c.full != (s.Incomplete == summary.Full) || c.names > 0 && names != c.names {
			t.Errorf("%s: %d names, %q", name, names, s.Incomplete)
		}
		text, err := json.Marshal(s.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		n, err := database.Scalar[int](t.Context(), db, `SELECT octet_length($1::text::jsonb::text)`, string(text))
		if err != nil {
			t.Fatal(err)
		}
		counted, bytes := s.Counted()
		if n > summary.MaxBytes+summary.MaxBytes/4 || n < len(text)/2 {
			t.Errorf("%s: PostgreSQL writes %d bytes, estimated %d", name, n, bytes)
		}
		again := summary.Trial{Metrics: s.Metrics}
		again.Sized()
		if names, size := again.Counted(); names != counted || size != bytes {
			t.Errorf("%s: %d names and %d bytes, counted anew %d and %d", name, counted, bytes, names, size)
		}
		if s.TotalBatches != len(c.folds)-1 {
			t.Errorf("%s: %d batches", name, s.TotalBatches)
		}
	}
	if _, err := summary.Values([]byte(`[1]`)); err == nil {
		t.Error("a list is a report")
	}
}
