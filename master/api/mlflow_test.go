package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/diskuse"
	v1 "github.com/detent-ml/detent/master/v1"
)

// mlflow is the path of a call of MLflow's interface.
func mlflowPath(call string) string { return "/mlflow/api/2.0/mlflow/" + call }

// fails checks an error of MLflow's interface.
func (a answer) fails(code int, word, says string) {
	a.t.Helper()
	a.is(code)
	var e struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if a.into(&e); e.Code != word || !strings.Contains(e.Message, says) {
		a.t.Errorf("%s: %s, want %s with %q", a.what, a.body, word, says)
	}
}

// newMLflowRun creates a run of a program elsewhere.
func (c as) newMLflowRun(project string) string {
	c.r.t.Helper()
	var got struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			}
		}
	}
	c.post(mlflowPath("runs/create"), fmt.Sprintf(`{"experiment_id":%q}`, project)).ok().into(&got)
	return got.Run.Info.ID
}

// TestMLflowKeepsTeamsApart: with roles, MLflow's clients see and change what the same users see and change elsewhere.
func TestMLflowKeepsTeamsApart(t *testing.T) {
	r := newRoleRig(t)
	admin := r.user("admin")
	var places [2]string
	var projects [2]string
	for i := range places {
		var w struct{ Workspace struct{ ID int } }
		admin.post("/api/v1/workspaces", fmt.Sprintf(`{"name":"team %d"}`, i)).ok().into(&w)
		var p struct {
			ID string `json:"experiment_id"`
		}
		admin.post(mlflowPath("experiments/create"), fmt.Sprintf(`{"name":"team %d/birds"}`, i)).ok().into(&p)
		places[i], projects[i] = fmt.Sprint(w.Workspace.ID), p.ID
		r.newUser(fmt.Sprint("user", i))
		r.give(auth.Editor, fmt.Sprint("user", i), w.Workspace.ID)
	}
	r.newUser("viewer")
	var id int
	_, _ = fmt.Sscan(places[0], &id)
	r.give(auth.Viewer, "viewer", id)
	one, other, viewer := r.user("user0"), r.user("user1"), r.user("viewer")
	run := one.newMLflowRun(projects[0])
	for _, call := range []string{"experiments/get?experiment_id=" + projects[0], "experiments/get-by-name?experiment_name=team+0%2Fbirds", "runs/get?run_id=" + run, "metrics/get-history?metric_key=a&run_id=" + run,
		"metrics/get-history-bulk-interval?metric_key=a&run_ids=" + run} {
		other.get(mlflowPath(call)).fails(404, "RESOURCE_DOES_NOT_EXIST", "")
		one.get(mlflowPath(call)).ok()
		viewer.get(mlflowPath(call)).ok()
	}
	ofRun := map[string]string{"runs/log-metric": `"key":"a","value":1`, "runs/log-batch": `"metrics":[]`, "runs/log-parameter": `"key":"a","value":"1"`, "runs/set-tag": `"key":"a","value":"1"`,
		"runs/log-inputs": `"datasets":[{"dataset":{"name":"a","digest":"b"}}]`, "runs/update": `"status":"FINISHED"`, "runs/delete-tag": `"key":"a"`, "runs/delete": `"x":1`, "runs/restore": `"x":1`}
	for call, more := range ofRun {
		body := fmt.Sprintf(`{"run_id":%q,%s}`, run, more)
		other.post(mlflowPath(call), body).fails(404, "RESOURCE_DOES_NOT_EXIST", "")
		viewer.post(mlflowPath(call), body).fails(403, "PERMISSION_DENIED", "")
		r.anyone().post(mlflowPath(call), body).fails(401, "UNAUTHENTICATED", "")
	}
	for call, more := range map[string]string{"experiments/update": `"new_name":"x"`, "experiments/delete": `"x":1`, "experiments/restore": `"x":1`, "experiments/set-experiment-tag": `"key":"a","value":"1"`,
		"experiments/delete-experiment-tag": `"key":"a"`, "runs/create": `"run_name":"a"`} {
		body := fmt.Sprintf(`{"experiment_id":%q,%s}`, projects[0], more)
		other.post(mlflowPath(call), body).fails(404, "RESOURCE_DOES_NOT_EXIST", "")
		viewer.post(mlflowPath(call), body).fails(403, "PERMISSION_DENIED", "")
	}
	one.post(mlflowPath("experiments/create"), `{"name":"team 0/birds"}`).fails(400, "RESOURCE_ALREADY_EXISTS", "already exists")
	for _, name := range []string{"Team 0/birds", "tema 0/birds", "team0/birds"} { // a name with a mistake is no project elsewhere
		admin.post(mlflowPath("experiments/create"), fmt.Sprintf(`{"name":%q}`, name)).fails(400, "INVALID_PARAMETER_VALUE", `did you mean "team 0"?`)
	}
	for _, name := range []string{"team 2/birds", "MLflow/team0/birds", "squad/birds"} {
		admin.post(mlflowPath("experiments/create"), fmt.Sprintf(`{"name":%q}`, name)).ok()
	}
	admin.get(mlflowPath("experiments/get-by-name?experiment_name=team0%2Fbirds")).ok()
	admin.post("/api/v1/workspaces/"+places[1]+"/archive", "").ok()
	admin.post(mlflowPath("experiments/create"), `{"name":"team 1/more"}`).fails(400, "INVALID_PARAMETER_VALUE", `workspace "team 1" is archived; unarchive it first`)
	admin.post("/api/v1/workspaces/"+places[1]+"/unarchive", "").ok()
	other.post(mlflowPath("experiments/create"), `{"name":"team 0/mine"}`).fails(403, "PERMISSION_DENIED", "may not create it") // it does not see the workspace, and may create none
	for _, body := range []string{`{}`, fmt.Sprintf(`{"experiment_ids":[%q]}`, projects[0])} {
		if got := other.post(mlflowPath("runs/search"), body).ok(); strings.Contains(string(got.body), `"run_id"`) {
			t.Errorf("somebody of another team finds %s", got.body)
		}
		if got := one.post(mlflowPath("runs/search"), body).ok(); !strings.Contains(string(got.body), `"run_id":"`+run+`"`) {
			t.Errorf("its owner finds %s", got.body)
		}
	}
	if got := other.post(mlflowPath("experiments/search"), `{}`).ok(); strings.Contains(string(got.body), "team 0") || !strings.Contains(string(got.body), "team 1") {
		t.Errorf("somebody of another team finds %s", got.body)
	}
}

