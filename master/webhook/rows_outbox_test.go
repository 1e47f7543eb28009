package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

const spreadTogether = 50

// TestAnEventIsOneRow: what fires an event does no work for each webhook, and the sender gives it to all that receive it, in their order.
func TestAnEventIsOneRow(t *testing.T) {
	w := newWorld(t)
	var hooks []int
	for i := range 20 {
		hooks = append(hooks, w.hook(fmt.Sprintf("h%d", i), 1, event.Workspace, onCompleted))
	}
	const changes = 2*spreadTogether + 1
	for range changes {
		if err := w.moveTo(w.Experiment(rowtest.LossSearcher), "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
	}
	if events, deliveries := w.Int(`SELECT count(*) FROM webhook_outbox`), w.Int(`SELECT count(*) FROM webhook_deliveries`); events != changes || deliveries != 0 {
		t.Errorf("%d changes made %d events and %d deliveries", changes, events, deliveries)
	}
	w.spread()
	if left := w.Int(`SELECT count(*) FROM webhook_outbox`); left != 0 {
		t.Errorf("%d events are left", left)
	}
	for _, hook := range hooks {
		if n, waiting := w.Int(`SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1`, hook), w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook); n != changes || waiting != changes {
			t.Fatalf("webhook %d has %d deliveries, and %d wait", hook, n, waiting)
		}
		if n := w.Int(`SELECT count(*) FROM (SELECT (event#>>'{experiment,id}')::int AS e, lag((event#>>'{experiment,id}')::int) OVER (ORDER BY id) AS before
			FROM webhook_deliveries WHERE webhook_id = $1) x WHERE e < before`, hook); n != 0 {
			t.Fatalf("%d events of webhook %d are out of order", n, hook)
		}
	}
}

