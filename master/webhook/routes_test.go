package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
	"github.com/detent-ml/detent/master/webhook/sender"
	"github.com/detent-ml/detent/master/workspaces"
)

// A rig serves the room alone. Whoever has a token is the user of that name, without roles.
type rig struct {
	*world
	url string
}

func newRig(t *testing.T, change ...func(*webhook.Deps)) *rig {
	t.Helper()
	r := &rig{world: newWorld(t)}
	router := rest.New(t.Context(), rest.Config{Log: slog.New(slog.DiscardHandler), Identify: r.who,
		Access:        func(*rest.Route, auth.Who) error { return nil },
		AccessChanges: func() (<-chan struct{}, func()) { return nil, func() {} },
		Poller:        func(c *rest.Call) string { return c.Owner() },
		LimitReads:    func(ctx context.Context, _ int64) context.Context { return ctx }})
	d := webhook.Deps{DB: r.DB.DB, Bus: r.Bus, TriggersChanged: func() {},
		OwnerOf: func(ctx context.Context, id int) (int, error) {
			w, err := workspaces.Get(ctx, r.DB.DB, id)
			return w.OwnerID, err
		},
		MayReport: func(context.Context, *rest.Call, int, *int) error { return nil },
		Sender:    sender.New(sender.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, r.DB.DB, r.Bus, slog.New(slog.DiscardHandler))}
	for _, fn := range change {
		fn(&d)
	}
	webhook.Routes(router, d)
	router.Mount()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + lis.Addr().String()
	served := make(chan error, 1)
	go func() { served <- router.Listen(lis) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := router.Shutdown(10 * time.Second); err != nil {
			t.Error(err)
		}
		<-served
	})
	return r
}

func (r *rig) who(_ context.Context, token rest.Credential) (auth.Who, error) {
	id := r.Int(`SELECT coalesce((SELECT id FROM users WHERE username = $1), 0)`, token.Token)
	if id == 0 {
		return auth.Who{}, fault.New(fault.Unauthenticated, "nobody has this token")
	}
	return auth.Who{UserID: id, Username: token.Token, Admin: token.Token == "admin", SessionID: 1}, nil
}

func (r *rig) user(name string) as { return as{r, name} }

// as is a client with a token.
type as struct {
	r     *rig
	token string
}

func (c as) get(path string) answer         { return c.do("GET", path, "") }
func (c as) post(path, body string) answer  { return c.do("POST", path, body) }
func (c as) patch(path, body string) answer { return c.do("PATCH", path, body) }
func (c as) del(path string) answer         { return c.do("DELETE", path, "") }

func (c as) do(method, path, body string) answer {
	c.r.T.Helper()
	q, err := http.NewRequestWithContext(c.r.T.Context(), method, c.r.url+path, strings.NewReader(body))
	if err != nil {
		c.r.T.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		c.r.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.r.T.Fatal(err)
	}
	return answer{c.r.T, method + " " + path, resp.StatusCode, b}
}

// An answer is what a call returned.
type answer struct {
	t    testing.TB
	what string
	code int
	body []byte
}

func (a answer) ok() answer { a.t.Helper(); return a.is(200) }

func (a answer) is(code int) answer {
	a.t.Helper()
	if a.code != code {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.code, code, a.body)
	}
	return a
}

func (a answer) says(code int, word string) {
	a.t.Helper()
	if a.is(code); !strings.Contains(string(a.body), word) {
		a.t.Fatalf("%s: %s does not say %q", a.what, a.body, word)
	}
}

func (a answer) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
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
	admin, me := r.user("admin"), r.user("determined")
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
	admin.post("/api/v1/webhooks", hookBody(t, nil)).ok().into(&made)
	everywhere := made.Webhook.ID
	if w := made.Webhook; w.URL != "https://example.com/secret" || w.WorkspaceID != 0 || w.Mode != "WEBHOOK_MODE_WORKSPACE" || w.WebhookType != "WEBHOOK_TYPE_DEFAULT" ||
		len(w.Triggers) != 1 || w.Triggers[0].WebhookID != w.ID || w.Triggers[0].TriggerType != "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE" || w.Triggers[0].Condition["state"] != "COMPLETED" {
		t.Errorf("%+v", w)
	}
	me.post("/api/v1/webhooks", hookBody(t, nil)).says(400, "non admin users can't edit global webhooks")
	me.post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 1})).is(400)
	me.post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 99})).is(404)
	me.post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": mine, "webhookType": "WEBHOOK_TYPE_SLACK", "mode": "WEBHOOK_MODE_SPECIFIC",
		"triggers": trigger("CUSTOM", `{}`)})).ok().into(&made)
	own := made.Webhook.ID
	me.post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": mine})).is(409)
	admin.post("/api/v1/webhooks", hookBody(t, map[string]any{"workspaceId": 1, "name": ""})).ok().into(&made)
	if !strings.HasPrefix(made.Webhook.Name, "webhook-") {
		t.Errorf("a webhook without a name is called %q", made.Webhook.Name)
	}
	theirs := made.Webhook.ID

	list := func(who as) string {
		var got struct {
			Webhooks []struct {
				ID  int
				URL string
			}
		}
		who.get("/api/v1/webhooks").ok().into(&got)
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
		me.patch(path, `{"url":"https://example.com"}`).is(400)
		me.del(path).is(400)
		me.post(path+"/test", "").is(400)
		me.get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries", id)).is(403)
		me.post(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/1/redeliver", id), "").is(403)
	}
	me.patch(fmt.Sprintf("/api/v1/webhooks/%d", own), `{"url":"http://10.0.0.1/"}`).is(400)
	me.patch(fmt.Sprintf("/api/v1/webhooks/%d", own), `{"url":"https://example.com/other"}`).ok()
	if got := list(me); !strings.Contains(got, "https://example.com/other") {
		t.Errorf("after a change: %s", got)
	}
	me.del(fmt.Sprintf("/api/v1/webhooks/%d", own)).ok()
	me.del(fmt.Sprintf("/api/v1/webhooks/%d", own)).is(404)
}