// TestMLflowOfAnAttempt: the token of an attempt logs about its own trial, and about nothing else; that of an earlier attempt about nothing.
func TestMLflowOfAnAttempt(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	elsewhere := me.newMLflowRun("1")
	a := r.running(yaml(), 1)
	stranger := r.running(yaml(), 1)
	program := a.ranks[0]
	own := fmt.Sprint(a.trial)
	log := func(who as, run string, step int) answer {
		return who.post(mlflowPath("runs/log-metric"), fmt.Sprintf(`{"run_id":%q,"key":"loss","value":0.5,"step":%d,"timestamp":1700000000000}`, run, step))
	}
	log(program, own, 1).ok()
	log(program, own, 1).ok() // again
	for _, run := range []string{elsewhere, fmt.Sprint(stranger.trial)} {
		log(program, run, 1).fails(403, "PERMISSION_DENIED", "may report about the trial's run")
	}
	program.post(mlflowPath("runs/delete"), fmt.Sprintf(`{"run_id":%q}`, own)).is(403)
	program.post(mlflowPath("experiments/delete"), `{"experiment_id":"1"}`).is(403)
	if got := program.post(mlflowPath("runs/create"), `{"experiment_id":"77"}`).ok(); !strings.Contains(string(got.body), `"run_id":"`+own+`"`) {
		t.Errorf("a new run in a trial is %s", got.body)
	}
	var nested struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			}
		}
	}
	program.post(mlflowPath("runs/create"), `{"experiment_id":"1","tags":[{"key":"mlflow.parentRunId","value":"`+own+`"}]}`).ok().into(&nested)
	log(program, nested.Run.Info.ID, 1).ok()
	log(stranger.ranks[0], nested.Run.Info.ID, 1).is(403)
	r.runOf(a, 2) // before the attempt ends, after which its program is a stranger
	log(program, own, 2).fails(409, "RESOURCE_CONFLICT", "run 2 has replaced it")
	program.post(mlflowPath("runs/set-tag"), fmt.Sprintf(`{"run_id":%q,"key":"a","value":"1"}`, own)).fails(409, "RESOURCE_CONFLICT", "run 2 has replaced it")
	program.do("PUT", fmt.Sprintf("/mlflow/api/2.0/mlflow-artifacts/artifacts/1/%s/artifacts/x", own), "x").fails(409, "RESOURCE_CONFLICT", "run 2 has replaced it")
	b := a.next(2, 1)
	log(b.ranks[0], own, 2).ok()
	if got := r.text(`SELECT string_agg(format('%s/%s/%s', group_name, run_id, steps), ' ' ORDER BY run_id) FROM metrics WHERE trial_id = $1`, a.trial); got != "validation/1/1 validation/2/2" {
		t.Errorf("the reports of the trial are %s", got)
	}
}

