package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

const gpuTemplate = `{"config":{"resources":{"slots_per_trial":2,"priority":7},"labels":["t"],"environment":{"environment_variables":["A=template","B=template"]},` +
	`"hyperparameters":{"lr":0.5,"depth":3},"max_restarts":1,"bind_mounts":[{"host_path":"/t","container_path":"/t"}]},"name":"gpu","workspaceId":0}`

func TestTemplates(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	made := me.post("/api/v1/templates/gpu", gpuTemplate).ok().tree()
	if at(t, made, "template.name") != "gpu" || at(t, made, "template.workspaceId") != 1.0 || at(t, made, "template.config.resources.slots_per_trial") != 2.0 {
		t.Errorf("%v", made)
	}
	me.post("/api/v1/templates/gpu", gpuTemplate).says(409, "gpu")
	me.get("/api/v1/templates/none").says(404, "none")
	// The document is returned as it was written, in YAML.
	source := "# how we train\nmax_restarts: 3\n"
	b, err := json.Marshal(v1.Template{Source: &source})
	if err != nil {
		t.Fatal(err)
	}
	if got := admin.put("/api/v1/templates/ours", string(b)).ok().tree(); at(t, got, "template.source") != source || at(t, got, "template.config.max_restarts") != 3.0 {
		t.Errorf("%v", got)
	}
	list := me.get("/api/v1/templates?limit=1&offset=1&sortBy=SORT_BY_NAME").ok().tree()
	if at(t, list, "templates.0.name") != "ours" || at(t, list, "pagination.total") != 2.0 || len(at(t, list, "templates").([]any)) != 1 {
		t.Errorf("%v", list)
	}
	if list := me.get("/api/v1/templates?workspaceIds=9").ok().tree(); len(at(t, list, "templates").([]any)) != 0 {
		t.Errorf("%v", list)
	}
	// The body of PATCH is the configuration.
	if got := me.patch("/api/v1/templates/gpu", `{"max_restarts": 2, "slots": null}`).says(400, `template "gpu":2:1: slots`); got.code != 400 {
		t.Error(got.code)
	}
	if got := me.patch("/api/v1/templates/gpu", `{"max_restarts": 2}`).ok().tree(); at(t, got, "template.config.max_restarts") != 2.0 {
		t.Errorf("%v", got)
	}
	me.patch("/api/v1/templates/ours", `{}`).says(403, "another user")
	me.put("/api/v1/templates/ours", `{"config":{}}`).says(403, "another user")
	me.del("/api/v1/templates/ours").says(403, "another user")
	admin.patch("/api/v1/template/rename", `{"oldName":"gpu","newName":"big"}`).ok()
	admin.patch("/api/v1/template/rename", `{"oldName":"big","newName":"ours"}`).says(409, "ours")
	admin.patch("/api/v1/template/rename", `{"oldName":"big","newName":"a/b"}`).says(400, "newName")
	me.post("/api/v1/templates/%20", `{"config":{}}`).says(400, "name")
	me.post("/api/v1/templates/x", `{"config":{},"workspaceId":77}`).says(404, "workspace 77")
	me.post("/api/v1/templates/x", `{"config":{"resources":{"slotz":1}},"workspaceId":1}`).says(400, `template "x":2:3: resources.slotz: unknown field`)
	me.del("/api/v1/templates/big").ok()
	me.del("/api/v1/templates/big").says(404, "big")
}

// One template serves experiments and tasks of other kinds, with fields that only some of them have.
func TestTemplateOfAllKinds(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	const posted = `{"name":"from the template","resources":{"slots":2,"weight":1,"agent_label":"old"},"environment":{"environment_variables":["A=1"]}}`
	made := me.post("/api/v1/templates/all", `{"config":`+posted+`}`).ok().tree()
	if at(t, made, "template.config.resources.slots") != 2.0 || at(t, made, "template.config.name") != "from the template" {
		t.Errorf("%v", made)
	}
	got := me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]},"templateName":"all"}`).ok().tree()
	if at(t, got, "config.resources.slots") != 1.0 {
		t.Errorf("a command: %v", got)
	}
	exp := me.post("/api/v1/experiments", createBody(yaml(), `"template":"all","validateOnly":true`)).ok().tree()
	if at(t, exp, "config.resources.slots_per_trial") != 1.0 || at(t, exp, "config.resources.slots") != 2.0 {
		t.Errorf("an experiment: %v", exp)
	}
	// The submitted configuration must be valid.
	me.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"name":"x"},"templateName":"all"}`).says(400, "name: unknown field")
}

