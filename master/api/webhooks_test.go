package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/webhook"
	events "github.com/detent-ml/detent/master/webhook/event"
)

// hookBody is a request for a webhook; change replaces fields.
func hookBody(t *testing.T, change map[string]any) string {
	t.Helper()
	body := map[string]any{"url": "https://example.com/secret", "name": "hook", "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE",
		"triggers": []any{map[string]any{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": map[string]any{"state": "COMPLETED"}}}}
	for key, value := range change {
		body[key] = value
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func trigger(kind, condition string) []any {
	return []any{map[string]any{"triggerType": "TRIGGER_TYPE_" + kind, "condition": json.RawMessage(condition)}}
}

// TestCustomEventsOfPrograms: a trial may send events for itself, users for what they may
// change.
func TestCustomEventsOfPrograms(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	var made struct{ Webhook struct{ ID int } }
	admin.post("/api/v1/webhooks", hookBody(t, map[string]any{"mode": "WEBHOOK_MODE_SPECIFIC", "triggers": trigger("CUSTOM", `{}`)})).ok().into(&made)
	a := r.running(yaml("integrations: {webhooks: {webhook_name: [hook]}}"), 1)
	other := r.running(yaml(), 1)
	body := func(experiment int, trial any, data string) string {
		b, _ := json.Marshal(map[string]any{"experimentId": experiment, "trialId": trial, "data": json.RawMessage(data)})
		return string(b)
	}
	const data = `{"title":"t","description":"d","level":"LOG_LEVEL_WARNING"}`
	if got := string(a.ranks[0].post("/api/v1/webhooks/custom", body(a.exp, a.trial, data)).ok().body); got != `{}` {
		t.Errorf("the answer to a custom event is %s", got)
	}
	a.ranks[0].post("/api/v1/webhooks/custom", body(other.exp, other.trial, data)).is(403)
	a.ranks[0].post("/api/v1/webhooks/custom", body(other.exp, a.trial, data)).is(400)
	a.ranks[0].post("/api/v1/webhooks/custom", body(a.exp, nil, data)).is(403)
	me.post("/api/v1/webhooks/custom", body(a.exp, nil, `{}`)).ok()
	me.post("/api/v1/webhooks/custom", body(9999, nil, `{}`)).is(404)
	me.post("/api/v1/webhooks/custom", body(a.exp, nil, `{"level":"LOUD"}`)).is(400)
	me.post("/api/v1/webhooks/custom", body(a.exp, nil, `{"title":"`+strings.Repeat("x", 501)+`"}`)).is(400)
	if n, _, err := webhook.SpreadEvents(t.Context(), r.db, webhook.Round{Most: 50}); err != nil || n != 2 {
		t.Fatalf("%d events, %v", n, err)
	}
	list, err := webhook.Deliveries(t.Context(), r.db, made.Webhook.ID, 0, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	var e events.Event
	if err := json.Unmarshal(list[1].Event, &e); err != nil || *e.Custom != (events.CustomData{Title: "t", Description: "d", Level: "WARNING"}) || e.Experiment.ID != a.exp || *e.Experiment.TrialID != a.trial {
		t.Errorf("%+v, %v", e, err)
	}
}
