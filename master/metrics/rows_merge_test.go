package metrics_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// reportAll stores reports by group commits, as if all of them waited at once. It returns the number of commits, and the bytes
// that the master allocated for them.
func reportAll(t *testing.T, m *metrics.Writer, list []metrics.Report) (queue []*database.Queued[*metrics.Report], commits int, allocated uint64) {
	t.Helper()
	for i := range list {
		if err := list[i].Check(); err != nil {
			t.Fatal(err)
		}
		queue = append(queue, m.Group().Together(&list[i])...)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for m.Group().FlushNext() {
		commits++
	}
	runtime.ReadMemStats(&after)
	return queue, commits, after.TotalAlloc - before.TotalAlloc
}

// A trial that has stored the largest reports and repeats their steps makes a master neither read nor decode them.
func TestRepeatsOfTheLargestReports(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	const n = 4 // of each kind
	for first, value := range map[int]string{0: `to_jsonb(repeat('x', 8388608 - 100))`, n: `(SELECT jsonb_agg(0) FROM generate_series(1, 2796000))`} {
		w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, batches, reported_at) SELECT $1, 1, 'training', s, s, avg, '[]', now()
			FROM (SELECT jsonb_build_object('x', `+value+`) AS avg OFFSET 0) a, generate_series($2::int, $2::int + $3::int - 1) s`, trial, first, n)
	}
	if least, most := w.Int(`SELECT min(octet_length(avg::text)) FROM metrics`), w.Int(`SELECT max(octet_length(avg::text)) FROM metrics`); least < report.MaxText-1000 || most > report.MaxText {
		t.Fatalf("the reports have %d to %d bytes", least, most)
	}
	m := w.writer()
	for _, c := range []struct {
		what, metrics, batches string
		words                  []string // of the error; none: it is stored
	}{
		{"nothing", `{}`, "", nil},
		{"another value", `{"x": 1}`, "", []string{`metric "x"`, "another value", " then and 1 now"}},
		{"other batches", `{}`, `[{"loss": 1}]`, []string{"batchMetrics"}},
		{"more than the row has room for", fmt.Sprintf(`{"y": %q}`, strings.Repeat("y", 1000)), "", []string{"bytes together", "8388608 are allowed"}},
		{"a further metric", `{"y": 1}`, "", nil},
		{"the same again", `{"y": 1}`, "", nil},
	} {
		list := make([]metrics.Report, 2*n)
		for i := range list {
			list[i] = metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(i), Metrics: raw(c.metrics), Batches: raw(c.batches)}
		}
		queue, commits, allocated := reportAll(t, m, list)
		t.Logf("%s: %d commits, %.1f MB allocated", c.what, commits, float64(allocated)/(1<<20))
		if allocated > 2<<20 || commits < 3 || commits > 2*n+1 {
			t.Errorf("%s: %d commits, %.1f MB allocated for reports of %d MB", c.what, commits, float64(allocated)/(1<<20), 2*n*report.MaxText>>20)
		}
		for i, q := range queue {
			switch {
			case len(c.words) == 0 && q.Err != nil || len(c.words) > 0 && !fault.Is(q.Err, fault.Invalid):
				t.Errorf("%s, step %d: %v", c.what, i, q.Err)
			case q.Err != nil:
				for _, word := range c.words {
					if !strings.Contains(q.Err.Error(), word) || len(q.Err.Error()) > 500 {
						t.Errorf("%s, step %d: %.600q does not say %q", c.what, i, q.Err, word)
					}
				}
			}
		}
	}
	if got := w.Int(`SELECT count(*) FROM metrics WHERE merged AND avg->'y' = '1' AND octet_length((avg->'x')::text) > 8000000 AND batches = '[]'`); got != 2*n {
		t.Errorf("%d rows have both metrics", got)
	}
}

// Rows that PostgreSQL stores in little room are as large as others.
func TestRepeatsOfCompressedReports(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	const n = 400
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'training', s, s, jsonb_build_object('x', repeat('x', 140000)), now()
		FROM generate_series(0, $2::int - 1) s`, trial, n)
	if most := w.Int(`SELECT max(pg_column_size(avg)) FROM metrics`); most > 2000 {
		t.Fatalf("a row has %d bytes", most)
	}
	list := make([]metrics.Report, n)
	for i := range list {
		list[i] = metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(i), Metrics: raw(`{"y": 1}`)}
	}
	if _, commits, _ := reportAll(t, w.writer(), list); commits < 3 || commits > 10 || w.Int(`SELECT count(*) FROM metrics WHERE avg->'y' = '1'`) != n {
		t.Errorf("%d commits", commits)
	}
}

// The validations of a batch need little more memory than their text.
func TestValidationsOfManyValues(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	const n = 100
	text, unfit := `{"loss": 0.5, "list": [`+strings.Repeat("0,", 30_000)+`0]}`, `{"loss": "`+strings.Repeat("x", 60_000)+`"}`
	list := make([]metrics.Report, n)
	for i := range list {
		list[i] = metrics.Report{TrialID: trial, RunID: 1, Group: report.Validation, Steps: step(i), Metrics: raw(text)}
	}
	list[n-1].Metrics = raw(unfit)
	queue, _, allocated := reportAll(t, w.writer(), list)
	for i, q := range queue {
		if q.Err != nil {
			t.Errorf("step %d: %v", i, q.Err)
		}
	}
	if allocated > n*10*uint64(len(text)) {
		t.Errorf("%.1f MB allocated for reports of %.1f MB", float64(allocated)/(1<<20), float64(n*len(text))/(1<<20))
	}
	if got := w.Text(`SELECT format('%s %s %s', count(*), count(*) FILTER (WHERE body->>'metric' = '0.5'), max(octet_length(body::text)) < 200) FROM search_events WHERE kind = 'validated'`); got != "100 99 t" {
		t.Errorf("events: %s", got)
	}
}