// TestMLflowCompletesManyParts: MLflow's client sends back the signed addresses of all parts when it completes a file.
func TestMLflowCompletesManyParts(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	run := me.newMLflowRun("0")
	parts := make([]v1.MLflowUploadDone, checkpoints.MaxUploadParts)
	for i := range parts {
		parts[i] = v1.MLflowUploadDone{Number: i + 1, Tag: strings.Repeat("e", 32), URL: "https://store.example/" + strings.Repeat("s", 1600)}
	}
	body, err := json.Marshal(v1.MLflowFinishUploadRequest{Path: "large.bin", ID: "00000000-0000-4000-8000-000000000001", Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	me.post("/mlflow/api/2.0/mlflow-artifacts/mpu/complete/0/"+run+"/artifacts", string(body)).fails(404, "RESOURCE_DOES_NOT_EXIST", "has no upload")
}

// TestMLflowBounds: what is wrong with a request is said in MLflow's form, and stores nothing.
func TestMLflowBounds(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	run := me.newMLflowRun("0")
	metric := func(more string) string {
		return fmt.Sprintf(`{"run_id":%q,"params":[{"key":"p","value":"1"}],"metrics":[{"key":"a","value":1,%s}]}`, run, more)
	}
	for body, says := range map[string]string{
		metric(`"step":-1`):                       "step: -1",
		metric(`"step":4294967296`):               "step: 4294967296",
		metric(`"timestamp":-5`):                  "timestamp: -5",
		metric(`"timestamp":9223372036854775807`): "is no time",
		metric(`"key":"a/../b"`):                  "must not resolve to other names",
		metric(`"key":""`):                        "Missing value",
		metric(`"key":"a\u0000"`):                 "NUL",
		metric(`"value":"much"`):                  "metrics",
		`{"run_id":"` + run + `","tags":[{"key":"` + strings.Repeat("k", 251) + `","value":""}]}`:                              "250 are allowed",
		`{"run_id":"` + run + `","params":[` + strings.TrimSuffix(strings.Repeat(`{"key":"p","value":"1"},`, 101), ",") + `]}`: "at most 100 params",
		`{"run_id":"` + run + `","metrics":[` + strings.TrimSuffix(strings.Repeat(`{"key":"p","value":1},`, 1001), ",") + `]}`: "at most 1000 metrics",
		`{"run_id":"` + run + `",`: "not JSON",
	} {
		me.post(mlflowPath("runs/log-batch"), body).fails(400, "INVALID_PARAMETER_VALUE", says)
	}
	if n := r.text(`SELECT format('%s %s', (SELECT count(*) FROM metrics), (SELECT metadata #>> '{mlflow,params}' FROM trials WHERE id = $1))`, run); n != "0 " {
		t.Errorf("wrong requests have stored %s", n)
	}
	me.post(mlflowPath("runs/log-batch"), `{"run_id":"`+run+`","tags":[{"key":"big","value":"`+strings.Repeat("x", 1<<20)+`"}]}`).is(413)
	for _, id := range []string{"", "0", "-1", "x", "99999999999999999999", "2147483648", "1e3", "%00"} {
		me.get(mlflowPath("runs/get?run_id="+id)).fails(404, "RESOURCE_DOES_NOT_EXIST", "not found")
	}
	me.get("/mlflow/api/2.0/mlflow/prompts/get").fails(501, "NOT_IMPLEMENTED", "no call of MLflow that Detent has")
	me.do("DELETE", "/mlflow/api/3.0/mlflow/traces/1", "").fails(501, "NOT_IMPLEMENTED", "")
	if got := r.anyone().get("/mlflow/version").ok(); string(got.body) != "3.17.2" {
		t.Errorf("the version is %s", got.body)
	}
}

// TestMLflowSteps: values without steps are all kept, a later value of a step replaces the earlier one, and a repeated request adds nothing.
func TestMLflowSteps(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	run := me.newMLflowRun("0")
	for i, m := range []string{`"key":"a","value":1,"timestamp":1700000000001`, `"key":"a","value":2,"timestamp":1700000000002`, `"key":"a","value":2,"timestamp":1700000000002`,
		`"key":"a","value":3,"timestamp":1700000000003`, `"key":"b","value":1,"step":5,"timestamp":1700000000004`, `"key":"b","value":2,"step":5,"timestamp":1700000000005`,
		`"key":"c","value":"NaN","step":5,"timestamp":1700000000006`, `"key":"c","value":"-Infinity","step":6,"timestamp":1700000000006`} {
		if got := me.post(mlflowPath("runs/log-metric"), fmt.Sprintf(`{"run_id":%q,%s}`, run, m)); got.code != 200 {
			t.Errorf("%d: %d %s", i, got.code, got.body)
		}
	}
	for key, want := range map[string]string{"a": "0:1 0:2 0:3", "b": "5:2", "c": "5:NaN 6:-Infinity"} {
		var h struct {
			Metrics []struct {
				Value any
				Step  int
			}
		}
		me.get(mlflowPath("metrics/get-history?metric_key=" + key + "&run_id=" + run)).ok().into(&h)
		var got []string
		for _, m := range h.Metrics {
			got = append(got, fmt.Sprintf("%d:%v", m.Step, m.Value))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("the history of %s is %s, want %s", key, text, want)
		}
	}
	var page struct {
		Metrics []struct{ Value float64 }
		Next    string `json:"next_page_token"`
	}
	me.get(mlflowPath("metrics/get-history?metric_key=a&max_results=2&run_id=" + run)).ok().into(&page)
	if len(page.Metrics) != 2 || page.Next == "" {
		t.Fatalf("%+v", page)
	}
	me.get(mlflowPath("metrics/get-history?metric_key=a&max_results=2&run_id=" + run + "&page_token=" + page.Next)).ok().into(&page)
	if len(page.Metrics) != 1 || page.Metrics[0].Value != 3 {
		t.Errorf("%+v", page)
	}
	me.get(mlflowPath("metrics/get-history?metric_key=a&page_token=x&run_id="+run)).fails(400, "INVALID_PARAMETER_VALUE", "page_token")
}

// TestMLflowStepsAfterRestart: a value without a step, which a program that continues from a checkpoint logs, keeps the curves of earlier attempts.
func TestMLflowStepsAfterRestart(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	own := fmt.Sprint(a.trial)
	log := func(who as, key string, step int) {
		t.Helper()
		who.post(mlflowPath("runs/log-metric"), fmt.Sprintf(`{"run_id":%q,"key":%q,"value":0.5,"step":%d,"timestamp":1700000000000}`, own, key, step)).ok()
	}
	for step := range 4 {
		log(a.ranks[0], "loss", step)
		log(a.ranks[0], "lr", step)
	}
	r.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) VALUES (gen_random_uuid(), $1, $2, 1, 3, 'COMPLETED')`, a.task, a.trial)
	b := a.next(2, 1)
	log(b.ranks[0], "parameters", 0)
	log(b.ranks[0], "system/cpu", 0)
	log(b.ranks[0], "system/cpu", 1)
	kept := func() string {
		return r.text(`SELECT string_agg(format('%s/%s/%s', left(group_name, 1), run_id, steps), ' ' ORDER BY group_name, run_id, steps) FROM metrics WHERE trial_id = $1 AND NOT archived`, a.trial)
	}
	if got := kept(); got != "s/2/0 s/2/1 t/1/0 t/1/1 t/1/2 t/1/3 t/2/0 v/1/0 v/1/1 v/1/2 v/1/3" {
		t.Errorf("after a value without a step: %s", got)
	}
	log(b.ranks[0], "loss", 2) // repeated steps are replaced
	log(b.ranks[0], "lr", 2)
	if got := kept(); got != "s/2/0 s/2/1 t/1/0 t/1/1 t/2/0 t/2/2 v/1/0 v/1/1 v/2/2" {
		t.Errorf("after a repeated step: %s", got)
	}
}

// newNestedRun creates a run within that of the trial whose program calls.
func (c as) newNestedRun(trial int) answer {
	c.r.t.Helper()
	return c.post(mlflowPath("runs/create"), fmt.Sprintf(`{"experiment_id":"1","tags":[{"key":"mlflow.parentRunId","value":"%d"}]}`, trial))
}

// TestMLflowRunsWithinATrial: a run within a trial's is heard when the trial's program logs to it, and the owner's quota counts it.
func TestMLflowRunsWithinATrial(t *testing.T) {
	r := rigOf(t, func(c *Config) { c.Stored = diskuse.Limits{Owner: 100_000} })
	a := r.placeOf("determined", yaml(), 1).claimAll(1)
	program := a.ranks[0]
	var nested struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			}
		}
	}
	program.newNestedRun(a.trial).ok().into(&nested)
	within := nested.Run.Info.ID
	r.exec(`UPDATE trials SET alive_at = now() - interval '1 hour' WHERE id = $1::text::int`, within)
	body := func(run string) string {
		return fmt.Sprintf(`{"run_id":%q,"key":"loss","value":1,"step":1,"timestamp":1700000000000}`, run)
	}
	program.post(mlflowPath("runs/log-metric"), body(within)).ok()
	if heard := r.text(`SELECT (alive_at > now())::text FROM trials WHERE id = $1::text::int`, within); heard != "true" {
		t.Error("a program that logs to a run within its own is not heard")
	}
	me := r.user("determined")
	own := fmt.Sprint(a.trial)
	me.post(mlflowPath("runs/log-metric"), body(own)).ok()
	me.create(yaml(), `"modelDefinition":[`+modelFile("data.txt", hexNoise(200_000))+`]`)
	program.post(mlflowPath("runs/log-metric"), body(own)).ok()
	program.post(mlflowPath("registered-models/create"), `{"name":"m"}`).fails(413, "INVALID_PARAMETER_VALUE", "determined stores")
	for who, run := range map[as]string{me: own, program: within} {
		who.post(mlflowPath("runs/log-metric"), body(run)).fails(413, "INVALID_PARAMETER_VALUE", "determined stores")
	}
}

// TestMLflowOfADeactivatedOwner: the program of a trial goes on logging, but creates no runs in the name of its owner.
func TestMLflowOfADeactivatedOwner(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	r.user("admin").patch("/api/v1/users/2", `{"active":false}`).ok()
	a.ranks[0].post(mlflowPath("runs/create"), `{"experiment_id":"1"}`).ok()
	a.ranks[0].post(mlflowPath("runs/set-tag"), fmt.Sprintf(`{"run_id":"%d","key":"a","value":"b"}`, a.trial)).ok()
	a.ranks[0].newNestedRun(a.trial).fails(403, "PERMISSION_DENIED", "is deactivated")
}

// TestMLflowHistories: samples have the first and the last value, and long lists under the name of a metric are not read.
func TestMLflowHistories(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	run := me.newMLflowRun("0")
	r.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT $1::text::int, 1, 'training', n, n, now(), CASE WHEN n % 100 = 7 THEN jsonb_build_object('a', repeat('x', 10000)) ELSE jsonb_build_object('a', n) END FROM generate_series(1, 60000) n`, run)
	ask := func(more string) string {
		var h struct {
			Metrics []struct{ Value, Step float64 }
		}
		me.get(mlflowPath("metrics/get-history-bulk-interval?metric_key=a&run_ids=" + run + more)).ok().into(&h)
		if len(h.Metrics) == 0 {
			return "0"
		}
		first, last := h.Metrics[0], h.Metrics[len(h.Metrics)-1]
		return fmt.Sprintf("%d: %v to %v", len(h.Metrics), first.Value, last.Value)
	}
	for more, want := range map[string]string{"": "2500: 1 to 60000", "&max_results=7": "7: 1 to 60000", "&max_results=1": "1: 1 to 1", "&start_step=59991": "10: 59991 to 60000",
		"&start_step=11&end_step=20&max_results=5": "5: 11 to 20", "&start_step=60001": "0"} {
		if got := ask(more); got != want {
			t.Errorf("%s: %s, want %s", more, got, want)
		}
	}
	if got := me.get(mlflowPath("metrics/get-history?metric_key=a&max_results=50000&run_id=" + run)).ok(); len(got.body) > 5<<20 {
		t.Errorf("an answer of %d bytes", len(got.body))
	}
	for _, place := range []string{"{\"g\":\"\\u0000\"}", `{"r":99999999999}`} {
		token := base64.StdEncoding.EncodeToString([]byte(place))
		me.get(mlflowPath("metrics/get-history?metric_key=a&run_id="+run+"&page_token="+url.QueryEscape(token))).fails(400, "INVALID_PARAMETER_VALUE", "page_token")
	}
}

