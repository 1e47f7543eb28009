package api

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// shownPlaces are the paths at which the configuration of an experiment with a checkpoint is shown.
func (r *rig) shownPlaces(a *attempt, uuid string) []string {
	r.t.Helper()
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{},"training":{}}`,
		uuid, a.task, a.id)).ok()
	admin := r.user("admin")
	admin.post("/api/v1/models", fmt.Sprintf(`{"name":"m-%s"}`, uuid)).ok()
	admin.post("/api/v1/models/m-"+uuid+"/versions", fmt.Sprintf(`{"modelName":"m-%s","checkpointUuid":%q}`, uuid, uuid)).ok()
	return []string{fmt.Sprintf("/api/v1/experiments/%d", a.exp), "/api/v1/experiments", fmt.Sprintf("/api/v1/experiments/%d/checkpoints", a.exp),
		fmt.Sprintf("/api/v1/trials/%d/checkpoints", a.trial), "/api/v1/checkpoints/" + uuid, "/api/v1/models/m-" + uuid + "/versions/1", "/api/v1/models/m-" + uuid + "/versions",
		fmt.Sprintf("/api/v1/trials/%d", a.trial), fmt.Sprintf("/api/v1/experiments/%d/trials", a.exp), "/api/v1/job-queues-v2", "/api/v1/tasks", "/api/v1/tasks/" + a.task, "POST /api/v1/experiments-search", "POST /api/v1/runs"}
}

// shows is what a path answers a caller.
func (c as) shows(path string) string {
	c.r.t.Helper()
	if path, post := strings.CutPrefix(path, "POST "); post {
		return string(c.post(path, `{"limit":10}`).ok().body)
	}
	return string(c.get(path).ok().body)
}

// TestSecretsAreShownToNobodyElse: of a configuration and its submitted text nobody sees credentials but who wrote the text, and only the
// owner and admins see values of variables and of pod_spec, and comments.
func TestSecretsAreShownToNobodyElse(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	a := r.placeOf("determined", yaml("# hunter1 is the password", "environment:", "  environment_variables: [KEY=hunter2, BARE]",
		"  pod_spec: {metadata: {annotations: {token: hunter3}}, spec: {containers: [{env: [{name: A, value: hunter4}]}]}}",
		"  registry_auth: {username: u, password: hunter5}",
		// What an experiment without variables has: a decoy, which must not decide.
		`data: {decoy: {"environment_variables": {"cpu": [], "cuda": [], "rocm": []}}, secrets: {a: hunter6, list: [hunter7]}}`), 1).claimAll(1)
	for _, path := range r.shownPlaces(a, "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee") {
		if got := eve.shows(path); strings.Contains(got, "hunter") {
			t.Errorf("%s shows eve %s", path, got)
		}
		for who, c := range map[string]as{"the owner": me, "an admin": admin} {
			got := c.shows(path)
			config := strings.Split(got, `"originalConfig"`)[0]
			if strings.Contains(config, "hunter5") || strings.Contains(config, "hunter6") || strings.Contains(config, "hunter7") {
				t.Errorf("%s shows %s %s", path, who, got)
			}
			if strings.Contains(got, `"environment_variables"`) && (!strings.Contains(got, "KEY=hunter2") || !strings.Contains(got, "hunter3")) {
				t.Errorf("%s hides from %s what is theirs: %s", path, who, got)
			}
		}
	}
	r.showsNothing(eve, map[string]string{"experiments": fmt.Sprint(a.exp), "searches": fmt.Sprint(a.exp), "trials": fmt.Sprint(a.trial), "runs": fmt.Sprint(a.trial), "tasks": a.task,
		"allocations": a.id, "checkpoints": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", "projects": "1", "workspaces": "1", "models": "m-aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"})
	path := fmt.Sprintf("/api/v1/experiments/%d", a.exp)
	whole := at(t, me.get(path).ok().tree(), "experiment.originalConfig").(string)
	if !strings.Contains(whole, "# hunter1") || !strings.Contains(whole, "hunter5") {
		t.Errorf("the owner's text is %s", whole)
	}
	text := at(t, eve.get(path).ok().tree(), "experiment.originalConfig").(string)
	for _, kept := range []string{"name: small", "entrypoint: python3 train.py", `"KEY=********"`, "BARE", "username: u", "token: \"********\"", "decoy:"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is not in the text that eve sees: %s", kept, text)
		}
	}
}

// showsNothing asks every route that only reads, of these objects and of all lists, and finds none of the secrets. Code is shown as it is.
func (r *rig) showsNothing(who as, values map[string]string) {
	r.t.Helper()
	tried := 0
	for _, route := range r.api.router.Routes() {
		l := route.Line
		object, known := values[first(l.Path)]
		if l.Method != "GET" || l.Access == v1.ByTasks || l.Access == v1.Public || l.Stream || l.Waits || !known && !l.List || l.Path == v1.FollowUpdates.Path {
			continue
		}
		got := who.get(filled(l, object))
		if got.code == 200 {
			tried++
		}
		if strings.Contains(string(got.body), "hunter") {
			r.t.Errorf("%s shows %s", l.Path, got.body)
		}
	}
	if tried < 30 {
		r.t.Errorf("only %d routes answered", tried)
	}
}

// TestTheTokenOfAnAddressIsHidden: the query of Azure's account_url is a token, which nobody sees in a configuration.
func TestTheTokenOfAnAddressIsHidden(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	id := me.create(yaml("checkpoint_storage: {type: azure, container: c, account_url: 'https://u.blob.core.windows.net?sv=1&sig=hunter2'}"))
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	for _, path := range []string{path, "/api/v1/experiments"} {
		if got := eve.shows(path); strings.Contains(got, "hunter2") || !strings.Contains(got, "https://u.blob.core.windows.net?********") {
			t.Errorf("%s shows eve %s", path, got)
		}
	}
	for _, c := range []as{me, admin} {
		if got := at(t, c.get(path).ok().tree(), "config.checkpoint_storage.account_url"); got != "https://u.blob.core.windows.net?********" {
			t.Errorf("the configuration has %v", got)
		}
	}
	// The storage of a workspace has the same section.
	ws := at(t, admin.post("/api/v1/workspaces", `{"name":"w","checkpointStorageConfig":{"type":"azure","container":"c","account_url":"https://u.blob.core.windows.net?sig=hunter2"}}`).ok().tree(), "workspace.id")
	for _, path := range []string{fmt.Sprintf("/api/v1/workspaces/%v", ws), "/api/v1/workspaces"} {
		if got := eve.shows(path); strings.Contains(got, "hunter2") || !strings.Contains(got, "https://u.blob.core.windows.net?********") {
			t.Errorf("%s shows %s", path, got)
		}
	}
}

// TestTheTextUnderAPolicyIsHidden: a policy replaces the storage of the configuration, and the submitted text still has
// that of the user, with its key.
func TestTheTextUnderAPolicyIsHidden(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	admin.put(globalPolicies+"EXPERIMENT", policyBody("invariant_config: {checkpoint_storage: {type: shared_fs, host_path: /tmp, storage_path: ckpt}, environment: {environment_variables: []}}")).ok()
	id := me.create(yaml("checkpoint_storage: {type: s3, bucket: b, access_key: hunter1, secret_key: hunter2}"))
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	if got := eve.shows(path); strings.Contains(got, "hunter") {
		t.Errorf("eve sees %s", got)
	}
	if got := at(t, me.get(path).ok().tree(), "experiment.originalConfig").(string); !strings.Contains(got, "hunter2") {
		t.Errorf("the owner's text is %s", got)
	}
}

// TestSecretsOfTasksAreShownToNobodyElse: the same for notebooks, shells, commands, TensorBoards and generic tasks.
func TestSecretsOfTasksAreShownToNobodyElse(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	const env = `"environment": {"environment_variables":["KEY=hunter2"],"pod_spec":{"metadata":{"annotations":{"a":"hunter3"}}},"registry_auth":{"username":"u","password":"hunter5"}}`
	paths := map[string]string{}
	for noun, body := range map[string]string{"command": `{"config":{"entrypoint":["x"],` + env + `}}`, "notebook": `{"config":{` + env + `}}`, "shell": `{"config":{` + env + `}}`} {
		paths[noun] = "/api/v1/" + noun + "s/" + at(t, me.post("/api/v1/"+noun+"s", body).ok().tree(), noun+".id").(string)
	}
	exp := me.create(yaml())
	paths["tensorboard"] = "/api/v1/tensorboards/" + at(t, me.post("/api/v1/tensorboards", fmt.Sprintf(`{"experimentIds":[%d],"config":{%s}}`, exp, env)).ok().tree(), "tensorboard.id").(string)
	generic := me.generic("# hunter1\nentrypoint: [x]\n" + env).taskID()
	paths["generic"], paths["task"] = "/api/v1/tasks/"+generic+"/config", "/api/v1/tasks/"+generic
	for noun, path := range paths {
		if got := eve.shows(path); strings.Contains(got, "hunter") || !strings.Contains(got, "KEY=********") {
			t.Errorf("the %s shows eve %s", noun, got)
		}
		r.showsNothing(eve, map[string]string{noun + "s": strings.Split(path, "/")[4]})
		for who, c := range map[string]as{"the owner": me, "an admin": admin} {
			if got := c.shows(path); strings.Contains(got, "hunter5") || !strings.Contains(got, "hunter2") || !strings.Contains(got, "hunter3") {
				t.Errorf("the %s shows %s %s", noun, who, got)
			}
		}
	}
}
