package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestCreateExperiment(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	wake, cancel := r.bus.Subscribe("intent")
	defer cancel()
	got := me.post("/api/v1/experiments", createBody("# a comment\n"+yaml("labels: [b, a]", "description: about"),
		`"modelDefinition":[{"content":"","gid":0,"mode":16877,"mtime":"1795148583","path":"sub","type":53,"uid":0},`+
			modelFile("train.py", "print(1)\n")+`,`+modelFile("sub/a.txt", "aaa")+`]`, `"activate":true`, `"parentId":null`)).ok().tree()
	select {
	case <-wake:
	default:
		t.Error("the loop was not woken")
	}
	if at(t, got, "experiment.state") != "STATE_QUEUED" || at(t, got, "experiment.originalConfig") != "# a comment\n"+yaml("labels: [b, a]", "description: about") {
		t.Fatalf("created: %v", got)
	}
	if len(at(t, got, "warnings").([]any)) != 0 || at(t, got, "config.resources.resource_pool") != "default" || at(t, got, "config.max_restarts") != 5.0 ||
		at(t, got, "config.checkpoint_storage.type") != "shared_fs" || at(t, got, "config.workspace") != "Uncategorized" {
		t.Fatalf("merged: %v", got)
	}
	id := int(at(t, got, "experiment.id").(float64))
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	e := me.get(path).ok().tree()
	for k, want := range map[string]any{"experiment.username": "determined", "experiment.searcherType": "single", "experiment.searcherMetric": "loss",
		"experiment.workspaceName": "Uncategorized", "experiment.numTrials": 1.0, "experiment.description": "about", "experiment.resourcePool": "default",
		"experiment.checkpointSize": "0", "experiment.labels.1": "a"} {
		if at(t, e, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, e, k), want)
		}
	}
	files := untar(t, at(t, me.get(path+"/model_def").ok().tree(), "b64Tgz").(string))
	if fmt.Sprint(files) != "map[sub/: sub/a.txt:aaa train.py:print(1)\n]" {
		t.Errorf("model_def: %v", files)
	}
	tree := me.get(path + "/file_tree").ok().tree()
	if at(t, tree, "files.0.files.0.path") != "sub/a.txt" || at(t, tree, "files.1.name") != "train.py" {
		t.Errorf("file_tree: %v", tree)
	}
	if b := me.get(path + "/file/download?path=sub/a.txt").ok(); string(b.body) != "aaa" || b.header.Get("Content-Disposition") == "" {
		t.Errorf("download: %q %v", b.body, b.header)
	}
	me.get(path+"/file/download?path=../../etc/passwd").says(404, "no file")
	if at(t, me.post(path+"/file", `{"path":"train.py"}`).ok().tree(), "file") != base64.StdEncoding.EncodeToString([]byte("print(1)\n")) {
		t.Error("file")
	}
	fork := me.create(yaml(), fmt.Sprintf(`"parentId":%d`, id), `"modelDefinition":[]`)
	f := me.get(fmt.Sprintf("/api/v1/experiments/%d", fork)).ok().tree()
	if at(t, f, "experiment.forkedFrom") != float64(id) || at(t, f, "experiment.state") != "STATE_PAUSED" ||
		at(t, f, "experiment.modelDefinitionSize") != at(t, e, "experiment.modelDefinitionSize") {
		t.Errorf("fork: %v", f)
	}
}

func untar(t *testing.T, b64 string) map[string]string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(content)
	}
}

func TestExperimentWarnings(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 2)
	me := r.user("determined")
	got := me.post("/api/v1/experiments", createBody(yaml("resources: {slots_per_trial: 64}"), `"validateOnly":true`)).ok().tree()
	if at(t, got, "warnings.0") != "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED" || !strings.Contains(at(t, got, "remarks.0").(string), "64 slots") ||
		at(t, got, "experiment.id") != 0.0 || at(t, got, "config.name") != "small" {
		t.Fatalf("%v", got)
	}
	if n := at(t, me.get("/api/v1/experiments").ok().tree(), "pagination.total"); n != 0.0 {
		t.Fatalf("validateOnly stored %v experiments", n)
	}
}

