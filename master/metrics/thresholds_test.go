package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// TestThresholds: the first report of each trial over or under a value is an event.
func TestThresholds(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `METRIC_THRESHOLD_EXCEEDED {"metric": "acc\"uracy", "group": "validation", "above": 0.9}`,
		`METRIC_THRESHOLD_EXCEEDED {"metric": "loss", "group": "training", "below": -1}`)
	id, excluded := w.Experiment(rowtest.LossSearcher), w.hooked(`{"exclude": true}`)
	first, second, third := w.Trial(id, 0, 1), w.Trial(id, 1, 1), w.Trial(excluded, 0, 1)
	m := w.writer()
	report := func(trial, steps int, group, values string) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Steps: step(steps), Group: group, Metrics: raw(values)}); err != nil {
			t.Fatal(err)
		}
	}
	report(first, 1, "validation", `{"acc\"uracy": 0.9}`)
	report(first, 2, "training", `{"acc\"uracy": 0.95, "loss": "NaN"}`)
	report(first, 2, "validation", `{"acc\"uracy": 0.91}`)
	report(first, 3, "validation", `{"acc\"uracy": 0.92}`)
	report(third, 1, "validation", `{"acc\"uracy": 0.99}`)
	w.summarize()
	report(first, 4, "validation", `{"acc\"uracy": 0.93}`)
	report(second, 1, "training", `{"loss": -1.5}`)
	report(second, 1, "validation", `{"acc\"uracy": "0.99"}`)
	w.summarize()
	got := w.events(hook)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if e := got[0]; e.Type != event.Threshold || *e.Metric != (event.MetricValue{Name: `acc"uracy`, Group: "validation", Value: 0.91, Steps: 2}) || *e.Experiment.TrialID != first || *e.Condition.Above != 0.9 {
		t.Errorf("%+v of %+v", e, e.Metric)
	}
	if e := got[1]; e.Metric.Value != -1.5 || *e.Experiment.TrialID != second || *e.Condition.Below != -1 {
		t.Errorf("%+v of %+v", e, e.Metric)
	}
}

// manyThresholds are as many triggers as a workspace may have.
func manyThresholds() (triggers []string) {
	for i := range 20 {
		triggers = append(triggers, fmt.Sprintf(`METRIC_THRESHOLD_EXCEEDED {"metric": "loss", "group": "training", "above": %d}`, i/10))
	}
	return triggers
}

