package metrics_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/store/rowtest"
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
	id, err := webhook.Insert(w.T.Context(), w.DB.DB, h)
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
		err := w.DB.Tx(w.T.Context(), func(tx *store.DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.T.Context(), tx.DB, webhook.Round{Most: 50})
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
	list, err := webhook.Deliveries(w.T.Context(), w.DB.DB, hook, 0, 1000)
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
