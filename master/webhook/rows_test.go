package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

// TestEventWithItsChange: an event is stored with the change of state, or not at all.
func TestEventWithItsChange(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, onCompleted)
	id := w.Experiment(rowtest.LossSearcher)
	if err := w.moveTo(id, "PAUSED", "COMPLETED", errors.New("the transaction fails")); err == nil {
		t.Fatal("no error")
	}
	if err := w.moveTo(id, "ACTIVE", "COMPLETED", nil); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a stale change: %v", err)
	}
	if list := w.events(hook); len(list) != 0 {
		t.Fatalf("without a change there are %+v", list)
	}
	if err := w.moveTo(id, "PAUSED", "PAUSED", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.moveTo(id, "PAUSED", "COMPLETED", nil); err != nil {
		t.Fatal(err)
	}
	list := w.events(hook)
	if len(list) != 1 {
		t.Fatalf("there are %+v", list)
	}
	e := list[0]
	if e.Type != event.StateChange || e.Condition.State != "COMPLETED" || time.Since(time.Unix(e.Timestamp, 0)) > time.Hour ||
		*e.Experiment != (event.Experiment{ID: id, State: "COMPLETED", Name: "test", Pool: "default", Slots: 1, Workspace: "Uncategorized", Project: "Uncategorized", Unnamed: true, Duration: e.Experiment.Duration}) {
		t.Errorf("%+v of %+v", e, e.Experiment)
	}
}