// TestAnEventIsSmall: neither the name of an experiment nor what it says about webhooks makes the events large, and an event is sent also if its
// experiment is deleted meanwhile.
func TestAnEventIsSmall(t *testing.T) {
	w := newWorld(t)
	ours, named := w.hook("ours", 1, event.Workspace, onCompleted), w.hook("named", 1, event.Specific, onCompleted)
	names := strings.Repeat(`"`+strings.Repeat("n", 1000)+`",`, 500)
	id := w.hooked(`{"webhook_name": [` + names + `"named"]}`)
	gone := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET name = repeat('x', 200000)`)
	for _, e := range []int{id, gone} {
		if err := w.moveTo(e, "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
	}
	if size := w.Int(`SELECT max(octet_length(webhook_outbox::text)) FROM webhook_outbox`); size > 5000 {
		t.Errorf("an event has %d bytes", size)
	}
	w.Exec(`DELETE FROM experiments WHERE id = $1`, gone)
	if n, m := len(w.events(ours)), len(w.events(named)); n != 2 || m != 1 {
		t.Errorf("%d and %d events arrive, want 2 and 1", n, m)
	}
}

// TestWorkspacesTakeTurns: many events of one workspace do not delay those of another.
func TestWorkspacesTakeTurns(t *testing.T) {
	w := newWorld(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	hook := w.hook("theirs", theirs, event.Workspace, onCompleted)
	w.Exec(`INSERT INTO webhook_outbox (workspace_id, event) SELECT 1, '{"event_type":"EXPERIMENT_STATE_CHANGE"}' FROM generate_series(1, 1000)`)
	w.Exec(`INSERT INTO webhook_outbox (workspace_id, event) VALUES ($1, '{"event_type":"EXPERIMENT_STATE_CHANGE","condition":{"state":"COMPLETED"}}')`, theirs)
	if n, _, err := webhook.SpreadEvents(t.Context(), w.DB, webhook.Round{Most: spreadTogether}); err != nil || n != spreadTogether {
		t.Fatal(n, err)
	}
	if n := w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook); n != 1 {
		t.Errorf("%d events wait for the other workspace's webhook", n)
	}
}

// TestWaitingIsBounded: of one webhook, and of those of one owner; what ends makes room, and the log does not grow while events are dropped.
func TestWaitingIsBounded(t *testing.T) {
	w := newWorld(t)
	admins := w.hook("admins", 0, event.Workspace, onCompleted)
	one, two, three := w.hook("one", 1, event.Workspace, onCompleted), w.hook("two", 1, event.Workspace, onCompleted), w.hook("three", 1, event.Workspace, onCompleted)
	w.waitingOf(one, webhook.MaxWaiting-1)
	w.waitingOf(two, webhook.MaxWaiting-1)
	fire := func(n int) {
		t.Helper()
		w.Exec(`INSERT INTO webhook_outbox (workspace_id, event) SELECT 1, '{"event_type":"EXPERIMENT_STATE_CHANGE","condition":{"state":"COMPLETED"}}' FROM generate_series(1, $1)`, n)
		w.spread()
	}
	wants := func(what string, want ...int) {
		t.Helper()
		for i, hook := range []int{one, two, three, admins} {
			counted, stored := w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook), w.Int(`SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'WAITING'`, hook)
			if counted != want[i] || stored != want[i] {
				t.Errorf("%s: %d events wait for webhook %d, and %d are counted; want %d", what, stored, hook, counted, want[i])
			}
		}
	}
	fire(1) // the owner has no room left for the third
	wants("at the bounds", webhook.MaxWaiting, webhook.MaxWaiting, 0, 1)
	fire(3 * webhook.KeptDeliveries)
	wants("beyond", webhook.MaxWaiting, webhook.MaxWaiting, 0, 1+3*webhook.KeptDeliveries)
	if n := w.Int(`SELECT max(n) FROM (SELECT count(*) AS n FROM webhook_deliveries WHERE state = 'DROPPED' GROUP BY webhook_id) x`); n < 1 || n > webhook.KeptDeliveries {
		t.Errorf("a log has %d dropped events", n)
	}
	id := w.Int(`SELECT min(id) FROM webhook_deliveries WHERE webhook_id = $1`, one)
	for range 2 { // the second result finds that the delivery has ended
		if err := webhook.RecordDelivery(t.Context(), w.DB, webhook.DeliveryResult{ID: int64(id), WebhookID: one, State: "DELIVERED", Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	wants("after a delivery", webhook.MaxWaiting-1, webhook.MaxWaiting, 0, 1+3*webhook.KeptDeliveries)
	w.Exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event, state, ended_at) VALUES ($1, gen_random_uuid(), '{}', 'DELIVERED', now())`, three)
	ended := w.Int(`SELECT max(id) FROM webhook_deliveries WHERE webhook_id = $1`, three)
	if _, err := webhook.Redeliver(t.Context(), w.DB, one, int64(id)); err != nil {
		t.Error(err)
	}
	if _, err := webhook.Redeliver(t.Context(), w.DB, three, int64(ended)); !fault.Is(err, fault.TooMany) {
		t.Errorf("a redelivery while the owner has no room: %v", err)
	}
	wants("after a redelivery", webhook.MaxWaiting, webhook.MaxWaiting, 0, 1+3*webhook.KeptDeliveries)
}

// TestOneUserFillsNoWebhook: whose experiments end and reopen again and again drops only their own events, and fills no outbox.
func TestOneUserFillsNoWebhook(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("everywhere", 0, event.Workspace, onCompleted)
	id := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET unmanaged = true WHERE id = $1`, id)
	trial, err := experiments.CreateUnmanagedTrial(t.Context(), w.DB, experiments.NewUnmanagedTrial{ExperimentID: id, HParams: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	flip := func() {
		t.Helper()
		for _, state := range []string{"COMPLETED", "ACTIVE"} {
			if err := experiments.ReportUnmanagedTrial(t.Context(), w.DB, trial, state); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range webhook.MaxOutbox {
		flip()
	}
	if n := w.Int(`SELECT count(*) FROM webhook_outbox`); n != webhook.MaxOutbox {
		t.Errorf("%d events wait to be spread, want %d", n, webhook.MaxOutbox)
	}
	w.spread()
	w.waitingOf(hook, webhook.MaxWaiting/2)
	w.Exec(`UPDATE webhook_deliveries SET owner_id = (SELECT owner_id FROM experiments WHERE id = $1) WHERE id IN (SELECT id FROM webhook_deliveries LIMIT $2)`, id, webhook.MaxSourceWaiting)
	before := w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook)
	flip()
	w.spread()
	if n := w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook); n != before {
		t.Errorf("%d further events of the user wait", n-before)
	}
	other := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET owner_id = (SELECT id FROM users WHERE id <> owner_id ORDER BY id LIMIT 1) WHERE id = $1`, other)
	if err := w.moveTo(other, "PAUSED", "COMPLETED", nil); err != nil {
		t.Fatal(err)
	}
	w.spread()
	if n := w.Int(`SELECT waiting FROM webhooks WHERE id = $1`, hook); n != before+1 {
		t.Errorf("%d events of another user wait, want 1", n-before)
	}
}