// Only users who may change a template see its secrets.
func TestTemplateSecrets(t *testing.T) {
	r := newRig(t)
	owner := r.user("admin")
	owner.post("/api/v1/templates/s3", `{"config":{"checkpoint_storage":{"type":"s3","bucket":"b","access_key":"hunter2","secret_key":"hunter2"}}}`).ok()
	if got := owner.get("/api/v1/templates/s3").ok().tree(); at(t, got, "template.config.checkpoint_storage.secret_key") != "hunter2" {
		t.Errorf("%v", got)
	}
	for _, path := range []string{"/api/v1/templates/s3", "/api/v1/templates"} {
		if got := r.user("determined").get(path).ok(); json.Valid(got.body) && contains(got.body, "hunter2") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}

// An experiment is merged over its template, and the template over the cluster's defaults.
func TestExperimentOverTemplate(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	me.post("/api/v1/templates/gpu", gpuTemplate).ok()
	config := yaml("labels: [e]", "hyperparameters: {lr: 0.1}", "environment: {environment_variables: [A=mine]}", "bind_mounts: [{host_path: /e, container_path: /e}]", "max_restarts: 0")
	got := me.post("/api/v1/experiments", createBody(config, `"template":"gpu"`)).ok().tree()
	for path, want := range map[string]any{"config.resources.slots_per_trial": 2.0, "config.resources.priority": 7.0, "config.labels.0": "e", "config.labels.1": "t",
		"config.hyperparameters.lr.val": 0.1, "config.hyperparameters.depth.val": 3.0, "config.max_restarts": 0.0, "experiment.originalConfig": config,
		"config.bind_mounts.0.container_path": "/e", "config.bind_mounts.1.container_path": "/t", "config.environment.environment_variables.cpu.0": "B=template",
		"config.environment.environment_variables.cpu.1": "A=mine"} {
		if v := at(t, got, path); v != want {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
	// A fork uses the same two documents, although the template has changed since.
	me.patch("/api/v1/templates/gpu", `{"resources":{"slots_per_trial":1}}`).ok()
	id := int(at(t, got, "experiment.id").(float64))
	fork := me.post("/api/v1/experiments", fmt.Sprintf(`{"parentId":%d}`, id)).ok().tree()
	if at(t, fork, "config.resources.slots_per_trial") != 2.0 || at(t, fork, "experiment.originalConfig") != config {
		t.Errorf("%v", fork)
	}
	me.post("/api/v1/experiments", createBody(config, `"template":"none"`)).says(404, `no template "none"`, "det template list")
	// An error names the document that contains the mistake.
	me.patch("/api/v1/templates/gpu", `{"max_restarts":-1,"name":"x"}`).ok()
	me.post("/api/v1/experiments", createBody(yaml(), `"template":"gpu"`)).says(400, `template "gpu":1:15: max_restarts`)
	me.patch("/api/v1/templates/gpu", `{"work_dir":"/x"}`).ok()
	me.post("/api/v1/experiments", createBody(yaml(), `"template":"gpu"`)).says(400, `template "gpu":1:1: work_dir: unknown field`)
}

func TestTaskOverTemplate(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	me.post("/api/v1/templates/small", `{"config":{"resources":{"slots":2,"priority":3},"description":"from the template","environment":{"environment_variables":["A=t","B=t"]}}}`).ok()
	for path, body := range map[string]string{
		"/api/v1/commands":  `{"config":{"entrypoint":["true"],"resources":{"slots":0},"environment":{"environment_variables":["A=mine"]}},"template_name":"small"}`,
		"/api/v1/notebooks": `{"config":{"resources":{"slots":0},"environment":{"environment_variables":["A=mine"]}},"templateName":"small"}`,
		"/api/v1/shells":    `{"config":{"resources":{"slots":0},"environment":{"environment_variables":["A=mine"]}},"template_name":"small"}`,
	} {
		got := me.post(path, body).ok().tree()
		if at(t, got, "config.resources.slots") != 0.0 || at(t, got, "config.resources.priority") != 3.0 || at(t, got, "config.description") != "from the template" ||
			at(t, got, "config.environment.environment_variables.cpu.0") != "B=t" || at(t, got, "config.environment.environment_variables.cpu.1") != "A=mine" {
			t.Errorf("%s: %v", path, got)
		}
	}
	id := me.create(yaml())
	me.trialOf(r, id)
	got := me.post("/api/v1/tensorboards", fmt.Sprintf(`{"experimentIds":[%d],"templateName":"small"}`, id)).ok().tree()
	if at(t, got, "tensorboard.description") != "from the template" || at(t, got, "config.resources.slots") != 2.0 {
		t.Errorf("%v", got)
	}
	me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]},"template_name":"none"}`).says(404, `no template "none"`)
	// Fields of experiments have no effect.
	me.post("/api/v1/templates/theirs", `{"config":{"max_restarts":1,"searcher":{"name":"single"},"resources":{"priority":5}}}`).ok()
	got = me.post("/api/v1/commands", `{"config":{"entrypoint":["true"]},"template_name":"theirs"}`).ok().tree()
	if at(t, got, "config.resources.priority") != 5.0 || strings.Contains(fmt.Sprint(at(t, got, "config")), "searcher") {
		t.Errorf("%v", got)
	}
}
