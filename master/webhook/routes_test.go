package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
	"github.com/detent-ml/detent/master/webhook/sender"
	"github.com/detent-ml/detent/master/workspaces"
)

// A rig serves the room alone. Whoever has a token is the user of that name, without roles.
type rig struct {
	*world
	*resttest.Site
}

func newRig(t *testing.T, change ...func(*webhook.Deps)) *rig {
	t.Helper()
	r := &rig{world: newWorld(t)}
	d := webhook.Deps{DB: r.DB, Bus: r.Bus, TriggersChanged: func() {},
		OwnerOf: func(ctx context.Context, id int) (int, error) {
			w, err := workspaces.Get(ctx, r.DB, id)
			return w.OwnerID, err
		},
		MayReport: func(context.Context, *rest.Call, int, *int) error { return nil },
		Sender:    sender.New(sender.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, r.DB, r.Bus, slog.New(slog.DiscardHandler))}
	for _, fn := range change {
		fn(&d)
	}
	r.Site = resttest.Serve(t, resttest.ByName(r.DB), func(router *rest.Router) { webhook.Routes(router, d) })
	return r
}

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

func TestWebhooks(t *testing.T) {
	r := newRig(t)
	admin, me := r.With("admin"), r.With("determined")
	mine := r.Int(`INSERT INTO workspaces (name, owner_id) SELECT 'mine', id FROM users WHERE username = 'determined' RETURNING id`)

	var made struct {
		Webhook struct {
			ID, WorkspaceID int
			URL, Name, Mode string
			WebhookType     string
			Triggers        []struct {
				ID, WebhookID int
				TriggerType   string
				Condition     map[string]any
			}
		}
	}
	admin.Post("/api/v1/webhooks", hookBody(t, nil)).OK().Into(&made)
	everywhere := made.Webhook.ID
	if w := made.Webhook; w.URL != "https://example.com/secret" || w.WorkspaceID != 0 || w.Mode != "WEBHOOK_MODE_WORKSPACE" || w.WebhookType != "WEBHOOK_TYPE_DEFAULT" ||
		len(w.Triggers) != 1 || w.Triggers[0].WebhookID != w.ID || w.Triggers[0].TriggerType != "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE" || w.Triggers[0].Condition["state"] != "COMPLETED" {
		t.Errorf("%+v", w)
	}
	me.Post("/api/v1/webhooks", hookBody(t, nil)).Says(400, "non admin users can't edit global webhooks")
	me.Post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 1})).Is(400)
	me.Post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 99})).Is(404)
	me.Post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": mine, "webhookType": "WEBHOOK_TYPE_SLACK", "mode": "WEBHOOK_MODE_SPECIFIC",
		"triggers": trigger("CUSTOM", `{}`)})).OK().Into(&made)
	own := made.Webhook.ID
	me.Post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": mine})).Is(409)
	admin.Post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 1, "name": ""})).OK().Into(&made)
	if !strings.HasPrefix(made.Webhook.Name, "webhook-") {
		t.Errorf("a webhook without a name is called %q", made.Webhook.Name)
	}
	theirs := made.Webhook.ID

	list := func(who resttest.Client) string {
		var got struct {
			Webhooks []struct {
				ID  int
				URL string
			}
		}
		who.Get("/api/v1/webhooks").OK().Into(&got)
		var all []string
		for _, w := range got.Webhooks {
			all = append(all, fmt.Sprint(w.ID, " ", w.URL))
		}
		return strings.Join(all, ", ")
	}
	if got, want := list(admin), fmt.Sprintf("%d https://example.com/secret, %d https://example.com/secret, %d https://example.com/secret", everywhere, own, theirs); got != want {
		t.Errorf("admins see %s", got)
	}
	if got, want := list(me), fmt.Sprintf("%d https://example.com/…, %d https://example.com/secret", everywhere, own); got != want {
		t.Errorf("others see %s", got)
	}

	for _, id := range []int{everywhere, theirs} {
		path := fmt.Sprintf("/api/v1/webhooks/%d", id)
		me.Patch(path, `{"url":"https://example.com"}`).Is(400)
		me.Delete(path).Is(400)
		me.Post(path+"/test", "").Is(400)
		me.Get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries", id)).Is(403)
		me.Post(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/1/redeliver", id), "").Is(403)
	}
	me.Patch(fmt.Sprintf("/api/v1/webhooks/%d", own), `{"url":"http://10.0.0.1/"}`).Is(400)
	me.Patch(fmt.Sprintf("/api/v1/webhooks/%d", own), `{"url":"https://example.com/other"}`).OK()
	if got := list(me); !strings.Contains(got, "https://example.com/other") {
		t.Errorf("after a change: %s", got)
	}
	me.Delete(fmt.Sprintf("/api/v1/webhooks/%d", own)).OK()
	me.Delete(fmt.Sprintf("/api/v1/webhooks/%d", own)).Is(404)
}

