package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A hook is a row of the room of this test, which adds its routes as a noun of the master does.
type hook struct{ id, owner int }

// deps is what the room needs of others.
type deps struct{ changed *[]int }

func routes(r *Router, d deps) {
	on := On("id", find, object)
	Serve(r, v1.ListWebhooks, list)
	ServeOn(r, v1.ChangeWebhook, on, change(d))
}

func find(_ context.Context, id int) (hook, error) {
	if id > 2 {
		return hook{}, fault.New(fault.NotFound, "webhook %d not found", id)
	}
	return hook{id: id, owner: id}, nil // the first is the caller's
}

func object(h hook) auth.Object {
	return auth.Object{Kind: v1.KindWebhook, Name: fmt.Sprint("webhook ", h.id), OwnerID: h.owner}
}

func list(_ context.Context, c *Call, _ *v1.None) (*v1.GetWebhooksResponse, error) {
	return &v1.GetWebhooksResponse{Webhooks: []v1.Webhook{{ID: 1, Name: c.Who().Username}}}, nil
}

func change(d deps) HandlerOn[hook, v1.PatchWebhook, v1.Empty] {
	return func(_ context.Context, _ *Call, h hook, _ *v1.PatchWebhook) (*v1.Empty, error) {
		*d.changed = append(*d.changed, h.id)
		return &v1.Empty{}, nil
	}
}

// A notebook records what a trail learns.
type notebook struct {
	noTrail
	lines []string
	full  bool
}

func (n *notebook) Around(c *Call, who auth.Who, run func() error) error {
	if n.full {
		return fault.New(fault.Unavailable, "the trail accepts nothing")
	}
	err := run()
	status, _ := c.Answered()
	if err != nil {
		status, _ = StatusOf(err)
	}
	n.lines = append(n.lines, fmt.Sprintf("%s %s %s %s: %d", who.Username, c.Method(), c.Line().Path, strings.Join(c.Params(), "/"), status))
	return err
}

func (n *notebook) Body(_ *Call, body []byte) { n.lines = append(n.lines, string(body)) }

// TestARoom: a noun adds its routes, and needs nothing of the master but what it says.
func TestARoom(t *testing.T) {
	trail, changed := &notebook{}, []int{}
	r := newRig(t, func(c *Config) { c.Trail = trail })
	routes(r.Router, deps{&changed})
	r.serve()
	for _, q := range []struct {
		method, path, token, body string
		status                    int
		says                      string
	}{
		{"GET", "/api/v1/webhooks", "me", "", 200, `"name":"me"`},
		{"GET", "/api/v1/webhooks", "", "", 401, "not signed in"},
		{"GET", "/api/v1/webhooks", "stranger", "", 401, "nobody has this token"},
		{"PATCH", "/api/v1/webhooks/1", "me", `{"webhook":{}}`, 200, "{}"},
		{"PATCH", "/api/v1/webhooks/2", "me", `{"webhook":{}}`, 403, "may not change this webhook"},
		{"PATCH", "/api/v1/webhooks/3", "me", `{"webhook":{}}`, 404, "webhook 3 not found"},
		{"PATCH", "/api/v1/webhooks/x", "me", `{"webhook":{}}`, 400, "is not an id"},
		{"PATCH", "/api/v1/webhooks/1", "me", `{"webhook":`, 400, "JSON"},
		{"PATCH", "/api/v1/webhooks/1", "me", strings.Repeat(" ", v1.ConfigBody), 413, "the limit here"},
		{"PUT", "/api/v1/webhooks/1", "me", "", 501, "has no method PUT; it has PATCH"},
		{"GET", "/api/v1/nothing", "me", "", 404, "no such path"},
	} {
		status, answer := r.ask(q.method, q.path, q.token, q.body)
		if status != q.status || !strings.Contains(answer, q.says) {
			t.Errorf("%s %s by %q: %d %s", q.method, q.path, q.token, status, answer)
		}
	}
	if !slices.Equal(changed, []int{1}) {
		t.Errorf("changed: %v", changed)
	}
	want := []string{"me GET /webhooks : 200", `{"webhook":{}}`, "me PATCH /webhooks/:id 1: 200", "me PATCH /webhooks/:id 2: 403", "me PATCH /webhooks/:id 3: 404",
		"me PATCH /webhooks/:id x: 400", "me PATCH /webhooks/:id 1: 400", "me PATCH /webhooks/:id 1: 413"}
	if !slices.Equal(trail.lines, want) {
		t.Errorf("the trail has\n%s\nwant\n%s", strings.Join(trail.lines, "\n"), strings.Join(want, "\n"))
	}
	trail.full = true
	if status, _ := r.ask("PATCH", "/api/v1/webhooks/1", "me", `{"webhook":{}}`); status != 503 || len(changed) != 1 {
		t.Errorf("a call that the trail does not accept: %d, %v", status, changed)
	}
}

// A protocol that is not ours writes errors in its own form, and admits its own callers.
func TestADialect(t *testing.T) {
	r := newRig(t)
	r.Speak(Dialect{Prefix: "/scim/v2", Error: func(c *Call, status int, _ error, message string) error {
		c.Status(status)
		return c.SendBody([]byte("dialect: " + message))
	}, OtherMethod: func(c *Call) error { return fault.New(fault.Conflict, "no %s", c.Method()) }})
	r.AdmitBy(v1.BySCIM, func(c *Call, run func(who auth.Who) error) error {
		if c.Get("Authorization") != "secret" {
			return c.Reject(fault.New(fault.Unauthenticated, "wrong secret"))
		}
		return run(auth.Who{Username: "scim", Service: "scim"})
	})
	Raw(r.Router, v1.ListSCIMUsers, func(_ context.Context, c *Call) error { return c.SendBody([]byte(c.Who().Service)) })
	r.serve()
	for _, q := range []struct {
		method, path, token string
		status              int
		says                string
	}{
		{"GET", "/scim/v2/Users", "secret", 200, "scim"},
		{"GET", "/scim/v2/Users", "me", 401, "dialect: wrong secret"},
		{"DELETE", "/scim/v2/Users", "secret", 409, "dialect: no DELETE"},
		{"GET", "/scim/v2/Nothing", "secret", 404, "dialect: no such path"},
	} {
		if status, answer := r.ask(q.method, q.path, q.token, ""); status != q.status || !strings.Contains(answer, q.says) {
			t.Errorf("%s %s: %d %s", q.method, q.path, status, answer)
		}
	}
}

// ask sends a request, and returns the answer.
func (r *rig) ask(method, path, token, body string) (status int, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", token)
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
