package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/sleep"
)

func TestReportKeys(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 2)
	m := w.writer()
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)
	for _, c := range []struct {
		name   string
		report metrics.Report
		code   fault.Code
		words  []string // of the error; none: success
	}{
		{"first", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{"loss": 1.50, "s": "x"}`)}, 0, nil},
		{"the same again, written otherwise", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{"s":"x","loss":15e-1}`)}, 0, nil},
		{"a new name", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{"acc": 0.5}`)}, 0, nil},
		{"a new name with an old one", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{"acc": 0.5, "f1": 1}`)}, 0, nil},
		{"another value", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{"f1": 1, "acc": 0.6}`)}, fault.Invalid, []string{"acc", "0.5", "0.6", "step 1"}},
		{"batches added", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{}`), Batches: raw(`[{"loss": 1}]`)}, 0, nil},
		{"batches again", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{}`), Batches: raw(`[{"loss": 1.0}]`)}, 0, nil},
		{"other batches", metrics.Report{Steps: step(1), Group: "training", Metrics: raw(`{}`), Batches: raw(`[{"loss": 2}]`)}, fault.Invalid, []string{"batchMetrics"}},
		{"another group", metrics.Report{Steps: step(1), Group: "validation", Metrics: raw(`{"loss": 9}`)}, 0, nil},
		{"another step", metrics.Report{Steps: step(2), Group: "training", Metrics: raw(`{"loss": 9}`)}, 0, nil},
		{"an older run", metrics.Report{RunID: 1, Steps: step(3), Group: "training", Metrics: raw(`{"loss": 9}`)}, fault.Conflict, []string{"run 1", "run 2"}},
		{"a run to come", metrics.Report{RunID: 3, Steps: step(3), Group: "training", Metrics: raw(`{"loss": 9}`)}, fault.Invalid, []string{"no run 3"}},
		{"no such trial", metrics.Report{TrialID: 99, Steps: step(3), Group: "training", Metrics: raw(`{}`)}, fault.NotFound, []string{"trial 99"}},
		{"by time", metrics.Report{At: at, Group: "gpu", Metrics: raw(`{"util": 1}`)}, 0, nil},
		{"by the same time", metrics.Report{At: at, Group: "gpu", Metrics: raw(`{"util": 1}`)}, 0, nil},
		{"by the same time, other value", metrics.Report{At: at, Group: "gpu", Metrics: raw(`{"util": 2}`)}, fault.Invalid, []string{"util"}},
		{"by another time", metrics.Report{At: at.Add(time.Second), Group: "gpu", Metrics: raw(`{"util": 2}`)}, 0, nil},
		{"NaN again", metrics.Report{Steps: step(4), Group: "training", Metrics: raw(`{"loss": "NaN"}`)}, 0, nil},
		{"no group", metrics.Report{Steps: step(1), Metrics: raw(`{}`)}, fault.Invalid, []string{"group"}},
		{"a dot in the group", metrics.Report{Steps: step(1), Group: "a.b", Metrics: raw(`{}`)}, fault.Invalid, []string{"dot"}},
		{"a NUL", metrics.Report{Steps: step(5), Group: "training", Metrics: raw(`{"a": "\u0000"}`)}, fault.Invalid, []string{"NUL"}},
		{"a number beyond PostgreSQL", metrics.Report{Steps: step(5), Group: "training", Metrics: raw(`{"a": 1e999999}`)}, fault.Invalid, []string{"stored"}},
		{"half a character", metrics.Report{Steps: step(5), Group: "training", Metrics: raw(`{"a": "\ud800"}`)}, fault.Invalid, []string{"half a character", `\ud800`}},
		{"a number beyond doubles", metrics.Report{Steps: step(5), Group: "training", Metrics: raw(`{"a": 1e140000}`)}, fault.Invalid, []string{"1e140000", "stored"}},
		{"batches beyond doubles", metrics.Report{Steps: step(5), Group: "training", Metrics: raw(`{}`), Batches: raw(`[{"a": 1e400}]`)}, fault.Invalid, []string{"batchMetrics", "1e400"}},
		{"a run beyond the column", metrics.Report{RunID: 1<<32 + 2, Steps: step(5), Group: "training", Metrics: raw(`{}`)}, fault.Invalid, []string{"trialRunId"}},
		{"negative steps", metrics.Report{Steps: step(-1), Group: "training", Metrics: raw(`{}`)}, fault.Invalid, []string{"negative"}},
	} {
		r := c.report
		if r.TrialID == 0 {
			r.TrialID = trial
		}
		if r.RunID == 0 {
			r.RunID = 2
		}
		err := m.Report(t.Context(), r)
		if len(c.words) == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want code %v", c.name, err, c.code)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", c.name, err, word)
			}
		}
	}
	got := w.Text(`SELECT string_agg(format('%s %s %s %s', group_name, steps, avg, batches), ' | ' ORDER BY group_name, position) FROM metrics`)
	want := `gpu  {"util": 1}  | gpu  {"util": 2}  | ` +
		`training 1 {"s": "x", "f1": 1, "acc": 0.5, "loss": 1.50} [{"loss": 1}] | training 2 {"loss": 9}  | training 4 {"loss": "NaN"}  | ` +
		`validation 1 {"loss": 9} `
	if got != want {
		t.Errorf("rows:\n%s\nwant:\n%s", got, want)
	}
}

// A report that the database rejects fails alone: reports of other trials in its batch are
// stored, and those of its own trial in the next batches.
func TestBadReportFailsAlone(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trials := []int{w.Trial(exp, 0, 1), w.Trial(exp, 1, 1), w.Trial(exp, 2, 1)}
	m := w.writer()
	var batch []*database.Queued[*metrics.Report]
	for i := range 51 {
		r := &metrics.Report{TrialID: trials[i%3], RunID: 1, Group: "training", Steps: step(i), Metrics: raw(fmt.Sprintf(`{"loss": %d}`, i))}
		switch i {
		case 7: // of the second trial; the check would refuse it
			r.Metrics = raw(`{"loss": 1e999999}`)
		case 8:
			r.RunID = 0
		case 9:
			r.TrialID = 12345
		}
		batch = append(batch, m.Group().Together(r)...)
	}
	m.Group().FlushNext()
	if n := w.Int(`SELECT count(*) FROM metrics WHERE trial_id <> $1`, trials[1]); n != 32 {
		t.Errorf("%d rows of the other trials after the first flush, want 32", n)
	}
	flushes := 1
	for flushes < 10 && m.Group().FlushNext() {
		flushes++
	}
	for i, q := range batch {
		if bad := i >= 7 && i <= 9; bad != (q.Err != nil) {
			t.Errorf("report %d: %v", i, q.Err)
		}
	}
	if n := w.Int(`SELECT count(*) FROM metrics`); n != 48 || flushes != 2 {
		t.Errorf("%d rows after %d flushes, want 48 after 2", n, flushes)
	}
}

// Many goroutines send each report twice, through two masters: every report must be stored
// once, and the search must have one event for each validation, without gaps.
func TestConcurrentReports(t *testing.T) {
	w := newWorld(t)
	const trials, steps = 8, 40
	exps := []int{w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)}
	masters := []*metrics.Writer{w.writer(), writerOf(w.Open(4), w.Bus)}
	var wg sync.WaitGroup
	errs := make(chan error, trials*steps*4)
	for i := range trials {
		trial := w.Trial(exps[i%2], i/2, 1)
		for twice := range 2 {
			wg.Go(func() {
				for s := range steps {
					for _, group := range []string{"training", "validation"} {
						errs <- masters[twice].Report(context.Background(), metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: step(s),
							Metrics: raw(fmt.Sprintf(`{"loss": %d.5}`, s))})
					}
				}
			})
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Int(`SELECT count(*) FROM metrics`); n != trials*steps*2 {
		t.Errorf("%d rows, want %d", n, trials*steps*2)
	}
	for _, exp := range exps {
		n := w.Int(`SELECT count(*) FROM search_events WHERE experiment_id = $1`, exp)
		if last := w.Int(`SELECT max(seq) FROM search_events WHERE experiment_id = $1`, exp); n != trials/2*steps || last != n {
			t.Errorf("experiment %d: %d events, last %d, want %d", exp, n, last, trials/2*steps)
		}
		if twice := w.Int(`SELECT count(*) FROM (SELECT trial, body->'steps' FROM search_events WHERE experiment_id = $1
			GROUP BY 1, 2 HAVING count(*) > 1) d`, exp); twice != 0 {
			t.Errorf("experiment %d: %d validations have two events", exp, twice)
		}
	}
}

func TestValidationEvents(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(`{"name": "single", "metric": "loss", "time_metric": "epochs", "smaller_is_better": true}`)
	trial := w.Trial(exp, 3, 1)
	m := w.writer()
	wake, cancel := w.Bus.Subscribe(lifecycle.TopicEvents)
	defer cancel()
	report := func(group string, s int, values string) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: step(s), Metrics: raw(values)}); err != nil {
			t.Fatal(err)
		}
	}
	report("training", 1, `{"loss": 1}`)
	m.Wait()
	select {
	case <-wake:
		t.Error("a training report woke the search")
	default:
	}
	report("validation", 1, `{"loss": 0.5, "epochs": 2}`)
	m.Wait()
	select {
	case <-wake:
	default:
		t.Error("a validation did not wake the search")
	}
	report("validation", 1, `{"loss": 0.5, "epochs": 2}`) // again: no event
	report("validation", 2, `{"acc": 1}`)                 // the searcher's metric is missing
	report("validation", 2, `{"acc": 1, "f1": 2}`)        // more names, still missing
	report("validation", 2, `{"loss": 0.25}`)             // here it comes
	report("validation", 3, `{"loss": "NaN"}`)
	got := w.Text(`SELECT string_agg(format('%s %s %s %s', seq, kind, trial, body), E'\n' ORDER BY seq) FROM search_events WHERE experiment_id = $1`, exp)
	want := `1 validated 3 {"run": 1, "time": 2, "steps": 1, "metric": 0.5}
2 validated 3 {"run": 1, "steps": 2, "metric": null}
3 validated 3 {"run": 1, "steps": 2, "metric": 0.25}
4 validated 3 {"run": 1, "steps": 3, "unfit": "NaN", "metric": null}`
	if got != want {
		t.Errorf("events:\n%s\nwant:\n%s", got, want)
	}

	// Of a search with several metrics, events have those that a report has, also if they are no finite numbers.
	exp2 := w.Experiment(`{"name": "random", "metric": "loss", "smaller_is_better": true, "metrics": [{"name": "loss"}, {"name": "ms", "at_most": 20}]}`)
	trial = w.Trial(exp2, 0, 1)
	report("validation", 1, `{"loss": 0.5, "ms": 12, "acc": 1}`)
	report("validation", 2, `{"loss": "NaN", "ms": "-Infinity"}`)
	report("validation", 3, `{"loss": 0.25}`)
	report("validation", 4, `{"acc": 1}`)
	m.Wait()
	got = w.Text(`SELECT string_agg(body::text, E'\n' ORDER BY seq) FROM search_events WHERE experiment_id = $1`, exp2)
	if want := `{"run": 1, "steps": 1, "metric": 0.5, "values": {"ms": 12, "loss": 0.5}}
{"run": 1, "steps": 2, "unfit": "NaN", "metric": null, "values": {"ms": "-Infinity", "loss": "NaN"}}
{"run": 1, "steps": 3, "metric": 0.25, "values": {"loss": 0.25}}
{"run": 1, "steps": 4, "metric": null, "values": {}}`; got != want {
		t.Errorf("events of several metrics:\n%s\nwant:\n%s", got, want)
	}
	best, err := experiments.BestValidation(t.Context(), w.DB, exp)
	if err != nil || best != 0.25 {
		t.Errorf("best: %v %v", best, err)
	}
	if _, err := experiments.BestValidation(t.Context(), w.DB, w.Experiment(rowtest.LossSearcher)); !fault.Is(err, fault.NotFound) {
		t.Errorf("no validation: %v", err)
	}
}

// TestFactsAtTheirBound tests that a batch has the facts of all its trials even if the cache
// reaches its limit with this batch.
func TestFactsAtTheirBound(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	m := w.writer()
	m.RememberFacts(1)
	var batch []*database.Queued[*metrics.Report]
	for i := range 3 {
		batch = append(batch, &database.Queued[*metrics.Report]{Item: &metrics.Report{TrialID: w.Trial(exp, i, 1), RunID: 1, Group: report.Validation}})
		known, err := m.TrialFacts(t.Context(), batch)
		if err != nil || len(known) != len(batch) {
			t.Fatalf("the facts of %d trials, want %d: %v", len(known), len(batch), err)
		}
	}
}

// TestReportWithoutDatabase tests that a report fails as Unavailable, without hanging, if the
// database does not answer.
func TestReportWithoutDatabase(t *testing.T) {
	db, err := database.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=2", database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := writerOf(db, database.NewBus("", nil))
	err = m.Report(t.Context(), metrics.Report{TrialID: 1, RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{}`)})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
}