func TestBadExperiments(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	model := func(files string) string { return `"modelDefinition":[` + files + `]` }
	file := func(path string) string { return modelFile(path, "x") }
	for _, c := range []struct {
		what, body string
		code       int
		words      []string
	}{
		{"nothing", ``, 400, []string{"config"}},
		{"not JSON", `{"config":`, 400, []string{"not JSON"}},
		{"a wrong type", `{"config":{"a":1}}`, 400, []string{"config: expected a string"}},
		{"deep JSON", strings.Repeat(`{"config":`, 20_000), 400, []string{"not JSON"}},
		{"broken YAML", createBody("name: [1\n"), 400, []string{"config:"}},
		{"an unknown field", createBody(yaml("resources: {slotz: 1, slotz_per_trial: 2}")), 400, []string{"slotz_per_trial", "7:", "problems"}},
		{"no entrypoint", createBody("name: x\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}"), 400, []string{"entrypoint"}},
		{"a long name", createBody("name: " + strings.Repeat("n", 300_000) + "\n" + yaml("x: 1")[12:]), 400, []string{"name"}},
		{"a template", createBody(yaml(), `"template":"t"`), 404, []string{`no template "t"`}},
		{"no such parent", createBody(yaml(), `"parentId":99`), 404, []string{"experiment 99"}},
		{"no such project", createBody(yaml(), `"projectId":99`), 404, []string{"project 99"}},
		{"no such workspace", createBody(yaml("workspace: w", "project: p")), 404, []string{"workspace \"w\""}},
		{"half a place", createBody(yaml("workspace: w")), 400, []string{"together"}},
		{"no such pool", createBody(yaml("resources: {resource_pool: nowhere}")), 400, []string{"nowhere", "default"}},
		{"a path out", createBody(yaml(), model(file("a/../../b"))), 400, []string{"..", "relative"}},
		{"an absolute path", createBody(yaml(), model(file("/etc/passwd"))), 400, []string{"absolute"}},
		{"a path twice", createBody(yaml(), model(file("a")+","+file("./a"))), 400, []string{"twice"}},
		{"a file as a folder", createBody(yaml(), model(file("a")+","+file("a/b"))), 400, []string{"a is a file"}},
		{"an empty path", createBody(yaml(), model(file("./"))), 400, []string{"empty"}},
		{"a long path", createBody(yaml(), model(file(strings.Repeat("p", 10_000)))), 400, []string{"10000 bytes"}},
		{"a link", createBody(yaml(), `"modelDefinition":[{"path":"a","type":50}]`), 400, []string{"type 50"}},
		{"a control character", createBody(yaml(), model(file("a\x01b"))), 400, []string{"control characters"}},
		{"a winding path", createBody(yaml(), model(file("a//b"))), 400, []string{"simplest"}},
	} {
		got := me.post("/api/v1/experiments", c.body)
		if got.code != c.code {
			t.Errorf("%s: %d: %.300s", c.what, got.code, got.body)
			continue
		}
		got.says(c.code, c.words...)
	}
	big := me.post("/api/v1/experiments", createBody(yaml(), model(`{"path":"big","type":48,"content":"`+strings.Repeat("A", 132<<20)+`"}`)))
	big.says(413, "the limit here is 130.0 MB")
	if n := at(t, me.get("/api/v1/experiments").ok().tree(), "pagination.total"); n != 0.0 {
		t.Fatalf("bad input left %v experiments", n)
	}
}

func TestExperimentIntent(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	id := me.create(yaml(), `"activate":true`)
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	state := func() string {
		return strings.TrimPrefix(at(t, me.get(path).ok().tree(), "experiment.state").(string), "STATE_")
	}
	is := func(want string) {
		t.Helper()
		if got := state(); got != want {
			t.Fatalf("state %s, want %s", got, want)
		}
	}
	is("QUEUED")
	me.post(path+"/archive", "").says(400, "kill or cancel it first")
	me.del(path).says(400, "kill or cancel it first")
	me.post(path+"/pause", "").ok()
	is("PAUSED")
	me.post(path+"/activate", "").ok()
	r.moves(id, "PAUSED", "ACTIVE")
	is("QUEUED")
	trial, task := r.trial(id, 0)
	for _, s := range [][3]string{{"PENDING", "ASSIGNED", "QUEUED"}, {"ASSIGNED", "PULLING", "PULLING"}, {"PULLING", "STARTING", "STARTING"}, {"STARTING", "RUNNING", "RUNNING"}} {
		r.runs(task+".1", s[0], s[1])
		is(s[2])
		if got := at(t, me.get(fmt.Sprintf("/api/v1/trials/%d", trial)).ok().tree(), "trial.state"); got != "STATE_"+s[2] {
			t.Errorf("the trial is %v, want %s", got, s[2])
		}
	}
	me.post(path+"/cancel", "").ok()
	is("STOPPING_CANCELED")
	me.post(path+"/activate", "").says(400, "stopping canceled")
	me.post(path+"/kill", "").ok()
	is("STOPPING_KILLED")
	me.post(path+"/cancel", "").ok() // a kill stays a kill
	is("STOPPING_KILLED")
	r.moves(id, "ACTIVE", "CANCELED")
	is("CANCELED")
	me.post(path+"/kill", "").ok()
	me.post(path+"/pause", "").says(400, "canceled")
	me.post(path+"/archive", "").ok()
	if at(t, me.get(path).ok().tree(), "experiment.archived") != true {
		t.Error("not archived")
	}
	me.post(path+"/unarchive", "").ok()
	me.del(path).ok()
	is("DELETING")
	me.post(path+"/archive", "").says(400, "being deleted")
	mine := admin.create(yaml())
	me.post(fmt.Sprintf("/api/v1/experiments/%d/kill", mine), "").says(403, "determined may not")
	r.anyone().post(path+"/kill", "").is(401)
	me.post("/api/v1/experiments/4711/kill", "").says(404, "4711")
}

