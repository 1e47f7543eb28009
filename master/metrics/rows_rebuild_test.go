package metrics_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// count is the number of reports in the summary of a trial.
func (w *world) count(trial int) int {
	return w.Int(`SELECT coalesce((SELECT (summary #>> '{avg_metrics,loss,count}')::int FROM trial_summaries WHERE trial_id = $1), 0)`, trial)
}

// fold moves the cursor past all rows, which wait for the end of older transactions of other tests, and rebuilds nothing.
func (w *world) fold() {
	w.T.Helper()
	waitFor(w.T, func() bool {
		if _, err := metrics.Fold(context.Background(), w.DB); err != nil {
			w.T.Fatal(err)
		}
		return w.Int(`SELECT count(*) FROM metrics m, metrics_cursor c WHERE m.xid >= c.xid AND (m.xid, m.id) > (c.xid, c.id)`) == 0
	})
}

// The summaries of others do not wait for the rebuild of a summary.
func TestRebuildsHoldNobodyUp(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	w.trials(exp, 1, 3)
	eve, bob := w.Int(`SELECT id FROM trials`), w.Trial(exp, 0, 1)
	w.summarize()
	if err := metrics.MarkStale(t.Context(), w.DB, eve); err != nil {
		t.Fatal(err)
	}
	older, err := pgx.Connect(t.Context(), w.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close(context.Background())
	for _, sql := range []string{`BEGIN`, `SELECT FROM trial_summaries WHERE stale FOR UPDATE`} { // as a very long step would
		if _, err := older.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		metrics.NewSummarizer(w.DB, w.Bus, slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	w.WaitBlocked(1)
	// A row lock takes a transaction id, behind which the summarizer waits like for any older transaction.
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg, xid) SELECT $1, 1, 'training', 1, 1, now(), '{"loss": 1}', xid FROM metrics_cursor`, bob)
	waitFor(t, func() bool { return w.count(bob) == 1 })
	if _, err := older.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		return w.Int(`SELECT count(*) FROM trial_summaries WHERE stale`) == 0 && w.count(eve) == 3
	})
}

// A step of a rebuild counts only for the summary that it has read, and misses no row that others got past meanwhile.
func TestRebuildsOfChangingSummaries(t *testing.T) {
	w := newWorld(t)
	w.trials(w.Experiment(rowtest.LossSearcher), 1, 3)
	trial := w.Int(`SELECT id FROM trials`)
	w.summarize()
	stale := func() {
		t.Helper()
		if err := metrics.MarkStale(t.Context(), w.DB, trial); err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE trial_summaries SET summary = '{}', rebuild_at = NULL`)
		if _, err := metrics.RebuildDue(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
	}
	before := func(change string) {
		t.Helper()
		w.Exec(`CREATE OR REPLACE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + change + `; RETURN NEW; END $$`)
		w.Exec(`CREATE OR REPLACE TRIGGER meanwhile BEFORE UPDATE ON trial_summaries FOR EACH ROW WHEN (NEW.rebuild_at < OLD.rebuild_at) EXECUTE FUNCTION meanwhile()`)
	}
	before(`NEW.version = NEW.version + 1`) // as MarkStale does
	stale()
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE stale AND rebuilt_xid IS NULL`); n != 1 || w.count(trial) != 0 {
		t.Errorf("the step counts for a summary that has changed: %d reports", w.count(trial))
	}
	before(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES (NEW.trial_id, 1, 'training', 9, 9, now(), '{"loss": 1}');
		UPDATE metrics_cursor SET xid = pg_current_xact_id(), id = (SELECT max(id) FROM metrics)`)
	stale()
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE stale`); n != 0 || w.count(trial) != 4 {
		t.Errorf("the rebuilt summary has %d reports, want 4; %d stale", w.count(trial), n)
	}
}

// A summary whose rebuild begins anew again and again leaves the others their turns.
func TestTurnsOfRebuilds(t *testing.T) {
	w := newWorld(t)
	w.trials(w.Experiment(rowtest.LossSearcher), 2, 3)
	trials := rowtest.Scalar[[]int](w.World, `SELECT array_agg(id ORDER BY id) FROM trials`)
	w.summarize()
	for _, trial := range trials {
		if err := metrics.MarkStale(t.Context(), w.DB, trial); err != nil {
			t.Fatal(err)
		}
	}
	w.Exec(`UPDATE trial_summaries SET rebuild_at = now() + interval '1 hour' WHERE trial_id = $1`, trials[0])
	if more, err := metrics.RebuildDue(t.Context(), w.DB); err != nil || more {
		t.Fatalf("more %t, %v", more, err)
	}
	if got := w.Text(`SELECT string_agg(concat_ws(' ', trial_id = $1, rebuild_at > now() + interval '30 minutes'), ', ') FROM trial_summaries WHERE stale`, trials[0]); got != "t t" {
		t.Errorf("stale: %s", got)
	}
	// The turn of a summary that becomes stale again comes after a pause.
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE NOT stale AND rebuild_at IS NOT NULL`); n != 1 {
		t.Errorf("%d summaries have a time of their next turn, want that which was rebuilt", n)
	}
}

// Small reports of trials with large summaries do not make the summarizer write these summaries for each of them: the rebuild loop adds
// such reports, from where the summaries were.
func TestSmallReportsOfLargeSummaries(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	const large = 24
	for i := range large {
		w.Trial(exp, i, 1)
	}
	w.Exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT id, jsonb_build_object('avg_metrics', (SELECT jsonb_object_agg('a layer and its norm ' || n,
		jsonb_build_object('count', 1, 'sum', n, 'min', n, 'max', n, 'mean', n, 'last', n, 'type', 'number')) FROM generate_series(1, 4000) n)) FROM trials`)
	bob := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT id, 1, 'training', 2, 2, now(), '{"loss": 1}' FROM trials`)
	before := w.Text(`SELECT string_agg(md5(summary::text), ',' ORDER BY trial_id) FROM trial_summaries WHERE trial_id <> $1`, bob)
	w.fold()
	if n := w.count(bob); n != 1 {
		t.Errorf("the summary of another trial has %d reports", n)
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE stale AND rebuilt_xid IS NOT NULL`); n != large {
		t.Errorf("%d large summaries wait for the rebuild loop, want %d", n, large)
	}
	if after := w.Text(`SELECT string_agg(md5(summary::text), ',' ORDER BY trial_id) FROM trial_summaries WHERE trial_id <> $1`, bob); after != before {
		t.Error("large summaries were written")
	}
	w.summarize()
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE NOT stale AND summary #>> '{avg_metrics,loss,count}' = '1' AND (trial_id = $1 OR summary #>> '{avg_metrics,a layer and its norm 9,count}' = '1')`, bob); n != large+1 {
		t.Errorf("%d summaries have their reports, want %d", n, large+1)
	}
	// A single one is written at once.
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT min(id), 1, 'training', 3, 3, now(), '{"loss": 1}' FROM trials`)
	w.fold()
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE NOT stale AND summary #>> '{avg_metrics,loss,count}' = '2'`); n != 1 {
		t.Error("the only report of a large summary waits for the rebuild loop")
	}
}

