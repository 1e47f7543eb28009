package api

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/experiments"
	v1 "github.com/detent-ml/detent/master/v1"
)

// conforms walks an answer and the type that it should be of, and reports every
// field that is always to be written and is not.
func conforms(t testing.TB, path string, v any, typ reflect.Type) {
	t.Helper()
	switch {
	case typ.Kind() == reflect.Pointer:
		if v != nil {
			conforms(t, path, v, typ.Elem())
		}
	case typ == reflect.TypeFor[time.Time]():
		if s, _ := v.(string); !strings.HasSuffix(s, "Z") {
			t.Errorf("%s: %v is not a time in UTC", path, v)
		}
	case typ == reflect.TypeFor[v1.Struct]():
		if _, ok := v.(map[string]any); !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
	case typ == reflect.TypeFor[[]byte](), typ.Kind() == reflect.Int64 && typ != reflect.TypeFor[v1.Bare](), typ.Kind() == reflect.String:
		if _, ok := v.(string); !ok {
			t.Errorf("%s: %v is not a string", path, v)
		}
	case typ.Kind() == reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			t.Errorf("%s: %v is not a list", path, v)
		}
		for i, x := range list {
			conforms(t, fmt.Sprintf("%s[%d]", path, i), x, typ.Elem())
		}
	case typ.Kind() == reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
		for k, x := range m {
			conforms(t, path+"."+k, x, typ.Elem())
		}
	case typ.Kind() == reflect.Struct:
		m, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is not an object", path, v)
		}
		for i := range typ.NumField() {
			name, opts, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			x, there := m[name]
			if !there && opts != "omitempty" {
				t.Errorf("%s.%s is missing", path, name)
			}
			if there && (x != nil || opts != "null") {
				conforms(t, path+"."+name, x, typ.Field(i).Type)
			}
		}
	}
}

// Every route of the table that only reads answers with its own type, on a
// cluster where there is one of everything.
func TestAnswersConform(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Measure = func(context.Context, string) ([]v1.DeviceMeasurement, error) {
			return []v1.DeviceMeasurement{{UUID: "GPU-1", TemperatureC: new(61)}}, nil
		}
	})
	me, admin := r.user("determined"), r.user("admin")
	r.node("n1", "node-1", 2)
	id := me.create(yaml(), `"activate":true`, `"modelDefinition":[`+modelFile("a.py", "1")+`]`)
	trial, attemptOf := r.trial(id, 0)
	r.apply(rows.Changes{Placements: []rows.Placement{{AllocationID: attemptOf + ".1", Members: []rows.PlacedMember{{NodeID: "n1", NodeName: "node-1", SlotIDs: []int{0}}}}}})
	r.runs(attemptOf+".1", "ASSIGNED", "RUNNING")
	if _, err := experiments.BestValidation(context.Background(), r.db, id); err == nil {
		t.Fatal("a trial without reports has a best validation")
	}
	me.post("/api/v1/templates/admin", `{"config":{}}`).ok()
	me.post("/api/v1/models", `{"name":"admin"}`).ok()
	r.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) SELECT $1, task_id, id, 1, 1, 'COMPLETED' FROM trials WHERE id = $2`, older, trial)
	me.version("admin", older)
	me.post("/mlflow/api/2.0/mlflow/registered-models/alias", `{"name":"admin","alias":"best","version":"1"}`).ok()
	logged := fmt.Sprintf("1/%d/artifacts/a.txt", trial)
	me.do("PUT", "/mlflow/api/2.0/mlflow-artifacts/artifacts/"+logged, "a").ok()
	values := map[string]string{"experiments": fmt.Sprint(id), "trials": fmt.Sprint(trial), "tasks": attemptOf, "allocations": attemptOf + ".1",
		"agents": "node-1", "users": "1", "workspaces": "1", "projects": "1"}
	for noun, id := range everyKind(t, me) {
		values[noun+"s"] = id
	}
	var hook struct{ Webhook struct{ ID int } }
	admin.post("/api/v1/webhooks", hookBody(t, map[string]any{"url": "http://127.0.0.1:1"})).ok().into(&hook)
	values["webhooks"] = fmt.Sprint(hook.Webhook.ID)
	admin.post("/api/v1/webhooks/"+values["webhooks"]+"/test", "").is(400)
	required := map[string]string{ // parameters without which a route answers 400
		v1.ListSearchTrials.Path:   "?metric=loss",
		v1.SearchLogs.Path:         "?searchText=a",
		v1.GetRawUsage.Path:        "?timestampAfter=2026-01-01T00:00:00Z&timestampBefore=2026-02-01T00:00:00Z",
		v1.GetAggregatedUsage.Path: "?startDate=2026-01-01&endDate=2026-01-31&period=" + string(v1.ResourceAllocationAggregationPeriodDaily),

		v1.GetMLflowExperiment.Path: "?experiment_id=1", v1.GetMLflowExperimentByName.Path: "?experiment_name=Uncategorized",
		v1.GetMLflowRun.Path: fmt.Sprint("?run_id=", trial), v1.GetMLflowHistory.Path: fmt.Sprint("?metric_key=loss&run_id=", trial),
		v1.GetMLflowHistories.Path:  fmt.Sprint("?metric_key=loss&run_ids=", trial),
		v1.ListMLflowArtifacts.Path: fmt.Sprint("?run_id=", trial), v1.ListMLflowFiles.Path: fmt.Sprintf("?path=1/%d/artifacts", trial),
		v1.GetMLflowRegistered.Path: "?name=admin", v1.ListMLflowLatest.Path: "?name=admin", v1.GetMLflowByAlias.Path: "?name=admin&alias=best",
		v1.GetMLflowModelVersion.Path: "?name=admin&version=1", v1.GetMLflowDownloadURI.Path: "?name=admin&version=1",
	}
	seen := 0
	for _, route := range r.api.router.Routes() {
		if route.Method != "GET" || route.Resp == nil || strings.Contains(route.Path, "best_searcher") || strings.Contains(route.Path, "searcher_events") || strings.Contains(route.Path, "search-news") || strings.Contains(route.Path, "time-series") || route.Access == v1.ByTasks {
			continue
		}
		path := parameter.ReplaceAllString(route.Pattern(), "{$1}")
		if route.Path == v1.GetMLflowLink.Path {
			path = strings.Replace(route.Path[1:], "*", logged, 1)
		}
		noun := first(route.Path)
		path = strings.NewReplacer("{id}", values[noun], "{name}", "admin", "{key}", "UNCATEGORIZED", "{version}", "1", "{uuid}", older).Replace(path)
		if route.Path == v1.GetGenericTaskConfig.Path {
			path = "/api/v1/tasks/" + me.generic(sleeping).taskID() + "/config"
		}
		if strings.Contains(path, "{") {
			continue
		}
		got := admin.get(path + required[route.Path])
		if got.code != 200 {
			t.Errorf("%s: %d %s", path, got.code, got.body)
			continue
		}
		var answered any
		got.into(&answered)
		conforms(t, path, answered, route.Resp)
		seen++
	}
	if seen < 30 {
		t.Errorf("only %d routes were tried", seen)
	}
}

var parameter = regexp.MustCompile(`:(\w+)`)
