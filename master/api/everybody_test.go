package api

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// openedToEverybody are the endpoints that a role for everybody opens on others' objects: what everybody may do in Determined
// without roles, and no more. Of a workspace it opens the default pools. What is deleted, renamed or administrated there stays
// with its owner.
const openedToEverybody = `DELETE //mlflow/api/2.0/mlflow-artifacts/artifacts/*
DELETE //mlflow/api/2.0/mlflow/logged-models/:model
DELETE //mlflow/api/2.0/mlflow/logged-models/:model/tags/:tag
DELETE /experiments/:id/labels/*
DELETE /experiments/:id/tensorboard-files
DELETE /templates/:name
GET /detent/experiments/:id/search-news
GET /detent/shells/:id/terminal
GET /experiments/:id/searcher_events
GET /trials/:id/searcher/operation
PATCH //mlflow/api/2.0/mlflow/logged-models/:model
PATCH //mlflow/api/2.0/mlflow/logged-models/:model/tags
PATCH /experiments/:id
PATCH /templates/:name
PATCH /trials/:id
POST //mlflow/api/2.0/mlflow-artifacts/mpu/abort/*
POST //mlflow/api/2.0/mlflow-artifacts/mpu/complete/*
POST //mlflow/api/2.0/mlflow-artifacts/mpu/create/*
POST //mlflow/api/2.0/mlflow/logged-models/:model/params
POST /checkpoints/:uuid/metadata
POST /commands/:id/kill
POST /commands/:id/set_priority
POST /detent/experiments/:id/search-proposals
POST /detent/tasks/:id/address
POST /detent/tasks/:id/link
POST /experiments/:id/activate
POST /experiments/:id/archive
POST /experiments/:id/cancel
POST /experiments/:id/kill
POST /experiments/:id/move
POST /experiments/:id/pause
POST /experiments/:id/searcher_operations
POST /experiments/:id/unarchive
POST /notebooks/:id/kill
POST /notebooks/:id/set_priority
POST /projects/:id/notes
POST /runs/:run/metadata
POST /shells/:id/kill
POST /shells/:id/set_priority
POST /tasks/:id/kill
POST /tasks/:id/pause
POST /tasks/:id/unpause
POST /tensorboards/:id/kill
POST /tensorboards/:id/set_priority
POST /trials/:id/early_exit
POST /trials/:id/kill
POST /trials/:id/metrics
POST /trials/:id/progress
POST /trials/:id/runner/metadata
POST /trials/:id/searcher/completed_operation
POST /trials/:id/start
POST /trials/:id/training_metrics
POST /trials/:id/validation_metrics
PUT //mlflow/api/2.0/mlflow-artifacts/artifacts/*
PUT //mlflow/api/2.0/mlflow-artifacts/mpu/part/*
PUT /experiments/:id/labels/*
PUT /experiments/:id/retain_logs
PUT /projects/:id/notes
PUT /templates/:name
PUT /trials/:id/retain_logs
`

// TestEverybodysRole: without roles, one assignment gives everybody the rights that everybody has in Determined, and is
// taken back as easily. Every endpoint is tried on objects of somebody else: before, with the role, and after.
func TestEverybodysRole(t *testing.T) {
	dir := &tasks.Directory{}
	opener, err := proxy.New(proxy.Origins{Master: "http://127.0.0.1:1", URL: "http://127.0.0.1:2"}, proxy.Rules{}, dir,
		func(context.Context, string) (string, int, error) { return "", 0, nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(c *Config) { c.Proxy = opener })
	dir.DB, dir.Roles = r.db, r.api.cfg.Roles
	values := ours(t, r)
	values["url"] = r.url
	owner := r.user("determined")
	values["workspaces"] = fmt.Sprint(at(t, owner.post("/api/v1/workspaces", `{"name":"of determined"}`).ok().tree(), "workspace.id"))
	values["projects"] = fmt.Sprint(at(t, owner.post("/api/v1/workspaces/"+values["workspaces"]+"/projects", `{"name":"of determined"}`).ok().tree(), "project.id"))
	checks := r.checks()
	admin, eve := r.user("admin"), r.newUser("eve")
	closed := func() (lines []string) {
		for _, route := range r.api.router.Routes() {
			l := route.Line
			if !route.Loads || auth.Global(l.Object) || l.Verb == v1.View || l.Verb == v1.Create || l.Access != v1.ByUsers && l.Access != v1.ByBoth {
				continue
			}
			if accessCell(t, eve, checks, l, values) != "y" {
				lines = append(lines, l.Method+" "+l.Path)
			}
		}
		return lines
	}
	everybodys := func(verb string, role auth.RoleID) answer {
		return admin.post("/api/v1/roles/"+verb+"-assignments", fmt.Sprintf(`{"everybodysRoles":[{"role":{"roleId":%d},"scopeCluster":true}]}`, role))
	}
	before := closed()
	everybodys("add", auth.ClusterAdmin).says(400, "nobody would be safe")
	everybodys("add", auth.Editor).ok()
	with := closed()
	var opened []string
	for _, line := range before {
		if !slices.Contains(with, line) {
			opened = append(opened, line+"\n")
		}
	}
	slices.Sort(opened)
	if got := strings.Join(opened, ""); got != openedToEverybody {
		t.Errorf("opened are\n%s\nwant\n%s", got, openedToEverybody)
	}
	experiment := values["experiments"]
	eve.patch("/api/v1/workspaces/"+values["workspaces"], `{"defaultComputePool":"default"}`).ok()
	eve.patch("/api/v1/workspaces/"+values["workspaces"], `{"name":"of eve"}`).says(403, "")
	eve.post("/api/v1/experiments/continue", `{"id":`+experiment+`,"overrideConfig":"name: mine"}`).says(403, "") // it would run in the owner's name
	refused := eve.do("DELETE", "/api/v1/projects/1/experiments/delete", `{"experimentIds":[`+experiment+`]}`).ok().tree()
	if why := fmt.Sprint(at(t, refused, "results.0.error")); !strings.Contains(why, "may not delete") {
		t.Errorf("the deletion of others' experiments is answered by %q", why)
	}
	if got := at(t, eve.post("/api/v1/projects/1/experiments/pause", `{"experimentIds":[`+experiment+`]}`).ok().tree(), "results.0.error"); got != "" {
		t.Errorf("pausing others' experiments is answered by %q", got)
	}
	_, reader := tokened(t, eve, `{"readOnly":true}`)
	reader.post("/api/v1/experiments/"+experiment+"/pause", "").says(403, "may only read")
	everybodys("remove", auth.Editor).ok()
	if after := closed(); !slices.Equal(after, before) {
		t.Errorf("after the role was taken back %d endpoints are closed, and %d were before", len(after), len(before))
	}
	everybodys("remove", auth.Editor).says(404, "role Editor of everybody for the whole cluster is not assigned")
}