// The rebuilds of an owner with many stale summaries leave other owners their turns.
func TestTurnsOfOwners(t *testing.T) {
	w := newWorld(t)
	w.trials(w.Experiment(rowtest.LossSearcher), 60, 1)
	bobs := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET owner_id = (SELECT id FROM users WHERE username = 'admin') WHERE id = $1`, bobs)
	bob := w.Trial(bobs, 0, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 1, 'training', 1, 1, now(), '{"loss": 1}')`, bob)
	w.summarize()
	w.Exec(`UPDATE trial_summaries SET stale = true, rebuild_at = CASE WHEN trial_id = $1 THEN now() ELSE now() - interval '1 hour' END`, bob)
	for w.Int(`SELECT count(*) FROM trial_summaries WHERE trial_id = $1 AND stale`, bob) == 1 { // a slow server needs several passes
		if _, err := metrics.RebuildDue(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE stale`); n == 0 {
		t.Error("the summary of another owner waited for all of the first one's")
	}
}

// A summary that cannot be rebuilt in time stays as it was, says why, and is tried again later.
func TestARebuildThatIsLate(t *testing.T) {
	w := newWorld(t)
	w.trials(w.Experiment(rowtest.LossSearcher), 1, 3)
	trial := w.Int(`SELECT id FROM trials`)
	w.summarize()
	if err := metrics.MarkStale(t.Context(), w.DB, trial); err != nil {
		t.Fatal(err)
	}
	usual := metrics.RebuildWithin("200ms")
	defer metrics.RebuildWithin(usual)
	locked, err := pgx.Connect(t.Context(), w.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close(context.Background())
	for _, sql := range []string{`BEGIN`, `LOCK TABLE metrics IN ACCESS EXCLUSIVE MODE`} {
		if _, err := locked.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := metrics.RebuildDue(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE stale AND incomplete LIKE '%in time%' AND rebuild_at > now() + interval '10 minutes'`); n != 1 || w.count(trial) != 3 {
		t.Errorf("the summary has %d reports, want 3, and waits: %d", w.count(trial), n)
	}
	if _, err := locked.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	metrics.RebuildWithin(usual)
	w.Exec(`UPDATE trial_summaries SET rebuild_at = now()`)
	if _, err := metrics.RebuildDue(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE NOT stale AND incomplete = ''`); n != 1 || w.count(trial) != 3 {
		t.Errorf("after its next turn the summary has %d reports, and is complete: %d", w.count(trial), n)
	}
}

// A program that reports its metrics one by one, so that each step is merged, gets a summary with all its reports.
func TestRebuildsWhileReportsAreMerged(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT $1, 1, 'training', n, n, now(), '{"loss": 1}' FROM generate_series(1, 60000) n`, trial)
	w.summarize()
	m := w.writer()
	for i := range 10 {
		for _, text := range []string{`{"loss": 1}`, `{"accuracy": 1}`} {
			steps := 60001 + i
			if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: &steps, Metrics: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		w.fold()
		if _, err := metrics.Summarize(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.count(trial); n < 60000 {
		t.Errorf("after ten steps the summary has %d of 60010 reports", n)
	}
}