func TestManyExperiments(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	a, b, foreign := me.create(yaml()), me.create(yaml()), admin.create(yaml())
	got := me.post("/api/v1/projects/1/experiments/activate", fmt.Sprintf(`{"experimentIds":[%d,%d,%d,99],"projectId":1}`, a, b, foreign)).ok().tree()
	if len(at(t, got, "results").([]any)) != 4 {
		t.Fatalf("%v", got)
	}
	for i, want := range []string{"", "", "may not", "99 not found"} {
		if msg := at(t, got, fmt.Sprintf("results.%d.error", i)).(string); !strings.Contains(msg, want) || (want == "" && msg != "") {
			t.Errorf("%d: %q, want %q", i, msg, want)
		}
	}
	admin.post("/api/v1/projects/1/experiments/kill", fmt.Sprintf(`{"filters":{"states":["STATE_ACTIVE"],"excludedExperimentIds":[%d]}}`, a)).ok()
	for id, want := range map[int]string{a: "STATE_QUEUED", b: "STATE_STOPPING_KILLED", foreign: "STATE_PAUSED"} {
		if got := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree(), "experiment.state"); got != want {
			t.Errorf("experiment %d: %v, want %v", id, got, want)
		}
	}
	me.do("DELETE", "/api/v1/projects/1/experiments/delete", fmt.Sprintf(`{"experimentIds":[%d]}`, a)).ok()
}

func TestChangeExperiment(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml("labels: [x]", "description: d"), `"activate":true`)
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	_, task := r.trial(id, 0)
	me.patch(path, fmt.Sprintf(`{"id":%d,"description":null,"labels":null,"name":"nn","notes":null}`, id)).ok()
	e := me.get(path).ok().tree()
	if at(t, e, "experiment.name") != "nn" || at(t, e, "config.name") != "nn" || at(t, e, "experiment.description") != "d" || at(t, e, "experiment.labels.0") != "x" {
		t.Fatalf("null is not \"leave as it is\": %v", e)
	}
	got := me.patch(path, `{"resources":{"priority":10,"max_slots":4,"weight":2.0},"labels":["b","a","b"],"checkpointStorage":{"saveTrialBest":3}}`).ok().tree()
	if at(t, got, "experiment.config.resources.priority") != 10.0 || at(t, got, "experiment.labels.0") != "a" ||
		at(t, got, "experiment.config.checkpoint_storage.save_trial_best") != 3.0 || at(t, got, "experiment.config.checkpoint_storage.type") != "shared_fs" {
		t.Fatalf("%v", got)
	}
	tasks := me.get("/api/v1/tasks").ok().tree()["allocationIdToSummary"].(map[string]any)
	if at(t, tasks[task+".1"], "priority") != 10.0 {
		t.Fatalf("what waits kept its priority: %v", tasks)
	}
	me.patch(path, `{"resources":{"priority":100}}`).says(400, "priority")
	me.patch(path, `{"resources":{"weight":-1}}`).says(400, "weight")
	me.patch(path, `{"name":"`+strings.Repeat("n", 300_000)+`"}`).says(400, "300000 bytes")
	me.patch(path, `{"name":" "}`).says(400, "name")
	if labels := me.put(path+"/labels/a%20b%2Fc", "").ok().tree(); fmt.Sprint(labels["labels"]) != "[a a b/c b]" {
		t.Fatalf("labels: %v", labels)
	}
	if labels := me.del(path + "/labels/a").ok().tree(); fmt.Sprint(labels["labels"]) != "[a b/c b]" {
		t.Fatalf("labels: %v", labels)
	}
	if at(t, me.get("/api/v1/experiment/labels").ok().tree(), "labels.0") != "a b/c" {
		t.Fatal("labels in use")
	}
	ws := int(at(t, me.post("/api/v1/workspaces", `{"name":"w"}`).ok().tree(), "workspace.id").(float64))
	project := int(at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", ws), fmt.Sprintf(`{"name":"p","workspaceId":%d}`, ws)).ok().tree(), "project.id").(float64))
	me.post(path+"/move", fmt.Sprintf(`{"experimentId":%d,"destinationProjectId":%d}`, id, project)).ok()
	if at(t, me.get(path).ok().tree(), "experiment.workspaceName") != "w" {
		t.Fatal("not moved")
	}
	me.post(path+"/move", `{"destinationProjectId":77}`).says(404, "77")
	me.post(fmt.Sprintf("/api/v1/projects/%d/archive", project), "").ok()
	me.post("/api/v1/experiments", createBody(yaml(), fmt.Sprintf(`"projectId":%d`, project))).says(409, "archived")
}