// TestMLflowPagesAreBounded: what is long makes pages shorter, and does not make searches fail.
func TestMLflowPagesAreBounded(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	run := me.newMLflowRun("0")
	me.post(mlflowPath("logged-models"), `{"name":"m","experiment_id":"1","source_run_id":"`+run+`"}`).ok()
	r.exec(`INSERT INTO mlflow_models (id, trial_id, checkpoint, name, params)
		SELECT 'm-' || md5(n::text), trial_id, checkpoint, name, jsonb_build_object('p', repeat('x', 400000)) FROM mlflow_models, generate_series(1, 1999) n`)
	var found struct {
		Models []any
		Next   string `json:"next_page_token"`
	}
	me.post(mlflowPath("logged-models/search"), `{"experiment_ids":["1"],"max_results":500}`).ok().into(&found)
	if len(found.Models) == 0 || len(found.Models) > 20 || found.Next == "" {
		t.Errorf("%d models in a page, and %q", len(found.Models), found.Next)
	}
	// What a run may not log any more leaves nothing behind.
	me.post(mlflowPath("logged-models"), `{"name":"m","experiment_id":"1","source_run_id":"`+run+`"}`).fails(400, "INVALID_PARAMETER_VALUE", "has logged 2000 models")
	if n := r.text(`SELECT count(*)::text FROM checkpoints`); n != "1" {
		t.Errorf("%s checkpoints", n)
	}
	r.exec(`INSERT INTO projects (workspace_id, name, key, owner_id, mlflow_tags) SELECT 1, 'p' || n, 'K' || n, 1, jsonb_build_object('t', repeat('x', 250000)) FROM generate_series(1, 100) n`)
	var list struct {
		Experiments []any
		Next        string `json:"next_page_token"`
	}
	me.post(mlflowPath("experiments/search"), `{"max_results":500}`).ok().into(&list)
	if len(list.Experiments) == 0 || len(list.Experiments) > 20 || list.Next == "" {
		t.Errorf("%d experiments in a page, and %q", len(list.Experiments), list.Next)
	}
	for range 29 {
		me.newMLflowRun("0")
	}
	r.exec(`INSERT INTO trial_summaries (trial_id, summary) SELECT t.id, s FROM trials t,
		(SELECT jsonb_build_object('avg_metrics', jsonb_object_agg('metric ' || n, '{"last": 1, "type": "number"}'::jsonb)) AS s FROM generate_series(1, 20000) n) s ON CONFLICT (trial_id) DO UPDATE SET summary = excluded.summary`)
	var runs struct {
		Runs []any
		Next string `json:"next_page_token"`
	}
	me.post(mlflowPath("runs/search"), `{"experiment_ids":["0"]}`).ok().into(&runs)
	if len(runs.Runs) == 0 || len(runs.Runs) > 20 || runs.Next == "" {
		t.Errorf("%d runs in a page, and %q", len(runs.Runs), runs.Next)
	}
}

