package store

import (
	"encoding/json"
	"strings"

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
		err := w.db.Tx(w.t.Context(), func(tx *DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.t.Context(), tx.DB, webhook.Round{Most: 50})
			return err
		})
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