// trials inserts many trials of an experiment, with one report of each at every step.
func (w *world) trials(exp, n, steps int) {
	w.T.Helper()
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT e.id || '.' || i, 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'trial', 'default', 1 FROM experiments e, generate_series(1, $2::int) i WHERE e.id = $1`, exp, n)
	w.Exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, run_id) SELECT $1::int, i, $1::int || '.' || i, '{}', 7, 1 FROM generate_series(1, $2::int) i`, exp, n)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT id, 1, 'training', s, s, now(), jsonb_build_object('loss', s) FROM trials, generate_series(1, $2::int) s WHERE experiment_id = $1 ORDER BY s, id`, exp, steps)
}

// Reports that exceed very many thresholds are compared in several transactions, for which no summary waits. Each event is stored once,
// and those of a trial in the order of its reports.
func TestManyThresholds(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, manyThresholds()...)
	exp := w.Experiment(rowtest.LossSearcher)
	w.hook("another", w.Int(`INSERT INTO workspaces (name, owner_id) SELECT 'other', id FROM users WHERE username = 'admin' RETURNING id`), event.Workspace, manyThresholds()...)
	w.hook("not named", 0, event.Specific, manyThresholds()...)
	const n = 150
	w.trials(exp, n, 2)
	m := w.writer()
	bob := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	if err := m.Report(t.Context(), metrics.Report{TrialID: bob, RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{"loss": 0.5}`)}); err != nil {
		t.Fatal(err)
	}
	events := func() int { return w.Int(`SELECT count(*) FROM webhook_outbox`) }
	for w.count(bob) == 0 { // older transactions on the server may hold the reports back
		before := events()
		if _, err := metrics.Summarize(t.Context(), w.DB); err != nil {
			t.Fatal(err)
		}
		if n := events() - before; n > metrics.MaxHits+20 {
			t.Errorf("one transaction made %d events", n)
		}
	}
	if made := events(); made >= 20*n {
		t.Errorf("the summaries waited for %d events", made)
	}
	if n := w.Int(`SELECT count(*) FROM trial_summaries WHERE summary #>> '{avg_metrics,loss,count}' IS NOT NULL`); n != 151 {
		t.Errorf("%d trials have summaries, want all", n)
	}
	w.summarize()
	if got := w.Text(`SELECT concat_ws(' ', count(*), count(DISTINCT (event #>> '{experiment,trial_id}', event->'condition', webhook_id)), min(webhook_id), max(webhook_id)) FROM webhook_outbox
		WHERE event #>> '{experiment,trial_id}' <> $1::int::text`, bob); got != fmt.Sprintf("%d %d %d %[3]d", 20*n, 2*n, hook) {
		t.Errorf("events: %s", got)
	}
	if n := w.Int(`SELECT count(*) FROM (SELECT (event #>> '{metric,steps_completed}')::int < lag((event #>> '{metric,steps_completed}')::int)
		OVER (PARTITION BY event #>> '{experiment,trial_id}' ORDER BY id) AS back FROM webhook_outbox) o WHERE back`); n > 0 {
		t.Errorf("%d events come before one of an earlier report of their trial", n)
	}
}

// Events beyond those for which an owner's webhooks have room are not stored; a later report is compared again.
func TestThresholdsWithoutRoom(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, event.Workspace, manyThresholds()...)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 1)
	m := w.writer()
	report := func(s int) {
		t.Helper()
		if err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(s), Metrics: raw(`{"loss": 5}`)}); err != nil {
			t.Fatal(err)
		}
		w.summarize()
	}
	w.Exec(`INSERT INTO webhook_outbox (workspace_id, event) SELECT 1, '{}' FROM generate_series(1, 20000)`)
	report(1)
	if n := w.Int(`SELECT count(*) FROM webhook_outbox`); n != 20_000 {
		t.Errorf("%d events wait", n)
	}
	w.Exec(`DELETE FROM webhook_outbox WHERE id % 2 = 0`)
	report(2)
	if n := w.Int(`SELECT count(*) FROM webhook_outbox WHERE event #>> '{metric,steps_completed}' = '2'`); n != 20 {
		t.Errorf("%d events of the second report, want 20", n)
	}
}

// A trial whose events cannot be stored is set aside: others get theirs.
func TestThresholdsOfOneTrialFail(t *testing.T) {
	w := newWorld(t)
	w.hook("a", 1, event.Workspace, manyThresholds()...)
	exp := w.Experiment(rowtest.LossSearcher)
	w.trials(exp, 20, 2)
	bad := w.Int(`SELECT id FROM trials WHERE number = 10`)
	w.Exec(`CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no event'; END $$`)
	w.Exec(`CREATE TRIGGER reject BEFORE INSERT ON webhook_fired FOR EACH ROW WHEN (NEW.task_id = '` + w.TaskOf(bad) + `') EXECUTE FUNCTION reject()`)
	log := &bytes.Buffer{}
	waitFor(t, func() bool {
		metrics.CompareThresholds(t.Context(), w.DB, slog.New(slog.NewTextHandler(log, nil)))
		return w.Int(`SELECT count(*) FROM webhook_outbox`) > 0
	})
	if n := w.Int(`SELECT count(*) FROM webhook_outbox`); n != 19*20 {
		t.Errorf("%d events, want those of 19 trials", n)
	}
	if text := log.String(); strings.Count(text, "thresholds") != 1 || !strings.Contains(text, fmt.Sprintf("trial_id=%d", bad)) {
		t.Errorf("the log: %s", text)
	}
}