// TestMLflowSearchesOfNaN: a run whose searcher's metric is NaN is not found and sorted by a training metric of the same name.
func TestMLflowSearchesOfNaN(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	nan, good := me.newMLflowRun("0"), me.newMLflowRun("0")
	for run, values := range map[string][2]string{nan: {`"NaN"`, "0.1"}, good: {"0.5", "0.4"}} {
		r.exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1::text::int, $2::text::jsonb)`, run,
			fmt.Sprintf(`{"validation_metrics":{"loss":{"last":%s}},"avg_metrics":{"loss":{"last":%s}}}`, values[0], values[1]))
	}
	found := func(more string) (ids []string) {
		var got struct {
			Runs []struct {
				Info struct {
					ID string `json:"run_id"`
				}
			}
		}
		me.post(mlflowPath("runs/search"), `{"experiment_ids":["0"],`+more+`}`).ok().into(&got)
		for _, run := range got.Runs {
			ids = append(ids, run.Info.ID)
		}
		return ids
	}
	for more, want := range map[string]string{`"order_by":["metrics.loss ASC"]`: good + " " + nan, `"order_by":["metrics.loss DESC"]`: good + " " + nan, `"filter":"metrics.loss < 0.6"`: good} {
		if got := strings.Join(found(more), " "); got != want {
			t.Errorf("%s finds %q, want %q", more, got, want)
		}
	}
}

// TestMLflowAndMetadata: a program that sets metadata keeps its parameters of MLflow.
func TestMLflowAndMetadata(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	program := a.ranks[0]
	program.post(mlflowPath("runs/log-parameter"), fmt.Sprintf(`{"run_id":"%d","key":"lr","value":"0.1"}`, a.trial)).ok()
	set := func(metadata, want string) {
		t.Helper()
		program.post(fmt.Sprintf("/api/v1/runs/%d/metadata", a.trial), `{"metadata":`+metadata+`}`).ok()
		if got := r.text(`SELECT metadata::text FROM trials WHERE id = $1`, a.trial); got != want {
			t.Errorf("after %s: %s, want %s", metadata, got, want)
		}
	}
	set(`{"a":1}`, `{"a": 1, "mlflow": {"params": {"lr": "0.1"}}}`)
	set(`{"b":1}`, `{"b": 1, "mlflow": {"params": {"lr": "0.1"}}}`)
	set(`{"mlflow":{}}`, `{"mlflow": {}}`)
}

// TestMLflowSearchSeesWhatWasLogged: a search by a metric finds what was logged before, also while the summaries of runs wait.
func TestMLflowSearchSeesWhatWasLogged(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for i := range 3 {
		run := me.newMLflowRun("1")
		for step := range 3 {
			for _, key := range []string{"score", "loss", "accuracy"} { // the later ones are merged into the report of the first
				me.post(mlflowPath("runs/log-metric"), fmt.Sprintf(`{"run_id":%q,"key":%q,"value":%d,"step":%d,"timestamp":1700000000000}`, run, key, 10*i+step, step)).ok()
			}
		}
	}
	for body, want := range map[string]string{`"filter":"metrics.score >= 22"`: "3", `"filter":"metrics.score = 2"`: "1", `"filter":"metrics.score = 1"`: "", `"order_by":["metrics.score DESC"]`: "3 2 1",
		`"filter":"metrics.accuracy = 2"`: "1", `"filter":"metrics.accuracy = 1"`: "", `"order_by":["metrics.accuracy DESC"]`: "3 2 1"} {
		var got struct {
			Runs []struct {
				Info struct {
					ID string `json:"run_id"`
				}
			}
		}
		me.post(mlflowPath("runs/search"), `{"experiment_ids":["1"],`+body+`}`).ok().into(&got)
		var ids []string
		for _, run := range got.Runs {
			ids = append(ids, run.Info.ID)
		}
		if text := strings.Join(ids, " "); text != want {
			t.Errorf("%s finds %q, want %q", body, text, want)
		}
	}
}

// TestMLflowRunsAreCreatedWhole: a run that cannot be created leaves no experiment.
func TestMLflowRunsAreCreatedWhole(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.exec(`CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the master ends here'; END $$`)
	r.exec(`CREATE TRIGGER reject BEFORE UPDATE OF run_id ON trials FOR EACH ROW EXECUTE FUNCTION reject()`)
	me.post(mlflowPath("runs/create"), `{"experiment_id":"1"}`).is(500)
	if n := r.text(`SELECT ((SELECT count(*) FROM experiments) + (SELECT count(*) FROM trials) + (SELECT count(*) FROM tasks))::text`); n != "0" {
		t.Errorf("%s experiments, trials and tasks are left", n)
	}
	r.exec(`DROP TRIGGER reject ON trials`)
	if run := me.newMLflowRun("1"); run == "" {
		t.Error("no run")
	}
}

