package fuzz

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/server/servertest"
)

// A world is a master with objects of each kind, some of each state.
type world struct {
	t       *testing.T
	m       *servertest.Master
	admin   *client.Client
	callers []caller
	ids     map[string][]any
	before  int // goroutines before the requests

	holding atomic.Bool
	mu      sync.Mutex
	held    *servertest.Attempt
}

// many is how many objects of a kind there are: requests remove some.
const many = 6

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ids: map[string][]any{}}
	w.m = servertest.StartWithRoles(t, w.program)
	w.admin = w.m.Client("admin")
	w.makeUsers()
	w.makeWorkspaces()
	w.makeExperiments()
	w.makeModels()
	w.holdTrial()
	w.makeTasks()
	w.makeOthers()
	w.before = runtime.NumGoroutine()
	return w
}

// revives serves the address that makes callers whom a request has shut out as they were: active, with a blank password. Otherwise the later
// requests of a run would all be answered with 401.
func (w *world) revives() string {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := w.m.DB.Exec(r.Context(), `UPDATE users SET active = true, password_hash = '' WHERE username LIKE 'fuzz-%'`); err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
		}
	}))
	w.t.Cleanup(s.Close)
	return s.URL
}

// program runs attempts: trials train until the world is complete. Later attempts only end, because what
// they report would race with requests that remove what it is about; commands of requests run nowhere.
func (w *world) program(ctx context.Context, a *servertest.Attempt) int {
	switch {
	case a.TaskType == "TRIAL" && w.holding.Load():
		w.mu.Lock()
		if w.held == nil {
			w.held = a
		}
		w.mu.Unlock()
		<-ctx.Done()
		return 143
	case a.TaskType == "TRIAL":
		return servertest.Train(ctx, a)
	case a.TaskType == "CHECKPOINT_GC":
		return servertest.Play(ctx, a)
	case a.TaskType == "GENERIC": // it would keep the slot from others
		return 0
	}
	<-ctx.Done()
	return 143
}

// call sends a request that must succeed, and decodes its answer.
func (w *world) call(method, path string, body any) (answer map[string]any) {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	raw, err := w.admin.Raw(w.t.Context(), method, path, text)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			w.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return answer
}

// make creates an object, and keeps a field of the answer under a name.
func (w *world) make(name, path string, body map[string]any, object, field string) any {
	w.t.Helper()
	answer := w.call(http.MethodPost, path, body)
	if object != "" {
		answer, _ = answer[object].(map[string]any)
	}
	value := answer[field]
	if value == nil {
		w.t.Fatalf("POST %s: no %s.%s in the answer", path, object, field)
	}
	if name != "" {
		w.ids[name] = append(w.ids[name], value)
	}
	return value
}

func (w *world) makeUsers() {
	w.t.Helper()
	user := func(name string) any {
		return w.make("", "/api/v1/users", map[string]any{"user": map[string]any{"username": name, "active": true}, "password": "", "isHashed": true}, "user", "id")
	}
	give := func(who any, role auth.RoleID) {
		w.call(http.MethodPost, "/api/v1/roles/add-assignments", map[string]any{"userRoleAssignments": []any{map[string]any{
			"userId": who, "roleAssignment": map[string]any{"role": map[string]any{"roleId": int(role)}, "scopeCluster": true}}}})
	}
	roles := map[string]auth.RoleID{"fuzz-admin": auth.ClusterAdmin, "fuzz-editor": auth.Editor, "fuzz-viewer": auth.Viewer}
	for _, c := range []caller{{Name: "viewer", Username: "fuzz-viewer"}, {Name: "nobody"}, {Name: "editor", Username: "fuzz-editor"}, {Name: "admin", Username: "fuzz-admin"}} {
		c.Headers = map[string]string{}
		if c.Username != "" {
			give(user(c.Username), roles[c.Username])
			c.Headers["Authorization"] = "Bearer " + w.m.Client(c.Username).Token()
		}
		w.callers = append(w.callers, c)
	}
	for i := range many {
		w.ids["userId"] = append(w.ids["userId"], user(fmt.Sprintf("victim-%d", i)))
		w.ids["username"] = append(w.ids["username"], fmt.Sprintf("victim-%d", i))
	}
	for i := range many {
		w.make("groupId", "/api/v1/groups", map[string]any{"name": fmt.Sprintf("group-%d", i), "addUsers": w.ids["userId"][:1]}, "group", "groupId")
	}
}

func (w *world) makeWorkspaces() {
	for i := range many {
		id := w.make("workspaceId", "/api/v1/workspaces", map[string]any{"name": fmt.Sprintf("space-%d", i)}, "workspace", "id")
		w.make("projectId", fmt.Sprintf("/api/v1/workspaces/%v/projects", id), map[string]any{"name": fmt.Sprintf("project-%d", i), "workspaceId": id, "key": fmt.Sprintf("KEY%d", i)}, "project", "id")
		w.ids["key"] = append(w.ids["key"], fmt.Sprintf("KEY%d", i))
	}
}

const trains = "name: small\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 200}}\nmax_restarts: 0\ncheckpoint_storage: {save_trial_latest: 9}\n"

func (w *world) experiment(active bool, more map[string]any) int {
	body := map[string]any{"config": trains, "activate": active, "projectId": w.ids["projectId"][0],
		"modelDefinition": []any{map[string]any{"path": "train.py", "type": 48, "mode": 0o100644, "content": "cHJpbnQoMSkK", "mtime": "1795148583"}}}
	for k, v := range more {
		body[k] = v
	}
	return int(w.make("experimentId", "/api/v1/experiments", body, "experiment", "id").(float64))
}

