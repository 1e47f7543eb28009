package v1

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// The parser accepts only valid JSON, and rejects valid JSON only if it does not fit the type.
func FuzzParser(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,}`, `{"trialId":1,,}`, `{"metrics":{"avgMetrics":{"x":[1,2,{}]}}}`, `[`, `{"a"`, `{"a":tru}`, `{"group":"\ud800"}`,
		"{\"group\":\"a\nb\"}", `{"metrics":{"stepsCompleted":01}}`, `{"metrics":{"stepsCompleted":1e3}}`, `{"metrics":{"metrics":{"batchMetrics":[{},]}}}`,
		`{"metrics":{"metrics":{"batchMetrics":[,{}]}}}`, `{"gr\u006fup":"x"}`, `nul`, `null`, `{"x":{"y":[1,}}`, `{} {}`, "{}\x00", `"text"`, "\xff", `{"group":"` + "\xff" + `"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var r ReportTrialMetricsRequest
		err := Unmarshal([]byte(s), &r)
		trimmed := strings.TrimSpace(s) // of all space, not only JSON's
		valid := trimmed == "" || json.Valid([]byte(trimmed))
		if err == nil && !valid {
			t.Fatalf("%q was accepted, but it is not JSON", s)
		}
		if valid && err != nil && strings.Contains(err.Error(), "not JSON") {
			t.Fatalf("%q is JSON: %v", s, err)
		}
		if err == nil && len(r.Metrics.Metrics.AvgMetrics) > 0 && !json.Valid(r.Metrics.Metrics.AvgMetrics) {
			t.Fatalf("%q: an object was kept that is none: %q", s, r.Metrics.Metrics.AvgMetrics)
		}
	})
}

func TestPlacesInErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"group":1}`: `group: expected a string, found 1`,
		`{"metrics":{"metrics":{"batchMetrics":[{},5]}}}`: `metrics.metrics.batchMetrics[1]: expected an object, found 5`,
		`{"metrics":{"stepsCompleted":"many"}}`:           `metrics.stepsCompleted: expected an integer, found "many"`,
		`[]`:                                              `the body: expected an object, found []`,
		`{"metrics":[]}`:                                  `metrics: expected an object, found []`,
	} {
		var r ReportTrialMetricsRequest
		if err := Unmarshal([]byte(body), &r); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	var l TaskLogsRequest
	if err := Unmarshal([]byte(`{"logs":[{"log":"x"},{"rank_id":"one"}]}`), &l); err == nil || err.Error() != `logs[1].rankId: expected an integer, found "one"` {
		t.Error(err)
	}
}

func BenchmarkUnmarshalLogs(b *testing.B) {
	line := `{"timestamp":"2026-11-20T04:22:01.123456Z","log":"epoch 1: step 17 loss=0.123456 acc=0.9130 lr=0.001000","stdtype":"stdout","level":"LOG_LEVEL_INFO","source":"task"}`
	body := []byte(`{"shipper":"s","first":"0","lines":[` + strings.Repeat(line+",", 499) + line + `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var l LogBatch
		if err := Unmarshal(body, &l); err != nil || len(l.Lines) != 500 {
			b.Fatal(err)
		}
	}
}

// TestSparseBodies: a small body cannot need much memory, and lists of what clients really send are read.
func TestSparseBodies(t *testing.T) {
	many := func(item string, n int) []byte { return []byte("[" + strings.Repeat(item+",", n-1) + item + "]") }
	read := func(body []byte, into any) (mb uint64, err error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = Unmarshal(body, into)
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20, err
	}
	for name, x := range map[string]struct {
		body []byte
		into any
		fits bool
	}{
		"empty lines of a log":      {many("{}", 1_000_000), new([]TaskLog), false},
		"empty pointers":            {many("{}", 1_000_000), new([]*TaskLog), false},
		"empty lists of lists":      {many("[]", 1_000_000), new([][]TaskLog), false},
		"a map of empty values":     {[]byte(`{"a":` + string(many(`{"a":{},"b":{},"c":{}}`, 200_000)) + `}`), new(map[string][]map[string]TaskLog), false},
		"short lines of a log":      {many(`{"log":"a","rankId":1,"timestamp":"2026-11-20T04:22:01Z"}`, 300_000), new([]TaskLog), true},
		"ids":                       {many("1", 100_000), new([]int), true},
		"a few thousand of nothing": {many("{}", 10_000), new([]TaskLog), true},
	} {
		mb, err := read(x.body, x.into)
		if (err == nil) != x.fits || err != nil && !strings.Contains(err.Error(), "too many small ones") {
			t.Errorf("%s: %v", name, err)
		}
		if most := uint64(len(x.body)*sparseFactor+sparseBytes) >> 20; mb > 10*most { // lists grow by copies
			t.Errorf("%s: %d KB of text allocate %d MB", name, len(x.body)>>10, mb)
		}
	}
}
