package v1

import (
	"encoding/json"
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