// TestMLflowMetricOfARun: tags name the metric by which lists show a run.
func TestMLflowMetricOfARun(t *testing.T) {
	r := newRig(t)
	me := r.user("admin")
	tag := func(key, value string) string {
		return fmt.Sprintf(`{"experiment_id":"1","key":%q,"value":%q}`, key, value)
	}
	shown := func(tags string) string {
		t.Helper()
		me.post(mlflowPath("runs/create"), `{"experiment_id":"1","tags":[`+tags+`]}`).ok()
		return r.text(`SELECT concat_ws(' ', config #>> '{searcher,metric}', config #>> '{searcher,smaller_is_better}') FROM experiments ORDER BY id DESC LIMIT 1`)
	}
	is := func(tags, want string) {
		t.Helper()
		if got := shown(tags); got != want {
			t.Errorf("with the tags %s it is shown by %s, want %s", tags, got, want)
		}
	}
	is("", "loss true")
	me.post(mlflowPath("experiments/set-experiment-tag"), tag("detent.metric", "val_accuracy")).ok()
	me.post(mlflowPath("experiments/set-experiment-tag"), tag("detent.smaller_is_better", "false")).ok()
	is("", "val_accuracy false")
	is(`{"key":"detent.metric","value":"val_loss"},{"key":"detent.smaller_is_better","value":"True"}`, "val_loss true")
	me.post(mlflowPath("runs/create"), `{"experiment_id":"1","tags":[{"key":"detent.smaller_is_better","value":"perhaps"}]}`).fails(400, "INVALID_PARAMETER_VALUE", `"perhaps" is neither true nor false`)
}

