package store

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// hook inserts a webhook with triggers, each as TYPE {condition}.
func (w *world) hook(name string, workspace int, mode string, triggers ...string) int {
	w.t.Helper()
	h := webhook.Webhook{Name: name, URL: "https://example.com/" + name, Type: event.Default, Mode: mode}
	if workspace > 0 {
		h.WorkspaceID = &workspace
	}
	for _, text := range triggers {
		kind, condition, _ := strings.Cut(text, " ")
		t := webhook.Trigger{Type: kind}
		if condition != "" {
			if err := json.Unmarshal([]byte(condition), &t.Condition); err != nil {
				w.t.Fatal(err)
			}
		}
		h.Triggers = append(h.Triggers, t)
	}
	id, err := webhook.Insert(w.t.Context(), w.db.DB, h)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.t.Helper()
	for {
		n := 0
		err := w.db.Tx(w.t.Context(), func(tx *DB) (err error) { n, err = webhook.SpreadEvents(w.t.Context(), tx.DB, 50); return err })
		if err != nil {
			w.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// events lists the events of a webhook that wait, the first first.
func (w *world) events(hook int) []event.Event {
	w.t.Helper()
	w.spread()
	list, err := webhook.Deliveries(w.t.Context(), w.db.DB, hook, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []event.Event
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State != "WAITING" {
			continue
		}
		var e event.Event
		if err := json.Unmarshal(list[i].Event, &e); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// hooked inserts an experiment with this section integrations.webhooks.
func (w *world) hooked(section string) int {
	w.t.Helper()
	id := w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET config = config || jsonb_build_object('integrations', jsonb_build_object('webhooks', $2::text::jsonb)) WHERE id = $1`, id, section)
	return id
}

// TestThresholds: the first report of each trial over or under a value is an event.
func TestThresholds(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, `METRIC_THRESHOLD_EXCEEDED {"metric": "acc\"uracy", "group": "validation", "above": 0.9}`,
		`METRIC_THRESHOLD_EXCEEDED {"metric": "loss", "group": "training", "below": -1}`)
	id, excluded := w.experiment(lossSearcher), w.hooked(`{"exclude": true}`)
	first, second, third := w.trial(id, 0, 1), w.trial(id, 1, 1), w.trial(excluded, 0, 1)
	m := NewMetricWriter(w.db, w.bus)
	report := func(trial, steps int, group, metrics string) {
		t.Helper()
		if err := m.Report(t.Context(), Report{TrialID: trial, RunID: 1, Steps: step(steps), Group: group, Metrics: raw(metrics)}); err != nil {
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
