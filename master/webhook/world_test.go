package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// A world is a database, with the rows of other rooms that a test of webhooks needs.
type world struct {
	t   *testing.T
	db  *store.DB
	bus *database.Bus
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn := pgtest.New(t, store.SchemaHash(), store.Migrate)
	pool, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &world{t: t, db: store.New(pool, store.Options{}), bus: database.NewBus(dsn, slog.New(slog.DiscardHandler))}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", strings.Fields(sql)[0], err)
	}
}

func (w *world) int(sql string, args ...any) int     { return scalar[int](w, sql, args...) }
func (w *world) text(sql string, args ...any) string { return scalar[string](w, sql, args...) }

func scalar[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	v, err := database.Scalar[T](context.Background(), w.db.DB, sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func (w *world) experiment(searcher string) int {
	w.t.Helper()
	return w.int(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial)
		SELECT u.id, p.id, jsonb_build_object('searcher', $1::text::jsonb), '', 1, 'test', 'active', 'default', 1
		FROM users u, projects p WHERE u.username = 'determined' RETURNING id`, searcher)
}

const lossSearcher = `{"name": "single", "metric": "loss", "smaller_is_better": true}`

// trial inserts a trial with its task, and this newest run.
func (w *world) trial(experiment, number, run int) int {
	w.t.Helper()
	task := fmt.Sprintf("%d.trial-%d", experiment, number)
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots)
		SELECT $2, 'TRIAL', e.job_id, e.owner_id, 1, e.id, 'trial', 'default', 1 FROM experiments e WHERE e.id = $1`, experiment, task)
	return w.int(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, run_id)
		VALUES ($1, $2, $3, '{"lr": 0.1}', 7, $4) RETURNING id`, experiment, number, task, run)
}

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

const onCompleted = `EXPERIMENT_STATE_CHANGE {"state": "COMPLETED"}`

// spread gives all events to their webhooks, as the leader's sender does.
func (w *world) spread() {
	w.t.Helper()
	for {
		n := 0
		err := w.db.Tx(w.t.Context(), func(tx *store.DB) (err error) {
			n, _, err = webhook.SpreadEvents(w.t.Context(), tx.DB, webhook.Round{Most: spreadTogether})
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

// waitingOf adds deliveries that wait.
func (w *world) waitingOf(hook, n int) {
	w.t.Helper()
	w.exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event) SELECT $1, gen_random_uuid(), '{}' FROM generate_series(1, $2)`, hook, n)
	if err := webhook.RecountWaiting(w.t.Context(), w.db.DB); err != nil {
		w.t.Fatal(err)
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

func (w *world) moveTo(id int, saw, state string, then error) error {
	return w.db.Tx(context.Background(), func(tx *store.DB) error {
		err := tx.ApplyChanges(context.Background(), &store.Changes{Experiments: []store.ExperimentChange{{ID: id, Saw: saw, State: state, Ended: state == "COMPLETED"}}})
		return errors.Join(err, then)
	})
}