// TestWrongWebhooks: invalid webhooks, and the errors for them.
func TestWrongWebhooks(t *testing.T) {
	r := newRig(t)
	admin := r.With("admin")
	long := strings.Repeat("(a?){999}", 9)
	for _, c := range []struct {
		change map[string]any
		words  string
	}{
		{map[string]any{"url": "example.com"}, "absolute address"},
		{map[string]any{"url": "http://169.254.169.254/latest"}, "webhooks.allow"},
		{map[string]any{"url": "http://user:password@example.com"}, "password"},
		{map[string]any{"triggers": []any{}}, "1 to 20 triggers"},
		{map[string]any{"webhookType": "WEBHOOK_TYPE_UNSPECIFIED"}, "WEBHOOK_TYPE_SLACK"},
		{map[string]any{"mode": "WEBHOOK_MODE_SOME"}, "WEBHOOK_MODE_SPECIFIC"},
		{map[string]any{"name": "a\nb"}, "control characters"},
		{map[string]any{"triggers": trigger("CUSTOM", `{}`)}, "WEBHOOK_MODE_SPECIFIC"},
		{map[string]any{"triggers": trigger("SOME", `{}`)}, "TASK_LOG"},
		{map[string]any{"triggers": trigger("EXPERIMENT_STATE_CHANGE", `{"state":"DONE"}`)}, "COMPLETED"},
		{map[string]any{"triggers": trigger("EXPERIMENT_STATE_CHANGE", `{}`)}, "COMPLETED"},
		{map[string]any{"triggers": trigger("EXPERIMENT_STATE_CHANGE", `{"state":"ERROR","regex":"x"}`)}, "another type"},
		{map[string]any{"triggers": trigger("TASK_LOG", `{"regex":"("}`)}, "missing closing"},
		{map[string]any{"triggers": trigger("TASK_LOG", `{"regex":""}`)}, "regular expression"},
		{map[string]any{"triggers": trigger("TASK_LOG", `{"regex":7}`)}, "regex"},
		{map[string]any{"triggers": trigger("TASK_LOG", `{"pattern":"x"}`)}, "pattern"},
		{map[string]any{"triggers": trigger("TASK_LOG", fmt.Sprintf(`{"regex":%q}`, long))}, "too large"},
		{map[string]any{"triggers": trigger("METRIC_THRESHOLD_EXCEEDED", `{"metric":"loss"}`)}, "above and below"},
		{map[string]any{"triggers": trigger("METRIC_THRESHOLD_EXCEEDED", `{"metric":"loss","above":1,"below":2}`)}, "above and below"},
		{map[string]any{"triggers": trigger("METRIC_THRESHOLD_EXCEEDED", `{"above":1}`)}, "name of a metric"},
	} {
		if a := admin.Post("/api/v1/webhooks", hookBody(t, c.change)).Is(400); !strings.Contains(string(a.Body), c.words) {
			t.Errorf("%v: %s", c.change, a.Body)
		}
	}
	admin.Post("/api/v1/webhooks", hookBody(t, map[string]any{"triggers": trigger("METRIC_THRESHOLD_EXCEEDED", `{"metric":"loss","above":1}`)})).OK()
}

