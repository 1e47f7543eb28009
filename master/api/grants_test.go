package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// confine narrows what a user may do to a workspace, from now on.
func (r *rig) confine(username string, workspace int) {
	r.t.Helper()
	grants := auth.NewGrants([][2]int{{int(auth.WorkspaceAdmin), workspace}})
	found := map[[32]byte]auth.Who{}
	r.api.auth.Known.Forget(func(key [32]byte, who auth.Who) bool {
		if who.Username == username {
			found[key] = who
		}
		return false
	})
	for key, who := range found {
		who.Grants = &grants
		r.api.auth.Known.Put(key, who, time.Now().Add(time.Hour))
	}
	if len(found) == 0 {
		r.t.Fatalf("%s has no session", username)
	}
}

// ours has one of everything in the first workspace, of the user determined: what paths
// name by their first word.
func ours(t *testing.T, r *rig) map[string]string {
	t.Helper()
	me := r.user("determined")
	a := r.running(yaml("labels: [our-label]", "hyperparameters: {our_lr: 0.1}"), 1)
	me.post("/api/v1/templates/ours", `{"config":{"description":"d"}}`).ok()
	var hook struct{ Webhook struct{ ID int } }
	r.user("admin").post("/api/v1/webhooks", `{"url":"https://example.com","name":"our-hook","workspaceId":1,"webhookType":"WEBHOOK_TYPE_DEFAULT","mode":"WEBHOOK_MODE_WORKSPACE",
		"triggers":[{"triggerType":"TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE","condition":{"state":"ERROR"}}]}`).ok().into(&hook)
	const uuid = "11111111-2222-4333-8444-555555555555"
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"state":"STATE_COMPLETED","resources":{"a":1},"metadata":{"steps_completed":1}}`, uuid, a.task)).ok()
	r.exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, '{"validation_metrics": {"our_metric": {"type": "number", "last": 1, "max": 1, "mean": 1, "min": 1}}}')
		ON CONFLICT (trial_id) DO UPDATE SET summary = EXCLUDED.summary`, a.trial)
	r.exec(`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project, experiment_id, labels, pool, slots, queued_at, started_at)
		VALUES ($1, 'TRIAL', 1, 'determined', 1, 'Uncategorized', 'p', $2, '{our-label}', 'default', 1, now(), now() - interval '1 s')`, a.task+".99", a.exp)
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"ours","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"our line"}]}`).ok()
	r.exec(`UPDATE trials SET metadata = '{"x": "our_value"}' WHERE id = $1`, a.trial)
	r.exec(`UPDATE experiments SET best_trial_id = $2, best_metric = 1 WHERE id = $1`, a.exp, a.trial)
	r.user("admin").post("/api/v1/users/activity", `{"activityType":"ACTIVITY_TYPE_GET","entityType":"ENTITY_TYPE_PROJECT","entityId":1}`).ok()
	me.post("/api/v1/models", `{"name":"ours","labels":["our-label"]}`).ok()
	me.version("ours", uuid)
	var model v1.MLflowModelAnswer
	me.post("/mlflow/api/2.0/mlflow/logged-models", fmt.Sprintf(`{"name":"ours","source_run_id":"%d"}`, a.trial)).ok().into(&model)
	values := map[string]string{"models": "ours", "experiments": fmt.Sprint(a.exp), "trials": fmt.Sprint(a.trial), "runs": fmt.Sprint(a.trial), "tasks": a.task,
		"allocations": a.id, "projects": "1", "workspaces": "1", "templates": "ours", "checkpoints": uuid, "logged-models": model.Model.Info.ID, "mlflow-artifacts": fmt.Sprintf("1/models/%s/artifacts/x", model.Model.Info.ID), "webhooks": fmt.Sprint(hook.Webhook.ID),
		"quotas": fmt.Sprint(r.user("admin").setQuota(`{"workspaceId":1,"userId":2,"hard":1000}`))}
	for noun, id := range everyKind(t, me) {
		values[noun+"s"] = id
	}
	values["generic-tasks"] = me.generic("entrypoint: [x]\nresources: {slots: 0}").taskID()
	return values
}

// first is the first word of a path.
func first(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/"), "/")
	word, _, _ := strings.Cut(strings.TrimPrefix(path, "detent/"), "/")
	return word
}

// objectOf is the object that the path of a route names.
func objectOf(values map[string]string, l v1.Line) (string, bool) {
	for _, noun := range []string{"logged-models", "mlflow-artifacts"} {
		if strings.Contains(l.Path, "/"+noun+"/") {
			return values[noun], true
		}
	}
	object, known := values[first(l.Path)]
	return object, known
}

// filled is a route's path with an object in it.
func filled(l v1.Line, object string) string {
	params := make([]any, len(l.Names()))
	for i := range params {
		params[i] = "x"
	}
	if len(params) > 0 {
		params[0] = object
	}
	path := l.At(params...)
	switch now := time.Now().UTC(); { // what the request must have
	case slices.Contains(l.ParameterNames(), "searchText") && l.List:
		path += "?searchText=our+line"
	case slices.Contains(l.ParameterNames(), "timestampAfter") && l.List:
		path += "?timestampAfter=" + now.Add(-time.Hour).Format(time.RFC3339) + "&timestampBefore=" + now.Add(time.Hour).Format(time.RFC3339)
	case slices.Contains(l.ParameterNames(), "startDate"):
		path += "?startDate=" + now.Add(-time.Hour).Format(time.DateOnly) + "&endDate=" + now.Format(time.DateOnly) + "&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
	}
	return path
}