func (w *world) makeExperiments() {
	w.t.Helper()
	for i := range many {
		id := w.experiment(i < many/2, nil)
		if i < many/2 {
			w.m.Ended(id)
		}
		trials := w.call(http.MethodGet, fmt.Sprintf("/api/v1/experiments/%d/trials", id), nil)["trials"].([]any)
		for _, one := range trials {
			trial := one.(map[string]any)
			w.ids["trialId"] = append(w.ids["trialId"], trial["id"])
			w.ids["task"] = append(w.ids["task"], trial["taskId"])
			if i < many/2 {
				for _, batch := range []int{50, 100, 200} {
					w.ids["uuid"] = append(w.ids["uuid"], servertest.CheckpointOf(int(trial["id"].(float64)), batch))
				}
			}
		}
	}
	w.call(http.MethodPut, "/api/v1/experiments/by-external-id/outside", map[string]any{"config": trains, "unmanaged": true})
}

func (w *world) makeModels() {
	for i := range many {
		name := fmt.Sprintf("model-%d", i)
		w.make("modelName", "/api/v1/models", map[string]any{"name": name, "workspaceId": w.ids["workspaceId"][0]}, "model", "name")
		w.call(http.MethodPost, "/api/v1/models/"+name+"/versions", map[string]any{"checkpointUuid": w.ids["uuid"][i%3]})
		w.call(http.MethodPost, fmt.Sprintf("/api/v1/templates/template-%d", i), map[string]any{"name": fmt.Sprintf("template-%d", i),
			"workspaceId": w.ids["workspaceId"][0], "config": map[string]any{"description": "a template"}})
		w.ids["templateName"] = append(w.ids["templateName"], fmt.Sprintf("template-%d", i))
	}
}

func (w *world) makeTasks() {
	space := w.ids["workspaceId"][0]
	for range many {
		w.make("commandId", "/api/v1/commands", map[string]any{"config": map[string]any{"entrypoint": []string{"true"}}, "workspaceId": space}, "command", "id")
		w.make("notebookId", "/api/v1/notebooks", map[string]any{"workspaceId": space}, "notebook", "id")
		w.make("shellId", "/api/v1/shells", map[string]any{"workspaceId": space}, "shell", "id")
		w.make("tensorboardId", "/api/v1/tensorboards", map[string]any{"workspaceId": space, "experimentIds": w.ids["experimentId"][:1]}, "tensorboard", "id")
		w.make("genericId", "/api/v1/generic-tasks", map[string]any{"config": "entrypoint: [\"true\"]\n", "contextDirectory": []any{}, "projectId": w.ids["projectId"][0]}, "", "taskId")
	}
}

func (w *world) makeOthers() {
	for i := range many {
		w.make("webhookId", "/api/v1/webhooks", map[string]any{"name": fmt.Sprintf("hook-%d", i), "url": "http://127.0.0.1:9/", "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE",
			"workspaceId": w.ids["workspaceId"][0], "triggers": []any{map[string]any{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": map[string]any{"state": "COMPLETED"}}}}, "webhook", "id")
		w.make("tokenId", "/api/v1/tokens", map[string]any{"userId": w.ids["userId"][i], "lifespan": "24h"}, "", "tokenId")
	}
	w.call(http.MethodPut, "/api/v1/detent/quotas", map[string]any{"workspaceId": w.ids["workspaceId"][1], "projectId": 0, "userId": 0, "resourcePool": "", "measure": "slots", "period": "", "hard": 100})
}

// holdTrial starts a trial whose program runs until the end: its token is one of the callers.
func (w *world) holdTrial() {
	w.t.Helper()
	w.holding.Store(true)
	w.experiment(true, map[string]any{"projectId": w.ids["projectId"][many-1]})
	w.m.Until("a trial holds", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.held != nil
	})
	w.ids["task:trialId"], w.ids["task:task"] = []any{w.held.TrialID}, []any{w.held.TaskID}
	w.ids["allocationId"] = []any{w.held.ID}
	w.callers = append(w.callers, caller{Name: "task", Headers: map[string]string{"Grpc-Metadata-x-allocation-token": "Bearer " + w.held.Token()}})
}

// quietWithin is longer than the longest call that waits for an event, of which a client has gone.
const quietWithin = 100 * time.Second

// quiet waits until all that the requests opened is closed: connections of clients, queries, and goroutines.
func (w *world) quiet() {
	w.t.Helper()
	w.admin.Close()
	connections, queries, goroutines := 0, 0, 0
	for deadline := time.Now().Add(quietWithin); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		connections, goroutines = w.m.OpenConnections(), runtime.NumGoroutine()
		err := w.m.DB.QueryRow(w.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND state <> 'idle' AND xact_start < now() - interval '10 seconds'`).Scan(&queries)
		if err != nil {
			w.t.Fatal(err)
		}
		if connections <= idleConnections && queries == 0 && goroutines <= w.before+idleGoroutines {
			w.t.Logf("afterwards: %d connections, %d goroutines (%d before)", connections, goroutines, w.before)
			return
		}
	}
	stacks := make([]byte, 1<<20)
	w.t.Errorf("%s after the last request there are %d connections of clients, %d long transactions, and %d goroutines (%d before)\n%s",
		quietWithin, connections, queries, goroutines, w.before, stacks[:runtime.Stack(stacks, true)])
}

// What may stay: the connections of the test's own clients and runners, and what attempts that requests
// started hold.
const (
	idleConnections = 24
	idleGoroutines  = 400
)