// TestWrongWebhooks: invalid webhooks, and the errors for them.
func TestWrongWebhooks(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
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
		if a := admin.post("/api/v1/webhooks", hookBody(t, c.change)).is(400); !strings.Contains(string(a.body), c.words) {
			t.Errorf("%v: %s", c.change, a.body)
		}
	}
	admin.post("/api/v1/webhooks", hookBody(t, map[string]any{"triggers": trigger("METRIC_THRESHOLD_EXCEEDED", `{"metric":"loss","above":1}`)})).ok()
}

// TestDeliveriesOfWebhooks: a test event, the log, and a repetition.
func TestDeliveriesOfWebhooks(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
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
	admin.post("/api/v1/webhooks", hookBody(t, map[string]any{"url": target.URL + "/sesame"})).ok().into(&made)
	path := fmt.Sprintf("/api/v1/webhooks/%d", made.Webhook.ID)
	if got := string(admin.post(path+"/test", "").ok().body); got != `{"completed":true}` {
		t.Errorf("a test answers %s", got)
	}
	if body := <-bodies; !strings.Contains(body, `"event_data":{"data":"test"}`) {
		t.Errorf("the test event is %s", body)
	}
	status.Store(500)
	if a := admin.post(path+"/test", "").is(400); !strings.Contains(string(a.body), "answered 500") || strings.Contains(string(a.body), "sesame") {
		t.Errorf("a test that fails: %s", a.body)
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
	admin.get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries", made.Webhook.ID)).ok().into(&log)
	if len(log.Deliveries) != 2 || log.Deliveries[0].State != "FAILED" || log.Deliveries[0].Status != 500 || log.Deliveries[1].State != "DELIVERED" || log.Deliveries[1].EndedTime == nil {
		t.Fatalf("%+v", log)
	}
	before := fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries?limit=1&before=%s", made.Webhook.ID, log.Deliveries[0].ID)
	older := log.Deliveries[1].EventID
	admin.get(before).ok().into(&log)
	if len(log.Deliveries) != 1 || log.Deliveries[0].EventID != older {
		t.Errorf("the next page: %+v", log)
	}
	admin.get(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries?limit=0", made.Webhook.ID)).is(400)
	again := fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/%s/redeliver", made.Webhook.ID, log.Deliveries[0].ID)
	admin.post(again, "").ok()
	admin.post(fmt.Sprintf("/api/v1/detent/webhooks/%d/deliveries/999/redeliver", made.Webhook.ID), "").is(404)
	due, err := webhook.DueDeliveries(t.Context(), r.DB.DB, false, webhook.Busy{MaxOfOwner: 10}, 10)
	if err != nil || len(due) != 1 || due[0].EventID != older {
		t.Errorf("the deliveries that are due: %+v, %v", due, err)
	}
}

// TestCustomEventsAreLimited: a user cannot send any number of events.
func TestCustomEventsAreLimited(t *testing.T) {
	r := newRig(t, func(d *webhook.Deps) { d.Custom = memory.NewRates[int](2, time.Hour, 10) })
	admin, me := r.user("admin"), r.user("determined")
	r.hook("hook", 0, event.Specific, "CUSTOM")
	body := fmt.Sprintf(`{"experimentId":%d,"data":{}}`, r.hooked(`{"webhook_name": ["hook"]}`))
	for range 2 {
		me.post("/api/v1/webhooks/custom", body).ok()
	}
	me.post("/api/v1/webhooks/custom", body).says(429, "a user may send")
	admin.post("/api/v1/webhooks/custom", body).ok()
	r.Exec(`INSERT INTO webhook_outbox (workspace_id, event) SELECT 1, '{}' FROM generate_series(1, 100)`)
	admin.post("/api/v1/webhooks/custom", body).says(429, "already wait to be sent")
}