// TestNothingOfOtherWorkspaces: a user with all rights in one workspace cannot reach objects of another
// one through any route of the table, and gets the error before the master reads the body.
func TestNothingOfOtherWorkspaces(t *testing.T) {
	r := newRig(t)
	values := ours(t, r)
	admin := r.user("admin")
	theirs := admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree()
	admin.get("/api/v1/me").ok()
	seen := map[string]string{} // what lists show to somebody who sees all
	body := func(l v1.Line) string {
		if l.Method == "GET" || l.Req == nil {
			return ""
		}
		return `{}`
	}
	send := func(l v1.Line, path, body string) answer {
		return admin.do(l.Method, path, body)
	}
	var lists []v1.Line
	for _, route := range r.api.router.Routes() {
		if l := route.Line; l.List && !auth.Global(l.Object) && l.Path != v1.FollowUpdates.Path { // updates_test.go has the scope of that WebSocket
			lists = append(lists, l)
			seen[l.Method+l.Path] = string(send(l, filled(l, "0"), body(l)).ok().body)
		}
	}
	r.confine("admin", int(at(t, theirs, "workspace.id").(float64)))

	for _, l := range lists {
		name := l.Method + " " + l.Path
		got := string(send(l, filled(l, "0"), body(l)).ok().body)
		if got == seen[l.Method+l.Path] {
			t.Errorf("%s shows the same to whoever may see nothing of it: %s", name, got)
		}
		for _, id := range []string{values["tasks"], values["generic-tasks"], values["commands"], values["shells"], values["notebooks"], values["tensorboards"], `"small"`, `"ours"`, "our-label", "our-hook", "our_lr", "our_metric", "our_value", "Uncategorized"} {
			if strings.Contains(got, id) {
				t.Errorf("%s shows %s: %s", name, id, got)
			}
		}
	}
	if len(lists) < 12 {
		t.Errorf("only %d lists were tried", len(lists))
	}
	tried := 0
	for _, route := range r.api.router.Routes() {
		l := route.Line
		object, known := objectOf(values, l)
		if !route.Loads || l.Access == v1.ByTasks || l.Access == v1.ByAdmins || !known {
			continue
		}
		if l.Path == v1.PutTemplate.Path && l.Method == "PUT" || strings.HasPrefix(l.Path, "/projects/key/") {
			object = map[bool]string{true: "ours", false: "UNCATEGORIZED"}[l.Method == "PUT"]
		}
		if l.Path == v1.GetTrialByExternalID.Path { // no id: TestUnmanagedTrialsOfOthers
			continue
		}
		tried++
		if got := send(l, filled(l, object), "{"); got.code != 404 && (l.Path != v1.LinkTask.Path && l.Path != v1.AddressTask.Path || got.code != 503) {
			t.Errorf("%s %s: %d %.300s", l.Method, l.Path, got.code, got.body)
		}
	}
	if tried < 80 {
		t.Errorf("only %d routes were tried", tried)
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/v1/trials/metrics/trial_metrics?trialIds=" + values["trials"], ""},
		{"GET", "/api/v1/trials/time-series?trialIds=" + values["trials"] + "&metricNames=loss", ""},
		{"GET", "/api/v1/detent/live?trials=" + values["trials"], ""},
		{"POST", "/api/v1/experiments/continue", `{"id":` + values["experiments"] + `}`},
		{"POST", "/api/v1/runs/start", `{"runId":` + values["runs"] + `}`},
		{"POST", "/api/v1/checkpoints/rm", `{"checkpointUuids":["` + values["checkpoints"] + `"],"checkpointGlobs":["**"]}`},
		{"DELETE", "/api/v1/checkpoints", `{"checkpointUuids":["` + values["checkpoints"] + `"]}`},
		{"PATCH", "/api/v1/checkpoints", `{"checkpoints":[{"uuid":"` + values["checkpoints"] + `"}]}`},
		{"PATCH", "/api/v1/template/rename", `{"oldName":"ours","newName":"mine"}`},
		{"POST", "/api/v1/task/logs", `{"logs":[{"taskId":"` + values["tasks"] + `","log":"x"}]}`},
		{"POST", "/api/v1/experiments", createBody(yaml())},
		{"POST", "/api/v1/experiments", createBody(yaml(), `"parentId":`+values["experiments"])},
		{"POST", "/api/v1/commands", `{"config":{"entrypoint":["x"]}}`},
		{"POST", "/api/v1/tensorboards", `{"experimentIds":[` + values["experiments"] + `]}`},
		{"POST", "/api/v1/templates/new", `{"config":{}}`},
		{"POST", "/api/v1/models", `{"name":"new"}`},
		{"POST", "/api/v1/trial-source-info", `{"trialSourceInfo":{"trialId":` + values["trials"] + `}}`},
	} {
		if got := send(v1.Line{Method: c.method}, c.path, c.body); got.code != 403 && got.code != 404 {
			t.Errorf("%s %s %s: %d %.300s", c.method, c.path, c.body, got.code, got.body)
		}
	}
}