// TestWhoReceives: which webhooks receive the event of which experiment, all with the same id.
func TestWhoReceives(t *testing.T) {
	w := newWorld(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	hooks := map[string]int{
		"everywhere": w.hook("everywhere", 0, event.Workspace, onCompleted, `EXPERIMENT_STATE_CHANGE {"state": "ERROR"}`),
		"ours":       w.hook("ours", 1, event.Workspace, onCompleted),
		"theirs":     w.hook("theirs", theirs, event.Workspace, onCompleted),
		"named":      w.hook("named", 1, event.Specific, onCompleted),
		"asked":      w.hook("asked", 0, event.Specific, onCompleted),
		"failures":   w.hook("failures", 1, event.Workspace, `EXPERIMENT_STATE_CHANGE {"state": "ERROR"}`),
	}
	for section, want := range map[string]string{
		`null`:                        "everywhere ours",
		`{}`:                          "everywhere ours",
		`{"exclude": true}`:           "",
		`{"exclude": false}`:          "everywhere ours",
		`{"webhook_name": ["named"]}`: "everywhere named ours",
		`{"webhook_name": ["other", "theirs"], "webhook_id": []}`: "everywhere ours",
		fmt.Sprintf(`{"webhook_id": [%d]}`, hooks["asked"]):       "asked everywhere ours",
	} {
		w.Exec(`DELETE FROM webhook_deliveries`)
		if err := w.moveTo(w.hooked(section), "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
		w.spread()
		got := w.Text(`SELECT coalesce(string_agg(w.name, ' ' ORDER BY w.name), '') FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id`)
		if got != want {
			t.Errorf("%s: %q receive it, want %q", section, got, want)
		}
		if n := w.Int(`SELECT count(DISTINCT event_id) FROM webhook_deliveries`); n > 1 {
			t.Errorf("%s: the event has %d ids", section, n)
		}
	}
}

// TestEventsOfUnmanagedExperiments: the store itself changes their state.
func TestEventsOfUnmanagedExperiments(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, onCompleted, `EXPERIMENT_STATE_CHANGE {"state": "ACTIVE"}`)
	id := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET unmanaged = true WHERE id = $1`, id)
	trial, err := experiments.CreateUnmanagedTrial(t.Context(), w.DB, experiments.NewUnmanagedTrial{ExperimentID: id, HParams: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "COMPLETED", "COMPLETED", "ACTIVE"} {
		if err := experiments.ReportUnmanagedTrial(t.Context(), w.DB, trial, state); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range w.events(hook) {
		got = append(got, e.Condition.State)
	}
	if s := strings.Join(got, " "); s != "ACTIVE COMPLETED ACTIVE" {
		t.Errorf("the events are %q", s)
	}
}

// TestCustomEvents: the webhooks that an experiment names receive its custom events.
func TestCustomEvents(t *testing.T) {
	w := newWorld(t)
	named, other := w.hook("named", 1, event.Specific, "CUSTOM"), w.hook("other", 1, event.Specific, "CUSTOM")
	id := w.hooked(`{"webhook_name": ["named"]}`)
	trial := w.Trial(id, 0, 1)
	fire := func(experiment int, trial *int) int {
		t.Helper()
		n, err := webhook.FireCustom(t.Context(), w.DB, experiment, trial, event.CustomData{Title: "t'", Description: "d", Level: "INFO"})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := fire(w.Experiment(rowtest.LossSearcher), nil); n != 0 {
		t.Errorf("an experiment that names no webhook: %d deliveries", n)
	}
	if n := fire(id, &trial); n != 1 || len(w.events(other)) != 0 {
		t.Errorf("%d deliveries", n)
	}
	if e := w.events(named)[0]; *e.Custom != (event.CustomData{Title: "t'", Description: "d", Level: "INFO"}) || *e.Experiment.TrialID != trial || e.Type != event.Custom {
		t.Errorf("%+v", e)
	}
	if n := fire(id, nil); n != 1 || w.events(named)[1].Experiment.TrialID != nil {
		t.Errorf("without a trial: %d", n)
	}
	if _, err := webhook.FireCustom(t.Context(), w.DB, id, nil, event.CustomData{Title: "\x00"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a NUL: %v", err)
	}
	w.waitingOf(named, webhook.MaxWaiting)
	if _, err := webhook.FireCustom(t.Context(), w.DB, id, nil, event.CustomData{}); !fault.Is(err, fault.TooMany) {
		t.Errorf("an event while the maximum waits: %v", err)
	}
	if n := w.Int(`SELECT count(*) FROM webhook_deliveries WHERE webhook_id = $1`, named); n != webhook.MaxWaiting+2 {
		t.Errorf("%d deliveries are stored", n)
	}
}

// TestDeletionWhileDelivering: the leader stores results of a webhook that somebody deletes at that
// moment, and neither fails.
func TestDeletionWhileDelivering(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		hook := w.hook(fmt.Sprintf("h%d", i), 1, event.Workspace, onCompleted)
		w.Exec(`INSERT INTO webhook_deliveries (webhook_id, event_id, event) VALUES ($1, gen_random_uuid(), '{}')`, hook)
		id := w.Int(`SELECT id FROM webhook_deliveries WHERE webhook_id = $1`, hook)
		recorded := make(chan error, 1)
		go func() {
			recorded <- w.DB.Tx(t.Context(), func(tx *database.DB) error {
				return webhook.RecordDelivery(t.Context(), tx, webhook.DeliveryResult{ID: int64(id), WebhookID: hook, State: "DELIVERED", Status: 200})
			})
		}()
		if err := webhook.Delete(t.Context(), w.DB, hook); err != nil {
			t.Fatalf("the deletion: %v", err)
		}
		if err := <-recorded; err != nil {
			t.Fatalf("the result: %v", err)
		}
	}
}

// TestDeliveryLog: the number of waiting deliveries is limited, and so is the log of ended ones.
func TestDeliveryLog(t *testing.T) {
	w := newWorld(t)
	hook := w.hook("a", 1, event.Workspace, onCompleted)
	w.waitingOf(hook, webhook.MaxWaiting)
	if err := w.moveTo(w.Experiment(rowtest.LossSearcher), "PAUSED", "COMPLETED", nil); err != nil {
		t.Fatal(err)
	}
	w.spread()
	list, err := webhook.Deliveries(t.Context(), w.DB, hook, 0, 1)
	if err != nil || list[0].State != "DROPPED" || !strings.Contains(list[0].Error, "too many") || list[0].EndedAt == nil {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := webhook.Redeliver(t.Context(), w.DB, hook, list[0].ID); !fault.Is(err, fault.TooMany) {
		t.Errorf("redelivery while the maximum waits: %v", err)
	}
	w.Exec(`UPDATE webhook_deliveries SET state = 'DELIVERED', ended_at = now() WHERE state = 'WAITING' AND id > (SELECT min(id) FROM webhook_deliveries)`)
	w.waitingOf(hook, 0)
	due, err := webhook.DueDeliveries(t.Context(), w.DB, false, webhook.Busy{MaxOfOwner: 10}, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("%+v, %v", due, err)
	}
	if busy, err := webhook.DueDeliveries(t.Context(), w.DB, false, webhook.Busy{Webhooks: []int{hook}, MaxOfOwner: 10}, 10); err != nil || len(busy) != 0 {
		t.Errorf("due while another delivery is sent: %+v, %v", busy, err)
	}
	if _, err := webhook.Redeliver(t.Context(), w.DB, hook, due[0].ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("redelivery of a delivery that waits: %v", err)
	}
	retry := webhook.DeliveryResult{ID: due[0].ID, WebhookID: hook, State: "WAITING", RetryAfter: time.Hour, Status: 503, Error: "the receiver answered 503"}
	if err := webhook.RecordDelivery(t.Context(), w.DB, retry); err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		if due, err := webhook.DueDeliveries(t.Context(), w.DB, again, webhook.Busy{MaxOfOwner: 10}, 10); err != nil || len(due) != 0 {
			t.Errorf("due before the time of the retry: %+v, %v", due, err)
		}
	}
	retry.State, retry.Status, retry.Error = "DELIVERED", 200, ""
	if err := webhook.RecordDelivery(t.Context(), w.DB, retry); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT count(*) FROM webhook_deliveries`); n != webhook.KeptDeliveries {
		t.Errorf("the log has %d deliveries, want %d", n, webhook.KeptDeliveries)
	}
	again, err := webhook.Redeliver(t.Context(), w.DB, hook, list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if both := w.Int(`SELECT count(DISTINCT event_id) * 10 + count(*) FROM webhook_deliveries WHERE id IN ($1, $2) AND event->>'event_type' = 'EXPERIMENT_STATE_CHANGE'`, list[0].ID, again); both != 12 {
		t.Errorf("the event and its redelivery: %d, want 12 (one event id, two rows)", both)
	}
	if err := webhook.Delete(t.Context(), w.DB, hook); err != nil {
		t.Fatal(err)
	}
	if n := w.Int(`SELECT (SELECT count(*) FROM webhook_deliveries) + (SELECT count(*) FROM webhook_triggers)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestTargetsTakeTurns: the webhook that waits the longest is next.
func TestTargetsTakeTurns(t *testing.T) {
	w := newWorld(t)
	var hooks []int
	for i := range 3 {
		hooks = append(hooks, w.hook(fmt.Sprint("h", i), 1, event.Workspace, onCompleted))
	}
	for range 2 {
		if err := w.moveTo(w.Experiment(rowtest.LossSearcher), "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for range 6 {
		w.spread()
		due, err := webhook.DueDeliveries(t.Context(), w.DB, false, webhook.Busy{MaxOfOwner: 10}, 1)
		if err != nil || len(due) != 1 {
			t.Fatalf("%+v, %v", due, err)
		}
		got = append(got, due[0].WebhookID)
		if err := webhook.RecordDelivery(t.Context(), w.DB, webhook.DeliveryResult{ID: due[0].ID, WebhookID: due[0].WebhookID, State: "DELIVERED", Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(append(hooks, hooks...)) {
		t.Errorf("the turns are %v of %v", got, hooks)
	}
}

// TestLimitsOfWebhooks: the number of webhooks is limited, and the number of triggers with which masters
// compare each line.
func TestLimitsOfWebhooks(t *testing.T) {
	w := newWorld(t)
	logs := make([]string, webhook.MaxSearches)
	for i := range logs {
		logs[i] = `TASK_LOG {"regex": "x"}`
	}
	w.hook("many", 1, event.Workspace, logs...)
	ws := 1
	create := func(h webhook.Webhook) error {
		h.WorkspaceID, h.URL, h.Type, h.Mode = &ws, "https://example.com", event.Default, event.Workspace
		_, err := webhook.Insert(t.Context(), w.DB, h)
		return err
	}
	if err := create(webhook.Webhook{Name: "one more", Triggers: []webhook.Trigger{{Type: event.Threshold}}}); !fault.Is(err, fault.TooMany) {
		t.Errorf("one more trigger: %v", err)
	}
	if err := create(webhook.Webhook{Name: "many"}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `"many"`) {
		t.Errorf("the same name: %v", err)
	}
	for i := 1; i < webhook.MaxWebhooks; i++ {
		if err := create(webhook.Webhook{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(webhook.Webhook{Name: "over"}); !fault.Is(err, fault.TooMany) {
		t.Errorf("one more webhook: %v", err)
	}
	if list, err := webhook.List(t.Context(), w.DB, auth.Everywhere(), 0); err != nil || len(list) != webhook.MaxWebhooks || len(list[0].Triggers) != webhook.MaxSearches {
		t.Errorf("%d webhooks, %v", len(list), err)
	}
}

// TestTriggersOfOneOwner: what all webhooks have a limited number of, one user does not use up with many workspaces.
func TestTriggersOfOneOwner(t *testing.T) {
	w := newWorld(t)
	mine := w.Int(`INSERT INTO users (username) VALUES ('mine') RETURNING id`)
	w.Exec(`INSERT INTO workspaces (name, owner_id) SELECT 'w' || n, $1 FROM generate_series(1, 10) n`, mine)
	last := w.Int(`SELECT max(id) FROM workspaces`)
	other := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('others', 1) RETURNING id`)
	w.Exec(`INSERT INTO webhooks (workspace_id, name, url, type, mode) SELECT id, 'h', 'http://127.0.0.1', 'DEFAULT', 'WORKSPACE' FROM workspaces WHERE owner_id = $1`, mine)
	w.Exec(`INSERT INTO webhook_triggers (webhook_id, type, condition) SELECT h.id, 'TASK_LOG', '{"regex": "x"}' FROM webhooks h, generate_series(1, $1)`, webhook.MaxOwnSearches/10)
	trigger := webhook.Trigger{Type: event.TaskLog}
	if err := webhook.HasRoom(t.Context(), w.DB, webhook.Webhook{WorkspaceID: &last, Triggers: []webhook.Trigger{trigger}}); !fault.Is(err, fault.TooMany) {
		t.Errorf("one trigger too many of an owner: %v", err)
	}
	if err := webhook.HasRoom(t.Context(), w.DB, webhook.Webhook{WorkspaceID: &other, Triggers: []webhook.Trigger{trigger}}); err != nil {
		t.Errorf("a trigger of another owner: %v", err)
	}
}

// TestWebhooksKeepToTheirScope: a list has no webhook of a workspace outside of its scope, and none for the zero scope.
func TestWebhooksKeepToTheirScope(t *testing.T) {
	w := newWorld(t)
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	w.hook("ours", 1, event.Workspace, onCompleted)
	w.hook("theirs", theirs, event.Workspace, onCompleted)
	w.hook("everywhere", 0, event.Workspace, onCompleted)
	for want, in := range map[string]auth.Scope{"ours theirs everywhere": auth.Everywhere(), "ours": {Workspaces: []int{1}}, "theirs": {Workspaces: []int{theirs}}, "": {}} {
		list, err := webhook.List(t.Context(), w.DB, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range list {
			got = append(got, h.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%+v: %q, want %q", in, s, want)
		}
	}
}
