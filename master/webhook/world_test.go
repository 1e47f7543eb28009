package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// A world is a database, with the rows of other rooms that a test of webhooks needs.
type world struct{ *rowtest.World }

func newWorld(t *testing.T) *world { t.Helper(); return &world{rowtest.New(t)} }

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

const onCompleted = `EXPERIMENT_STATE_CHANGE {"state": "COMPLETED"}`

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.T.Helper()
	for {
		n := 0
		err := w.DB.Tx(w.T.Context(), func(tx *database.DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.T.Context(), tx, webhook.Round{Most: spreadTogether})
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

// waitingOf adds deliveries that wait.
func (w *world) waitingOf(hook, n int) {
	w.T.Helper()
	w.Exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event) SELECT $1, gen_random_uuid(), '{}' FROM generate_series(1, $2)`, hook, n)
	if err := webhook.RecountWaiting(w.T.Context(), w.DB); err != nil {
		w.T.Fatal(err)
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

func (w *world) moveTo(id int, saw, state string, then error) error {
	return w.DB.Tx(context.Background(), func(tx *database.DB) error {
		err := rows.ApplyChanges(context.Background(), tx, &rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: saw, State: state, Ended: state == "COMPLETED"}}})
		return errors.Join(err, then)
	})
}