// The summarizer must not skip a row, however late its transaction commits.
func TestSummaryMissesNoLateCommit(t *testing.T) {
	w := newWorld(t)
	const trials, reports = 6, 60
	exp := w.Experiment(rowtest.LossSearcher)
	ids := make([]int, trials)
	for i := range ids {
		ids[i] = w.Trial(exp, i, 1)
	}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for range 2 { // two masters summarize
		work.Go(func() {
			for ctx.Err() == nil {
				if _, err := metrics.Summarize(ctx, w.DB); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				_ = sleep.For(ctx, time.Millisecond)
			}
		})
	}
	// Writers with overlapping transactions that end in any order: each inserts a row, lets
	// others begin and end, and commits.
	var writers sync.WaitGroup
	baton := make(chan struct{}, 3)
	for i, trial := range ids {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for s := range reports {
				err := w.DB.Tx(context.Background(), func(tx *database.DB) error {
					_, err := metrics.InsertReports(context.Background(), tx, []*database.Queued[*metrics.Report]{{Item: &metrics.Report{TrialID: trial, RunID: 1,
						Group: "training", Steps: step(s), Metrics: raw(`{"loss": 1}`)}}})
					if rng.IntN(3) == 0 {
						select {
						case baton <- struct{}{}:
						case <-baton:
						}
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			select { // do not block without a partner
			case <-baton:
			default:
			}
		})
	}
	writers.Wait()
	stop()
	work.Wait()
	w.summarize()
	sums, err := metrics.Summaries(t.Context(), w.DB, ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		s := sums[id].Metrics["avg_metrics"]["loss"]
		if s == nil || s.Count != reports || s.Sum != reports || sums[id].TotalBatches != reports-1 {
			t.Errorf("trial %d: %+v, %d batches; want %d reports", id, s, sums[id].TotalBatches, reports)
		}
	}
}

func TestSummaries(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 1)
	m := w.writer()
	report := func(run int, group string, s int, values string) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: run, Group: group, Steps: step(s), Metrics: raw(values)}); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() string {
		t.Helper()
		w.summarize()
		return w.Text(`SELECT format('%s | %s | %s/%s %s/%s %s', summary, total_batches, latest_run, latest_steps, best_run, best_steps, searcher_value)
			FROM trial_summaries WHERE trial_id = $1`, trial)
	}
	check := func(what, want string) {
		t.Helper()
		if got := stored(); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
		}
	}
	report(1, "training", 1, `{"loss": 2, "name": "a", "odd": 1}`)
	report(1, "training", 2, `{"loss": 1, "name": "b", "odd": "x"}`)
	report(1, "training", 3, `{"loss": "NaN"}`)
	report(1, "validation", 2, `{"loss": 0.5}`)
	report(1, "validation", 3, `{"loss": 0.75}`)
	before := `{"avg_metrics": {"odd": {"last": "x", "type": "string", "count": 2, "batches": 2}, "loss": {"max": 2, "min": 1, "sum": "NaN", "last": "NaN", "mean": "NaN", "type": "number", "count": 3}, "name": {"last": "b", "type": "string", "count": 2, "batches": 2}}, "validation_metrics": {"loss": {"max": 0.75, "min": 0.5, "sum": 1.25, "last": 0.75, "mean": 0.625, "type": "number", "count": 2}}} | 3 | 1/3 1/2 0.5`
	check("reports", before)
	report(1, "training", 3, `{"loss": "NaN"}`) // a repetition changes nothing
	check("a repetition", before)
	report(1, "validation", 3, `{"acc": 1}`) // a merge counts old names once
	check("a merge", strings.Replace(before, `"validation_metrics": {`, `"validation_metrics": {"acc": {"max": 1, "min": 1, "sum": 1, "last": 1, "mean": 1, "type": "number", "count": 1}, `, 1))

	// A new run restarts from step 2: later reports of the old run no longer count.
	w.Attempt(trial, 2, 1)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) VALUES (gen_random_uuid(), $1, $2, 1, 2, 'COMPLETED')`, w.TaskOf(trial), trial)
	if _, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(w.TaskOf(trial)+".2", 0, "n")); err != nil {
		t.Fatal(err)
	}
	check("a rollback", `{"avg_metrics": {"odd": {"last": "x", "type": "string", "count": 2, "batches": 2}, "loss": {"max": 2, "min": 1, "sum": 3, "last": 1, "mean": 1.5, "type": "number", "count": 2}, "name": {"last": "b", "type": "string", "count": 2, "batches": 2}}, "validation_metrics": {"loss": {"max": 0.5, "min": 0.5, "sum": 0.5, "last": 0.5, "mean": 0.5, "type": "number", "count": 1}}} | 2 | 1/2 1/2 0.5`)
	report(2, "validation", 3, `{"loss": 0.25}`)
	check("the next run", `{"avg_metrics": {"odd": {"last": "x", "type": "string", "count": 2, "batches": 2}, "loss": {"max": 2, "min": 1, "sum": 3, "last": 1, "mean": 1.5, "type": "number", "count": 2}, "name": {"last": "b", "type": "string", "count": 2, "batches": 2}}, "validation_metrics": {"loss": {"max": 0.5, "min": 0.25, "sum": 0.75, "last": 0.25, "mean": 0.375, "type": "number", "count": 2}}} | 3 | 2/3 2/3 0.25`)
	at, err := metrics.ValidationsAt(t.Context(), w.DB, map[int]summary.Validation{trial: {Run: 2, Steps: 3}}, 1000)
	if err != nil || string(at[trial].Metrics) != `{"loss": 0.25}` {
		t.Errorf("the best validation: %s %v", at[trial].Metrics, err)
	}
}

// Rows of a server with higher transaction ids are neither lost nor counted twice, also if a
// transaction that is older than the first new row ends after the summaries were rebuilt.
func TestSummariesAfterRestore(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	m := w.writer()
	report := func(s int) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(s), Metrics: raw(`{"loss": 1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for s := range 3 {
		report(s)
	}
	w.summarize()
	w.Exec(`UPDATE metrics SET xid = '4000000000000'`)
	w.Exec(`UPDATE metrics_cursor SET xid = '4000000000001'`)
	older, err := pgx.Connect(t.Context(), w.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close(context.Background())
	for _, sql := range []string{`BEGIN`, `SELECT pg_current_xact_id()`} {
		if _, err := older.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	report(9)
	if _, err := metrics.Summarize(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	if ahead := w.Int(`SELECT count(*) FROM metrics_cursor WHERE xid > pg_snapshot_xmax(pg_current_snapshot())`); ahead != 0 {
		t.Error("the cursor still stands where the other server was")
	}
	if _, err := older.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	w.summarize()
	sums, err := metrics.Summaries(t.Context(), w.DB, []int{trial})
	if err != nil || sums[trial].Metrics["avg_metrics"]["loss"].Count != 4 {
		t.Errorf("%+v %v", sums[trial].Metrics["avg_metrics"]["loss"], err)
	}
}

// Summaries includes all reports, also while an older transaction delays the summarizer,
// and counts no report twice afterwards.
func TestReadersSeeWhatWasReported(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial, other := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	m := w.writer()
	report := func(trial int, group string, s int, values string) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: step(s), Metrics: raw(values)}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, batches int, count int64) {
		t.Helper()
		sums, err := metrics.Summaries(t.Context(), w.DB, []int{trial})
		if err != nil || len(sums) != 1 {
			t.Fatalf("%s: %+v %v", when, sums, err)
		}
		s := sums[trial]
		loss := s.Metrics["avg_metrics"]["loss"]
		if s.TotalBatches != batches || loss == nil || loss.Count != count || s.Best == nil || s.Best.Steps != 2 || *s.BestMetric != 0.5 {
			t.Errorf("%s: %+v, loss %+v; want %d batches and %d reports", when, s, loss, batches, count)
		}
	}
	report(trial, "training", 1, `{"loss": 2}`)
	report(trial, "validation", 2, `{"loss": 0.5}`)
	check("before the first summary", 2, 1)
	w.summarize()

	older, err := pgx.Connect(t.Context(), w.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close(context.Background())
	for _, sql := range []string{`BEGIN`, `SELECT pg_current_xact_id()`} {
		if _, err := older.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	report(trial, "training", 3, `{"loss": 1}`)
	report(other, "training", 9, `{"loss": 1}`)
	report(trial, "validation", 4, `{"loss": 0.75}`)
	if _, err := metrics.Summarize(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	if done, err := metrics.CaughtUp(t.Context(), w.DB); err != nil || done {
		t.Fatalf("the older transaction holds nothing back: %v", err)
	}
	check("behind an older transaction", 4, 2)
	if _, err := older.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	w.summarize()
	check("when the summaries have caught up", 4, 2)
}

func TestReadMetrics(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	const steps = 2500 // more than two pages
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT $1, 1, 'training', s, s, now(), jsonb_build_object('loss', s, 'acc', CASE WHEN s = 1234 THEN 1e6 ELSE s % 7 END) FROM generate_series(0, $2 - 1) s`, trial, steps)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, position, reported_at, avg) SELECT $1, 1, 'gpu', 1e15 + s, now() + s * interval '1 s', '{"util": 1}' FROM generate_series(1, 1001) s`, trial)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, archived) VALUES ($1, 1, 'training', 99999, 99999, now(), '{"loss": 1}', true)`, trial)
	groups, err := metrics.Groups(t.Context(), w.DB, trial)
	if err != nil || strings.Join(groups, " ") != "gpu training" {
		t.Errorf("groups: %v %v", groups, err)
	}
	seen := map[string]int{}
	last := -1
	err = metrics.Each(t.Context(), w.DB, []int{trial, 999}, "", func(page []metrics.Row) error {
		for _, m := range page {
			seen[m.Group]++
			if m.Group == "training" {
				if *m.Steps != last+1 {
					return fmt.Errorf("step %d after %d", *m.Steps, last)
				}
				last = *m.Steps
			}
		}
		return nil
	})
	if err != nil || seen["training"] != steps || seen["gpu"] != 1001 {
		t.Errorf("read back: %v %v", seen, err)
	}
	stop := errors.New("enough")
	if err := metrics.Each(t.Context(), w.DB, []int{trial}, "gpu", func([]metrics.Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopping: %v", err)
	}

	all, err := metrics.Curve(t.Context(), w.DB, metrics.CurveQuery{TrialID: trial, Group: "training", Names: []string{"loss"}, From: 10, To: new(19)})
	if err != nil || len(all) != 10 || all[0].Steps != 10 || all[9].Values[0] != 19 {
		t.Errorf("a range: %v %v", all, err)
	}
	few, err := metrics.Curve(t.Context(), w.DB, metrics.CurveQuery{TrialID: trial, Group: "training", Names: []string{"acc", "nothing"}, MaxPoints: 100})
	if err != nil || len(few) > 100 || len(few) < 40 {
		t.Fatalf("thinned: %d points, %v", len(few), err)
	}
	peak := false
	for i, p := range few {
		peak = peak || p.Steps == 1234 && p.Values[0] == 1e6
		if i > 0 && p.Steps <= few[i-1].Steps {
			t.Errorf("out of order: %d after %d", p.Steps, few[i-1].Steps)
		}
	}
	if !peak {
		t.Error("the peak was thinned out")
	}
}

func TestMetricFeed(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	trial, other := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	m := w.writer()
	report := func(trial, s int) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(s), Metrics: raw(`{"loss": 1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	report(trial, 0)
	feed := metrics.NewFeed(ctx, w.DB, w.Bus)
	ch, at, cancel, err := feed.Watch(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	for s := 1; s <= 20; s++ {
		report(other, s)
		report(trial, s)
	}
	next := 1
	for next <= 20 {
		select {
		case list := <-ch:
			for _, r := range list {
				if next == 1 && *r.Steps == 0 { // it was not settled yet when the watch began: some older transaction ran
					continue
				}
				if r.TrialID != trial || *r.Steps != next {
					t.Fatalf("trial %d step %d, want step %d of trial %d", r.TrialID, *r.Steps, next, trial)
				}
				next++
				at = metrics.Position{r.XID, r.ID}
			}
		case <-time.After(time.Minute): // transactions of other tests on the same server delay the feed
			t.Fatalf("step %d did not arrive", next)
		}
	}
	cancel()
	if _, open := <-ch; open {
		t.Error("the channel is open after cancel")
	}
	report(trial, 21)
	ch, now, cancel, err := feed.Watch(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	var missed []metrics.Row
	if err := metrics.EachBetween(t.Context(), w.DB, []int{trial}, at, now, func(page []metrics.Row) error {
		missed = append(missed, page...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(missed) == 0 { // the feed stood before it: then it comes by the channel
		missed = <-ch
	}
	if len(missed) != 1 || *missed[0].Steps != 21 {
		t.Errorf("missed: %v", missed)
	}
	stop()
	feed.Wait()
	cancel()
}
