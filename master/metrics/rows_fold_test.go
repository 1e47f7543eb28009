package metrics_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/sleep"
)

// summarizeReading adds all rows to the summaries. Each transaction may read so many bytes. It returns the number of transactions.
func (w *world) summarizeReading(most int64) (steps int) {
	w.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); steps++ {
		if _, err := metrics.Summarize(database.LimitReads(context.Background(), most), w.DB); err != nil {
			w.T.Fatal(err)
		}
		if done, err := metrics.CaughtUp(context.Background(), w.DB); err != nil || done {
			if err != nil {
				w.T.Fatal(err)
			}
			return steps + 1
		}
		_ = sleep.For(context.Background(), 2*time.Millisecond)
	}
	w.T.Fatal("the summaries do not catch up")
	return 0
}

// Reports of a trial with more names than reports may have, and with as many bytes, neither fill the memory of a master nor delay the summaries of other trials.
func TestReportsWithoutBounds(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	bad, good := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	insert := func(trial, first int, avg string) {
		t.Helper()
		w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at) SELECT $1, 1, 'training', s, s, avg, now()
			FROM (SELECT `+avg+` AS avg OFFSET 0) a, generate_series($2::int, $2::int + 2) s`, trial, first)
	}
	const names = `(SELECT jsonb_object_agg('a name of a metric ' || n, n) FROM generate_series(%d, %[1]d + %d) n)`
	insert(bad, 0, fmt.Sprintf(names, 1, 30_000))       // 1 MB each
	insert(bad, 10, fmt.Sprintf(names, 30_000, 30_000)) // other names
	insert(bad, 20, fmt.Sprintf(names, 1, 60_000))
	insert(bad, 30, `jsonb_build_object('list', (SELECT jsonb_agg(1e308::numeric) FROM generate_series(1, 25000)))`) // 8 MB each, and little for PostgreSQL
	insert(bad, 40, `'[1]'::jsonb`)
	insert(bad, 50, `'{"known": 1}'::jsonb`)
	insert(good, 0, `'{"loss": 1}'::jsonb`)
	const most = 24 << 20
	steps := w.summarizeReading(most)
	if steps > 40 {
		t.Errorf("%d transactions", steps)
	}
	sums, err := metrics.Summaries(t.Context(), w.DB, []int{bad, good})
	if err != nil {
		t.Fatal(err)
	}
	if s := sums[good]; s.Metrics["avg_metrics"]["loss"].Count != 3 || s.Incomplete != "" {
		t.Errorf("the other trial: %+v", s)
	}
	s := sums[bad]
	if n := len(s.Metrics["avg_metrics"]); n < 1000 || n > summary.MaxNames || s.Incomplete != summary.Full || s.TotalBatches != 52 {
		t.Errorf("%d names, %d batches, %q", n, s.TotalBatches, s.Incomplete)
	}
	if n := w.Int(`SELECT octet_length(summary::text) FROM trial_summaries WHERE trial_id = $1`, bad); n > 2*summary.MaxBytes {
		t.Errorf("the summary has %d bytes", n)
	}
	// And when it is rebuilt.
	if err := metrics.MarkStale(t.Context(), w.DB, bad); err != nil {
		t.Fatal(err)
	}
	w.summarizeReading(most)
	if again, err := metrics.Summaries(t.Context(), w.DB, []int{bad}); err != nil || len(again[bad].Metrics["avg_metrics"]) < 1000 || again[bad].Incomplete != summary.Full || again[bad].TotalBatches != 52 {
		t.Errorf("rebuilt: %d names, %d batches, %v", len(again[bad].Metrics["avg_metrics"]), again[bad].TotalBatches, err)
	}
	// A summary beyond the bound.
	w.Exec(`UPDATE trial_summaries SET incomplete = '', summary = jsonb_build_object('avg_metrics',
		(SELECT jsonb_object_agg('old' || n, jsonb_build_object('count', 1, 'sum', 1e308::numeric, 'last', 1e308::numeric, 'type', 'number')) FROM generate_series(1, 40000) n))
		WHERE trial_id = $1`, bad)
	insert(bad, 60, `'{"known": 1}'::jsonb`)
	insert(good, 60, `'{"loss": 1}'::jsonb`)
	w.summarizeReading(most)
	if sums, err = metrics.Summaries(t.Context(), w.DB, []int{bad, good}); err != nil || sums[good].Metrics["avg_metrics"]["loss"].Count != 6 || sums[bad].TotalBatches != 62 {
		t.Errorf("after a summary without a bound: %d batches, %v", sums[bad].TotalBatches, err)
	}
}

// A trial whose summary PostgreSQL rejects does not stop the summaries of others, and the log names it once.
func TestASummaryThatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trials := []int{w.Trial(exp, 0, 1), w.Trial(exp, 1, 1), w.Trial(exp, 2, 1)}
	w.Exec(`CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.summary->'avg_metrics' ? 'poison' THEN RAISE EXCEPTION 'total size of jsonb object elements exceeds the maximum'; END IF; RETURN NEW; END $$`)
	w.Exec(`CREATE TRIGGER reject BEFORE UPDATE ON trial_summaries FOR EACH ROW EXECUTE FUNCTION reject()`)
	m := w.writer()
	report := func(s int) {
		t.Helper()
		for i, trial := range trials {
			text := `{"loss": 1}`
			if i == 1 {
				text = `{"loss": 1, "poison": 1}`
			}
			if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(s), Metrics: raw(text)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	report(1)
	ctx, stop := context.WithCancel(t.Context())
	log := &bytes.Buffer{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		metrics.NewSummarizer(w.DB, w.Bus, slog.New(slog.NewTextHandler(log, nil))).Run(ctx)
	}()
	caughtUp := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; _ = sleep.For(t.Context(), 5*time.Millisecond) {
			if done, err := metrics.CaughtUp(t.Context(), w.DB); err != nil || time.Now().After(deadline) {
				t.Fatalf("the summaries do not catch up: %v", err)
			} else if done {
				return
			}
		}
	}
	caughtUp()
	report(2)
	if err := metrics.MarkStale(t.Context(), w.DB, trials[1]); err != nil {
		t.Fatal(err)
	}
	caughtUp()
	stop()
	<-ended
	got := w.Text(`SELECT string_agg(format('%s %s %s', summary #>> '{avg_metrics,loss,count}', stale, left(incomplete, 44)), ' | ' ORDER BY trial_id) FROM trial_summaries`)
	if got != "2 f  |  f the summary of the trial could not be stored | 2 f " {
		t.Errorf("the summaries: %s", got)
	}
	if text := log.String(); strings.Count(text, "incomplete") != 1 || !strings.Contains(text, fmt.Sprintf("trial_id=%d", trials[1])) || !strings.Contains(text, "exceeds the maximum") {
		t.Errorf("the log: %s", text)
	}
}

// A summary of very many reports is rebuilt in several transactions, in which other stale summaries have their turn. Rows that change meanwhile are counted once.
func TestRebuildInSteps(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	large, small := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	for trial, n := range map[int]int{large: 30_000, small: 10} {
		w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, avg, reported_at)
			SELECT $1, 1, 'training', n, n, '{"loss": 1}', now() FROM generate_series(1, $2::int) AS n`, trial, n)
	}
	w.summarize()
	count := func(trial int) int {
		return w.Int(`SELECT (summary #>> '{avg_metrics,loss,count}')::int FROM trial_summaries WHERE trial_id = $1`, trial)
	}
	stale := func() int { return w.Int(`SELECT count(*) FROM trial_summaries WHERE stale`) }
	for _, interrupt := range []string{"nothing", "a merge", "an archived row"} {
		for _, trial := range []int{large, small} {
			if err := metrics.MarkStale(t.Context(), w.DB, trial); err != nil {
				t.Fatal(err)
			}
		}
		if more, err := metrics.Summarize(t.Context(), w.DB); err != nil || !more || stale() != 1 || count(small) != 10 {
			t.Fatalf("%s: the first step: more %t, %d stale, %v", interrupt, more, stale(), err)
		}
		if n := w.Int(`SELECT (summary #>> '{Metrics,avg_metrics,loss,count}')::int FROM summary_rebuilds WHERE trial_id = $1`, large); n < 1000 || n > metrics.RebuildRows || count(large) < 29_999 {
			t.Errorf("%s: the first step has %d reports, and the summary meanwhile %d", interrupt, n, count(large))
		}
		want := 30_000
		switch interrupt {
		case "a merge":
			m := w.writer()
			if err := m.Report(t.Context(), metrics.Report{TrialID: large, RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{"acc": 1}`)}); err != nil {
				t.Fatal(err)
			}
		case "an archived row":
			want--
			w.Exec(`UPDATE metrics SET archived = true WHERE trial_id = $1 AND position = 2`, large)
			if err := metrics.MarkStale(t.Context(), w.DB, large); err != nil {
				t.Fatal(err)
			}
		}
		w.summarize()
		if n := count(large); n != want {
			t.Errorf("%s: %d reports, want %d", interrupt, n, want)
		}
	}
}