// One commit stores new reports and repeats, adds metrics and rejects other values; several reports of one key keep their order.
func TestRepeatsOfAllKinds(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(`{"name": "single", "metric": "loss", "time_metric": "epochs", "smaller_is_better": true}`)
	trial, other := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	m := w.writer()
	var list []metrics.Report
	var want []string // beginning of the errors; "" for none
	add := func(trial, s int, group, values, batches, err string) {
		list = append(list, metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: step(s), Metrics: raw(values), Batches: raw(batches)})
		want = append(want, err)
	}
	send := func(what string) {
		t.Helper()
		queue, _, _ := reportAll(t, m, list)
		for i, q := range queue {
			if got := fmt.Sprint(q.Err); want[i] == "" && q.Err != nil || want[i] != "" && !strings.Contains(got, want[i]) {
				t.Errorf("%s: report %d: %s, want %q", what, i, got, want[i])
			}
		}
		list, want = nil, nil
	}
	add(trial, 1, "a%d%s", `{"x": 0.1, "n": {"deep": [1.50]}, "nan": "NaN"}`, "", "")
	add(trial, 1, report.Validation, `{"acc": 1}`, "", "")
	add(trial, 2, report.Validation, `{"loss": 2}`, "", "")
	add(trial, 3, report.Validation, `{"acc": 1, "epochs": 3}`, "", "")
	add(other, 1, report.Validation, `{}`, `[]`, "")
	send("the first reports")

	add(trial, 1, "a%d%s", `{"x": 0.1000000000000000055511151231257827, "n": {"deep": [15e-1]}, "nan": "NaN"}`, "", "")
	add(trial, 1, "a%d%s", `{"x": 0.10000001}`, "", `group a%d%s, step 1: metric "x" was reported before with another value, 0.1 then and 0.10000001 now`)
	add(trial, 1, "a%d%s", `{"n": {"deep": [1.5, 2]}}`, "", `metric "n"`)
	add(trial, 1, "a%d%s", `{"nan": null}`, "", `"NaN" then and null now`)
	add(trial, 1, report.Validation, `{"loss": 0.5, "epochs": 2}`, "", "")
	add(trial, 1, report.Validation, `{"loss": 0.5, "f1": 2}`, "", "") // the event exists
	add(trial, 1, report.Validation, `{"loss": 0.6}`, "", `0.5 then and 0.6 now`)
	add(trial, 2, report.Validation, `{"loss": 2.0}`, `[{"loss": 2}]`, "")
	add(trial, 2, report.Validation, `{"loss": 2}`, `[{"loss": 2.00}]`, "")
	add(trial, 2, report.Validation, `{"loss": 2}`, `[{"loss": 3}]`, "batchMetrics")
	add(trial, 3, report.Validation, `{"loss": 0.25, "epochs": 3}`, "", "")
	add(trial, 4, report.Validation, `{"loss": 4}`, "", "")
	add(other, 1, report.Validation, `{}`, `[{"loss": 2}]`, "batchMetrics")
	add(other, 1, report.Validation, `{"loss": 7}`, `null`, "")
	add(99, 1, report.Validation, `{"loss": 7}`, "", "trial 99 not found")
	send("the second ones")

	got := w.Text(`SELECT string_agg(format('%s %s %s %s', group_name, steps, avg, batches), E'\n' ORDER BY trial_id, group_name, position) FROM metrics`)
	if want := `a%d%s 1 {"n": {"deep": [1.50]}, "x": 0.1, "nan": "NaN"} ` + `
validation 1 {"f1": 2, "acc": 1, "loss": 0.5, "epochs": 2} ` + `
validation 2 {"loss": 2} [{"loss": 2}]
validation 3 {"acc": 1, "loss": 0.25, "epochs": 3} ` + `
validation 4 {"loss": 4} ` + `
validation 1 {"loss": 7} []`; got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
	got = w.Text(`SELECT string_agg(format('%s %s', trial, body), E'\n' ORDER BY trial, (body->>'steps')::int, seq) FROM search_events WHERE experiment_id = $1`, exp)
	if want := `0 {"run": 1, "steps": 1, "metric": null}
0 {"run": 1, "time": 2, "steps": 1, "metric": 0.5}
0 {"run": 1, "steps": 2, "metric": 2}
0 {"run": 1, "time": 3, "steps": 3, "metric": null}
0 {"run": 1, "steps": 3, "metric": 0.25}
0 {"run": 1, "steps": 4, "metric": 4}
1 {"run": 1, "steps": 1, "metric": null}
1 {"run": 1, "steps": 1, "metric": 7}`; got != want {
		t.Errorf("events:\n%s\nwant:\n%s", got, want)
	}
}

// Many reports of one step at the same time are all stored.
func TestReportsOfOneStepAtOnce(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	m := w.writer()
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: report.Validation, Steps: step(1), Metrics: raw(fmt.Sprintf(`{"m%d": %[1]d}`, i%20))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	m.Wait()
	if got := w.Text(`SELECT format('%s %s', count(*), (SELECT count(*) FROM jsonb_object_keys(min(avg::text)::jsonb))) FROM metrics`); got != "1 20" {
		t.Errorf("rows and metrics: %s", got)
	}
}
