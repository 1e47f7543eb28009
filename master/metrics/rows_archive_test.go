package metrics_test

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestReplacedReports: a run that begins again from an earlier step replaces the reports of earlier
// runs, and a run that continues from its checkpoint replaces nothing.
func TestReplacedReports(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	m := w.writer()
	report := func(trial, run int, group string, steps ...int) {
		t.Helper()
		for _, s := range steps {
			if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: run, Group: group, Steps: step(s), Metrics: raw(`{"loss": 1}`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var trials []int
	for number := range 2 {
		trial := w.Trial(exp, number, 1)
		trials = append(trials, trial)
		report(trial, 1, "training", 1, 2, 3)
		report(trial, 1, "validation", 1, 3)
		w.Attempt(trial, 2, 1)
		w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) VALUES (gen_random_uuid(), $1, $2, 1, 3, 'COMPLETED')`, w.TaskOf(trial), trial)
		if _, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(w.TaskOf(trial)+".2", 0, "n")); err != nil {
			t.Fatal(err)
		}
	}
	again, on := trials[0], trials[1]
	check := func(what string, trial int, want string) {
		t.Helper()
		if got := w.Text(`SELECT coalesce(string_agg(format('%s %s of %s', group_name, steps, run_id), ', ' ORDER BY run_id, group_name, steps), '') FROM metrics
			WHERE trial_id = $1 AND NOT archived`, trial); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const before = "training 1 of 1, training 2 of 1, training 3 of 1, validation 1 of 1, validation 3 of 1"
	check("claimed", again, before)
	report(on, 2, "training", 4)
	check("the run that goes on", on, before+", training 4 of 2")
	report(again, 2, "training", 1)
	check("the first step again", again, "validation 1 of 1, training 1 of 2")
	report(again, 2, "validation", 1)
	check("its validation", again, "training 1 of 2, validation 1 of 2")
	report(again, 2, "training", 2, 3)
	check("the end", again, "training 1 of 2, training 2 of 2, training 3 of 2, validation 1 of 2")
	check("the other trial", on, before+", training 4 of 2")
	w.summarize()
	if n := w.Text(`SELECT summary #>> '{avg_metrics,loss,count}' FROM trial_summaries WHERE trial_id = $1`, again); n != "3" {
		t.Errorf("the summary counts %s reports", n)
	}
	// Another master, and a report that is sent again, change nothing.
	m = w.writer()
	report(again, 2, "training", 3, 4)
	check("another master", again, "training 1 of 2, training 2 of 2, training 3 of 2, training 4 of 2, validation 1 of 2")
}

// A report that replaces very many waits for that alone: the reports of others are stored meanwhile.
func TestReplacingHoldsNobodyUp(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	m := w.writer()
	eve, bob := w.Trial(exp, 0, 1), w.Trial(exp, 1, 1)
	const many = metrics.ArchiveChunk + 10
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, $2::int) i`, eve, many)
	w.Exec(`UPDATE trials SET run_id = 2 WHERE id = $1`, eve)
	again := metrics.Report{TrialID: eve, RunID: 2, Group: "training", Steps: step(1), Metrics: raw(`{"loss": 1}`)}
	counted := func() int { return w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1 AND NOT archived`, eve) }

	held, release, replaced := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		if err := w.DB.Tx(t.Context(), func(tx *database.DB) error {
			err := metrics.LockArchive(t.Context(), tx, eve)
			close(held)
			<-release
			return err
		}); err != nil {
			t.Error(err)
		}
	}()
	<-held
	go func() { replaced <- m.Report(t.Context(), again) }()
	waitFor(t, func() bool {
		return w.Int(`SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
	})
	if err := m.Report(t.Context(), metrics.Report{TrialID: bob, RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{"loss": 1}`)}); err != nil {
		t.Fatal(err)
	}
	if n := counted(); n != many {
		t.Errorf("%d reports count while another transaction archives, want %d", n, many)
	}
	close(release)
	if err := <-replaced; err != nil {
		t.Fatal(err)
	}
	if n := counted(); n != 1 {
		t.Errorf("%d reports count, want the new one", n)
	}
}

// TestReplacedSeries: a program that goes on numbers its losses by batches and its accuracies by epochs. What it reports again of one
// replaces nothing of the other.
func TestReplacedSeries(t *testing.T) {
	w := newWorld(t)
	m, trial := w.writer(), w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	report := func(run int, name string, steps ...int) {
		t.Helper()
		for _, s := range steps {
			r := metrics.Report{TrialID: trial, RunID: run, Group: "training", Steps: step(s), Metrics: raw(fmt.Sprintf(`{%q: %d}`, name, run)), Series: []string{name}}
			if err := m.Report(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(what, want string) {
		t.Helper()
		if got := w.Text(`SELECT string_agg(format('%s at %s of %s', k, steps, run_id), ', ' ORDER BY k, steps, run_id) FROM metrics, jsonb_object_keys(avg) k WHERE trial_id = $1 AND NOT archived`, trial); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	report(1, "loss", 100, 200, 300)
	report(1, "accuracy", 1, 2, 3)
	w.Exec(`UPDATE trials SET run_id = 2 WHERE id = $1`, trial)
	report(2, "accuracy", 3)
	check("the last epoch again", "accuracy at 1 of 1, accuracy at 2 of 1, accuracy at 3 of 2, loss at 100 of 1, loss at 200 of 1, loss at 300 of 1")
	report(2, "loss", 250, 300, 350)
	check("the last batches again", "accuracy at 1 of 1, accuracy at 2 of 1, accuracy at 3 of 2, loss at 100 of 1, loss at 200 of 1, loss at 250 of 2, loss at 300 of 2, loss at 350 of 2")
	report(2, "accuracy", 2)
	check("an earlier epoch", "accuracy at 1 of 1, accuracy at 2 of 2, accuracy at 3 of 2, loss at 100 of 1, loss at 200 of 1, loss at 250 of 2, loss at 300 of 2, loss at 350 of 2")
}