// The log has a database that does not answer in time once a minute, if that repeats, and other errors always.
func TestFailuresAreLogged(t *testing.T) {
	const s = time.Second
	late, other := fault.New(fault.Unavailable, "late"), fault.New(fault.Internal, "other")
	if got := fmt.Sprint(metrics.Logged(late, s, 18*s, 18*s, 18*s, 18*s, 18*s, 18*s)); got != "[false false true false false false true]" {
		t.Errorf("late: %s", got)
	}
	if got := fmt.Sprint(metrics.Logged(other, s, s)); got != "[true true]" {
		t.Errorf("other: %s", got)
	}
}

// hook inserts a webhook with triggers, each as TYPE {condition}.
func (w *world) hook(name string, workspace int, mode string, triggers ...string) int {
	w.T.Helper()
	h := webhook.Webhook{Name: name, URL: "https://example.com/" + name, Type: event.Default, Mode: mode}
	if workspace > 0 {
		h.WorkspaceID = &workspace
	}
	for _, text := range triggers {
		kind, condition, _ := strings.Cut(text, " ")
		t := webhook.Trigger{Type: kind}
		if condition != "" {
			if err := json.Unmarshal([]byte(condition), &t.Condition); err != nil {
				w.T.Fatal(err)
			}
		}
		h.Triggers = append(h.Triggers, t)
	}
	id, err := webhook.Insert(w.T.Context(), w.DB, h)
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.T.Helper()
	for {
		n := 0
		err := w.DB.Tx(w.T.Context(), func(tx *database.DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.T.Context(), tx, webhook.Round{Most: 50})
			return err
		})
		if err != nil {
			w.T.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// events lists the events of a webhook that wait, the first first.
func (w *world) events(hook int) []event.Event {
	w.T.Helper()
	w.spread()
	list, err := webhook.Deliveries(w.T.Context(), w.DB, hook, 0, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	var all []event.Event
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State != "WAITING" {
			continue
		}
		var e event.Event
		if err := json.Unmarshal(list[i].Event, &e); err != nil {
			w.T.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// hooked inserts an experiment with this section integrations.webhooks.
func (w *world) hooked(section string) int {
	w.T.Helper()
	id := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('integrations', jsonb_build_object('webhooks', $2::text::jsonb)) WHERE id = $1`, id, section)
	return id
}

// TestABusyCursorIsNoSuccess: a transaction that was too large stays halved while another master has the cursor.
func TestABusyCursorIsNoSuccess(t *testing.T) {
	if at, later := metrics.Paced(0), metrics.Paced(20); later != at {
		t.Errorf("%d reports are allowed after a failure, and %d after visits of a cursor that another master has", at, later)
	}
}

// While there are no thresholds, their cursor follows that of the summaries, but only forwards.
func TestTheCursorOfThresholdsStaysAhead(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	w.trials(exp, 1, 1)
	w.fold()
	if n := w.Int(`SELECT count(*) FROM metrics_cursor s, threshold_cursor t WHERE (s.xid, s.id) = (t.xid, t.id)`); n != 1 {
		t.Error("the cursor of thresholds does not follow")
	}
	w.Exec(`UPDATE threshold_cursor SET id = id + 1000, xid = (xid::text::bigint + 1000)::text::xid8`)
	before := w.Text(`SELECT concat_ws(' ', xid, id) FROM threshold_cursor`)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) SELECT id, 1, 'training', 9, 9, now(), '{"loss": 1}' FROM trials`)
	w.fold()
	if after := w.Text(`SELECT concat_ws(' ', xid, id) FROM threshold_cursor`); after != before {
		t.Errorf("the cursor of thresholds went from %s to %s", before, after)
	}
}