// TestMLflowEndTimes: a run has ended when its program says, but not before it started and not in the future.
func TestMLflowEndTimes(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for _, c := range []struct{ end, want string }{
		{"1700000100000", "1700000100000"}, {"1600000000000", "1700000000000"}, {"1700000000001", "1700000000001"},
	} {
		var made struct {
			Run struct {
				Info struct {
					ID string `json:"run_id"`
				}
			}
		}
		me.post(mlflowPath("runs/create"), `{"experiment_id":"1","start_time":1700000000000}`).ok().into(&made)
		var got struct {
			Info struct {
				End json.Number `json:"end_time"`
			} `json:"run_info"`
		}
		me.post(mlflowPath("runs/update"), fmt.Sprintf(`{"run_id":%q,"status":"FINISHED","end_time":%s}`, made.Run.Info.ID, c.end)).ok().into(&got)
		if got.Info.End.String() != c.want {
			t.Errorf("ended at %s: %s, want %s", c.end, got.Info.End, c.want)
		}
		me.post(mlflowPath("runs/update"), fmt.Sprintf(`{"run_id":%q,"status":"RUNNING","end_time":%s}`, made.Run.Info.ID, c.end)).ok()
	}
	if n := r.text(`SELECT ((SELECT count(*) FROM experiments WHERE ended_at IS NOT NULL) + (SELECT count(*) FROM trials WHERE ended_at IS NOT NULL) + (SELECT count(*) FROM tasks WHERE ended_at IS NOT NULL))::text`); n != "0" {
		t.Errorf("%s runs that go on have ended", n)
	}
	run := me.newMLflowRun("1")
	me.post(mlflowPath("runs/update"), fmt.Sprintf(`{"run_id":%q,"status":"FAILED","end_time":4000000000000}`, run)).ok()
	if n := r.text(`SELECT count(*)::text FROM experiments e JOIN trials t ON t.experiment_id = e.id WHERE t.id = $1::text::int AND t.ended_at = e.ended_at AND t.ended_at BETWEEN now() - interval '1 minute' AND now()`, run); n != "1" {
		t.Error("a run has ended in the future")
	}
}