// TestLongNamesCostNoMore: to spread the events of experiments that name very many webhooks with long names takes about as long as
// to spread those of experiments that name none, however many webhooks there are.
func TestLongNamesCostNoMore(t *testing.T) {
	w := newWorld(t)
	for i := range webhook.MaxWebhooks {
		w.hook(fmt.Sprint("h", i), 1, event.Specific, onCompleted, "CUSTOM")
	}
	var ids []int
	for range spreadTogether {
		ids = append(ids, w.Experiment(rowtest.LossSearcher))
		w.Exec(`INSERT INTO webhook_outbox (workspace_id, experiment_id, event) VALUES (1, $1, '{"event_type": "EXPERIMENT_STATE_CHANGE", "condition": {"state": "COMPLETED"}}')`, ids[len(ids)-1])
	}
	undo := errors.New("the transaction is rolled back")
	spread, custom := func(tx *database.DB) {
		if n, _, err := webhook.SpreadEvents(t.Context(), tx, webhook.Round{Most: spreadTogether}); n != spreadTogether || err != nil {
			t.Fatal(n, err)
		}
	}, func(tx *database.DB) {
		if _, err := webhook.FireCustom(t.Context(), tx, ids[0], nil, event.CustomData{}); err != nil {
			t.Fatal(err)
		}
	}
	fastest := func(do func(tx *database.DB)) time.Duration {
		least := time.Hour
		for range 5 {
			began := time.Now()
			if err := w.DB.Tx(context.Background(), func(tx *database.DB) error { do(tx); return undo }); !errors.Is(err, undo) {
				t.Fatal(err)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	without, customWithout := fastest(spread), fastest(custom)
	w.Exec(`UPDATE experiments SET config = config || jsonb_build_object('integrations', jsonb_build_object('webhooks', jsonb_build_object('webhook_name',
		(SELECT jsonb_agg(repeat('n', 800) || i) FROM generate_series(1, 1000) i))))`)
	with, customWith := fastest(spread), fastest(custom)
	t.Logf("%d events: %v, and with long names %v; an event of a program: %v and %v", spreadTogether, without, with, customWithout, customWith)
	if with > 20*without || customWith > 20*customWithout {
		t.Error("long names of webhooks take too long")
	}
	if n := w.Int(`SELECT max(pg_column_size(hook_names)) FROM experiments`); n > 1000*16+100 {
		t.Errorf("an experiment has %d bytes about webhooks", n)
	}
}

// TestEventsOfOtherWorkspaces: an event for one webhook does not reach it if its subject is in another workspace, as the line of a log
// may be whose experiment was moved before.
func TestEventsOfOtherWorkspaces(t *testing.T) {
	w := newWorld(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	ours, everywhere := w.hook("ours", 1, event.Workspace, onCompleted), w.hook("everywhere", 0, event.Workspace, onCompleted)
	for _, workspace := range []int{1, theirs} {
		for _, hook := range []int{ours, everywhere} {
			w.Exec(`INSERT INTO webhook_outbox (webhook_id, workspace_id, event) VALUES ($1, $2, '{"event_type": "TASK_LOG"}')`, hook, workspace)
		}
	}
	if n, m := len(w.events(ours)), len(w.events(everywhere)); n != 1 || m != 2 {
		t.Errorf("%d and %d events arrive, want 1 and 2", n, m)
	}
	if n := w.Int(`SELECT count(*) FROM webhook_outbox`); n != 0 {
		t.Errorf("%d events are left", n)
	}
}
