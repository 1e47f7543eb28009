package metrics_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// narrow returns the database of a role that may read and change everything but the configurations of experiments: every statement that
// names one of them fails. Where a transaction is everybody's, PostgreSQL must not decompress a megabyte for each of its trials.
func (w *world) narrow() *database.DB {
	w.T.Helper()
	role := w.Text(`SELECT 'narrow_' || current_database()`)
	for _, sql := range []string{
		`CREATE ROLE "` + role + `"`,
		`GRANT ALL ON ALL TABLES IN SCHEMA public TO "` + role + `"`,
		`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "` + role + `"`,
		`REVOKE SELECT ON experiments FROM "` + role + `"`,
	} {
		w.Exec(sql)
	}
	w.T.Cleanup(func() { w.Exec(`DROP OWNED BY "` + role + `"`); w.Exec(`DROP ROLE "` + role + `"`) })
	w.Exec(`DO $$ BEGIN EXECUTE (SELECT format('GRANT SELECT (%s) ON experiments TO "` + role + `"', string_agg(quote_ident(column_name), ', '))
		FROM information_schema.columns WHERE table_name = 'experiments' AND column_name NOT IN ('config', 'original_config', 'search_config', 'template_source')); END $$`)
	at, err := url.Parse(w.DSN)
	if err != nil {
		w.T.Fatal(err)
	}
	values := at.Query()
	values.Set("role", role)
	at.RawQuery = values.Encode()
	db, err := database.Open(w.T.Context(), at.String(), database.Options{MaxConns: 4})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(db.Close)
	if err := db.Exec(context.Background(), `SELECT config FROM experiments`); err == nil {
		w.T.Fatal("the role may read configurations")
	}
	return db
}

// The commit of reports reads no configuration, also for the first validations of trials.
func TestReportsReadNoConfiguration(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(`{"name": "random", "metric": "loss", "max_length": {"batches": 100}}`)
	trial := w.Trial(exp, 0, 1)
	m := writerOf(w.narrow(), w.Bus)
	report := func(text string) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "validation", Steps: step(1), Metrics: raw(text)}); err != nil {
			t.Fatal(err)
		}
	}
	report(`{"loss": 0.5, "batches": 7}`)
	report(`{"loss": 0.5, "acc": 1}`)
	if got := w.Text(`SELECT string_agg(concat_ws(' ', body->>'metric', body->>'time'), ', ') FROM search_events WHERE kind = 'validated' AND experiment_id = $1`, exp); got != "0.5 7" {
		t.Errorf("validations of the search: %q", got)
	}
}

// Events of changes of state and of thresholds read no configuration, and say whether it names the workspace.
func TestEventsReadNoConfiguration(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, event.Workspace, `EXPERIMENT_STATE_CHANGE {"state": "ACTIVE"}`, `METRIC_THRESHOLD_EXCEEDED {"metric": "loss", "group": "training", "above": 0}`)
	one, other := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET config = config || '{"workspace": "Uncategorized"}' WHERE id = $1`, other)
	w.Exec(`UPDATE experiments SET state = 'ACTIVE'`)
	db := w.narrow()
	for _, id := range []int{one, other} {
		if err := webhook.FireStateChange(t.Context(), db, id, "ACTIVE"); err != nil {
			t.Fatal(err)
		}
	}
	w.trials(one, 1, 1)
	waitFor(t, func() bool {
		if _, err := metrics.Summarize(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		done, err := metrics.CaughtUp(t.Context(), db)
		return done && err == nil
	})
	if got := w.Text(`SELECT string_agg(event #>> '{experiment,unnamed}', ' ' ORDER BY id) FROM webhook_outbox`); got != "true false true" {
		t.Errorf("unnamed: %s", got)
	}
}

// The metric that measures time, as a generated column has it.
func TestTimeMetrics(t *testing.T) {
	w := newWorld(t)
	for searcher, want := range map[string]string{
		`{"metric": "loss"}`:                                                                   "",
		`{"metric": "loss", "max_length": 5}`:                                                  "",
		`{"metric": "loss", "max_length": {"epochs": 5}}`:                                      "epochs",
		`{"metric": "loss", "max_length": {"epochs": 5}, "time_metric": "t"}`:                  "t",
		`{"metric": "loss", "max_length": null, "length_per_round": {"records": 5}}`:           "records",
		`{"metric": "loss", "time_metric": null, "length_per_round": {}}`:                      "",
		`{"metric": "loss", "max_length": {"batches": 5}, "length_per_round": {"records": 5}}`: "batches",
	} {
		if got := w.Text(`SELECT coalesce(time_metric, '') FROM experiments WHERE id = $1`, w.Experiment(searcher)); got != want {
			t.Errorf("%s: %q, want %q", searcher, got, want)
		}
	}
}