func TestListExperiments(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	for i := range 7 {
		c := me
		if i%3 == 0 {
			c = admin
		}
		c.create(strings.Replace(yaml(fmt.Sprintf("labels: [l%d, all]", i%2), fmt.Sprintf("description: number %d", i)), "small", fmt.Sprintf("exp-%d", 6-i), 1))
	}
	r.moves(7, "PAUSED", "ERROR")
	me.post("/api/v1/experiments/2/activate", "").ok()
	for query, want := range map[string]string{
		"":                              "[1 2 3 4 5 6 7]",
		"limit=2":                       "[1 2]",
		"limit=2&offset=6":              "[7]",
		"limit=2&offset=99":             "[]",
		"limit=-2":                      "[]",
		"limit=-1&offset=-2":            "[6 7]",
		"orderBy=ORDER_BY_DESC&limit=3": "[7 6 5]",
		"sortBy=SORT_BY_NAME":           "[7 6 5 4 3 2 1]",
		"sort_by=SORT_BY_USER&order_by=ORDER_BY_DESC":      "[6 5 3 2 7 4 1]",
		"sortBy=SORT_BY_STATE&limit=1":                     "[7]",
		"users=admin":                                      "[1 4 7]",
		"users=admin&users=determined&limit=3":             "[1 2 3]",
		"userIds=2":                                        "[2 3 5 6]",
		"states=STATE_ACTIVE&states=STATE_ERROR":           "[2 7]",
		"states=STATE_QUEUED":                              "[2]",
		"labels=l1&labels=all":                             "[2 4 6]",
		"name=EXP-3":                                       "[4]",
		"name=%25":                                         "[]",
		"description=number+5":                             "[6]",
		"archived=true":                                    "[]",
		"archived=false&projectId=1&limit=1":               "[1]",
		"projectId=9":                                      "[]",
		"experimentIdFilter.gt=5":                          "[6 7]",
		"experimentIdFilter.gte=5&experimentIdFilter.lt=7": "[5 6]",
		"experimentIdFilter.lte=2":                         "[1 2]",
		"experimentIdFilter.incl=3&experimentIdFilter.incl=4&experimentIdFilter.notIn=4": "[3]",
		"sortBy=SORT_BY_NUM_TRIALS&limit=1":                                              "[1]", "sortBy=SORT_BY_CHECKPOINT_SIZE&limit=1": "[1]", "sortBy=SORT_BY_END_TIME&orderBy=ORDER_BY_DESC&limit=1": "[7]",
		"sortBy=SORT_BY_SEARCHER_METRIC_VAL&limit=1": "[1]", "sortBy=SORT_BY_FORKED_FROM&limit=1": "[1]",
	} {
		list := me.get("/api/v1/experiments?" + query).ok().tree()
		ids := []any{}
		for _, e := range list["experiments"].([]any) {
			ids = append(ids, at(t, e, "id"))
		}
		if got := fmt.Sprint(ids); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	me.get("/api/v1/experiments?sortBy=NONSENSE").says(400, "sortBy")
	me.get("/api/v1/experiments?orderBy=UP").says(400, "orderBy")
	me.get("/api/v1/experiments?states=RUNNING").says(400, "states")
}

func TestSecretsAreHidden(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	id := admin.create(yaml("data: {secrets: {key: hunter2}, path: /x}"))
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	if b := me.get(path).ok(); bytes.Contains(b.body, []byte("hunter2")) || at(t, b.tree(), "config.data.path") != "/x" {
		t.Fatalf("another user sees the secret: %s", b.body)
	}
	if b := me.get("/api/v1/experiments").ok(); bytes.Contains(b.body, []byte("hunter2")) {
		t.Fatalf("another user's list has the secret: %s", b.body)
	}
	own := admin.get(path).ok().tree()
	if !strings.Contains(at(t, own, "experiment.originalConfig").(string), "hunter2") || at(t, own, "config.data.secrets.key") == "hunter2" {
		t.Fatalf("the owner sees %v", own)
	}
}