// TestDeliveriesOfWebhooks: a test event, the log, and a repetition.
func TestDeliveriesOfWebhooks(t *testing.T) {
	r := newRig(t)
	admin := r.With("admin")
	var status atomic.Int64
	status.Store(200)
	bodies := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		bodies <- string(b)
		w.WriteHeader(int(status.Load()))
	}))
	defer target.Close()
	var made struct{ Webhook struct{ ID int } }
	admin.Post("/api/v1/webhooks", hookBody(t, map[string]any{"url": target.URL + "/sesame"})).OK().Into(&made)
	path := fmt.Sprintf("/api/v1/webhooks/%d", made.Webhook.ID)
	if got := string(admin.Post(path+"/test", "").OK().Body); got != `{"completed":true}` {
		t.Errorf("a test answers %s", got)
	}
	if body := <-bodies; !strings.Contains(body, `"event_data":{"data":"test"}`) {
		t.Errorf("the test event is %s", body)
	}
	status.Store(500)
	if a := admin.Post(path+"/test", "").Is(400); !strings.Contains(string(a.Body), "answered 500") || strings.Contains(string(a.Body), "sesame") {
		t.Errorf("a test that fails: %s", a.Body)
	}
	var log struct {
		Deliveries []struct {
			ID        string
			EventID   string
			EventType string
			State     string
			Status    int
			Error     string
			EndedTime *string
		}
	}
	admin.Get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries", made.Webhook.ID)).OK().Into(&log)
	if len(log.Deliveries) != 2 || log.Deliveries[0].State != "FAILED" || log.Deliveries[0].Status != 500 || log.Deliveries[1].State != "DELIVERED" || log.Deliveries[1].EndedTime == nil {
		t.Fatalf("%+v", log)
	}
	before := fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries?limit=1&before=%s", made.Webhook.ID, log.Deliveries[0].ID)
	older := log.Deliveries[1].EventID
	admin.Get(before).OK().Into(&log)
	if len(log.Deliveries) != 1 || log.Deliveries[0].EventID != older {
		t.Errorf("the next page: %+v", log)
	}
	admin.Get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries?limit=0", made.Webhook.ID)).Is(400)
	again := fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/%s/redeliver", made.Webhook.ID, log.Deliveries[0].ID)
	admin.Post(again, "").OK()
	admin.Post(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/999/redeliver", made.Webhook.ID), "").Is(404)
	due, err := webhook.DueDeliveries(t.Context(), r.DB, false, webhook.Busy{MaxOfOwner: 10}, 10)
	if err != nil || len(due) != 1 || due[0].EventID != older {
		t.Errorf("the deliveries that are due: %+v, %v", due, err)
	}
}

// TestCustomEventsAreLimited: a user cannot send any number of events.
func TestCustomEventsAreLimited(t *testing.T) {
	r := newRig(t, func(d *webhook.Deps) { d.Custom = cache.NewRates[int](2, time.Hour, 10) })
	admin, me := r.With("admin"), r.With("determined")
	r.hook("hook", 0, event.Specific, "CUSTOM")
	body := fmt.Sprintf(`{"experimentId":%d,"data":{}}`, r.hooked(`{"webhook_name": ["hook"]}`))
	for range 2 {
		me.Post("/api/v1/webhooks/custom", body).OK()
	}
	me.Post("/api/v1/webhooks/custom", body).Says(429, "a user may send")
	admin.Post("/api/v1/webhooks/custom", body).OK()
	r.Exec(`INSERT INTO webhook_outbox (workspace_id, event) SELECT 1, '{}' FROM generate_series(1, 100)`)
	admin.Post("/api/v1/webhooks/custom", body).Says(429, "already wait to be sent")
}

// TestAnImportedWebhookIsOff: it gets no events, of whatever kind, until its receiver has accepted a test event.
func TestAnImportedWebhookIsOff(t *testing.T) {
	r := newRig(t)
	var status atomic.Int64
	status.Store(500)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer target.Close()
	hook := r.hook("imported", 1, event.Workspace, onCompleted, `METRIC_THRESHOLD_EXCEEDED {"metric_name": "loss", "operator": "less", "value": 1}`)
	r.Exec(`UPDATE webhooks SET off = true, url = $1`, target.URL)
	experiment := r.Experiment(rowtest.LossSearcher)
	r.Trial(experiment, 0, 1)
	fires := func() (events, thresholds int) {
		t.Helper()
		r.Exec(`UPDATE experiments SET state = 'PAUSED', ended_at = NULL WHERE id = $1`, experiment)
		if err := r.moveTo(experiment, "PAUSED", "COMPLETED", nil); err != nil {
			t.Fatal(err)
		}
		wanted, err := webhook.Wanted(t.Context(), r.DB, []int{r.Int(`SELECT id FROM trials`)})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.events(hook)), len(wanted)
	}
	path := fmt.Sprintf("/api/v1/webhooks/%d/test", hook)
	r.With("admin").Post(path, "").Is(400)
	if events, thresholds := fires(); events != 0 || thresholds != 0 {
		t.Errorf("a webhook that is off gets %d events, and reports are compared for it: %d", events, thresholds)
	}
	if got := string(r.With("admin").Get("/api/v1/webhooks").OK().Body); !strings.Contains(got, `"off":true`) {
		t.Errorf("the list has %s", got)
	}
	status.Store(200)
	r.With("admin").Post(path, "").OK()
	if events, thresholds := fires(); events != 1 || thresholds != 1 {
		t.Errorf("after a test the webhook gets %d events in place of 1, and %d of 1 trials are compared", events, thresholds)
	}
}
