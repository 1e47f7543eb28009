package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// session returns a client with the session of the attempt's programs.
func (a *attempt) session() as {
	a.r.t.Helper()
	got := a.claim(0, a.identify(0), "n").ok()
	m := regexp.MustCompile(`DET_USER_TOKEN"?[:=]"?(det\.[A-Za-z0-9_-]+)`).FindSubmatch(got.body)
	if m == nil {
		a.r.t.Fatalf("the gate gives no session: %s", got.body)
	}
	return as{r: a.r, header: "Authorization", token: "Bearer " + string(m[1])}
}

// TestRoutesForPrograms: the session of a task may not call routes that change accounts, workspaces,
// templates and the cluster, or that show the masters' configuration and log. The test lists the
// other routes that it may not call.
func TestRoutesForPrograms(t *testing.T) {
	r := newRig(t)
	r.anyone().get("/info").ok()
	want := []string{
		"DELETE /templates/:name", "DELETE /workspaces/:id", "GET /master/config", "PATCH /master/config", "GET /master/logs", "PATCH /template/rename", "PATCH /templates/:name",
		"PATCH /users/:id", "PATCH /workspaces/:id", "POST /detent/tasks/:id/link", "GET /detent/shells/:id/terminal", "POST /templates/:name", "POST /users", "POST /users/:id/password", "POST /tokens", "PATCH /tokens/:id", "DELETE /detent/sessions/:id",
		"POST /workspaces", "POST /workspaces/:id/archive", "POST /workspaces/:id/pin", "POST /workspaces/:id/projects", "POST /workspaces/:id/unarchive",
		"POST /workspaces/:id/unpin", "PUT /templates/:name", "POST /webhooks", "PATCH /webhooks/:id", "DELETE /webhooks/:id", "POST /webhooks/:id/test",
		"POST /detent/webhooks/:id/deliveries/:delivery/redeliver",
		"POST /resource-pools/:pool/workspace-bindings", "PUT /resource-pools/:pool/workspace-bindings", "DELETE /resource-pools/:pool/workspace-bindings",
		"PUT /detent/quotas", "DELETE /detent/quotas/:id",
		"PUT /config-policies/workspaces/:id/:workload", "DELETE /config-policies/workspaces/:id/:workload",
		"POST /roles/add-assignments", "POST /roles/remove-assignments", "POST /groups", "PUT /groups/:group", "DELETE /groups/:group", "PATCH /users/assignments",
	}
	nouns := []string{"templates", "template", "workspaces", "users", "tokens", "master", "detent", "webhooks", "config-policies", "groups", "roles", "scim", "resource-pools"}
	var refused []string
	for _, route := range r.api.router.Routes() {
		name := route.Method + " " + route.Path
		switch noun := strings.Split(strings.TrimLeft(route.Path, "/"), "/")[0]; {
		case route.Access == v1.ByTasks:
		case route.Access == v1.ByAdmins && openToTasks(route.Line):
			t.Errorf("programs may call %s, which is for admins", name)
		case openToTasks(route.Line):
		case route.Access != v1.ByAdmins && !slices.Contains(nouns, noun):
			t.Errorf("programs may not call %s: say so in changedByPrograms, or here", name)
		default:
			refused = append(refused, name)
		}
	}
	for _, name := range want {
		if !slices.Contains(refused, name) {
			t.Errorf("programs may call %s", name)
		}
	}
}

// TestTheSessionOfATask: the session of a task has the rights of its owner, without those reserved for
// users, and never the rights of an admin.
func TestTheSessionOfATask(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	a := r.placeOf("admin", yaml(), 1).claimAll(1)
	in := a.session()
	if got := string(in.get("/api/v1/me").ok().body); !strings.Contains(got, `"username":"admin"`) {
		t.Errorf("the session's user is %s", got)
	}
	theirs := r.user("eve").post("/api/v1/commands", `{"config":{"entrypoint":["x"],"environment":{"environment_variables":["KEY=s3cret"]}}}`).ok().tree()
	other := at(t, theirs, "command.id").(string)

	in.post("/api/v1/users", `{"user":{"username":"mallory","admin":true,"active":true}}`).says(403, "a task's session")
	in.patch("/api/v1/users/2", `{"admin":true}`).says(403, "a task's session")
	in.patch("/api/v1/users/1", `{"password":"mine now"}`).says(403, "a task's session")
	in.post("/api/v1/users/1/password", `"mine now"`).says(403, "a task's session")
	in.get("/api/v1/master/config").is(403)
	in.get("/api/v1/master/logs").is(403)
	in.post("/api/v1/workspaces", `{"name":"w"}`).is(403)
	in.post("/api/v1/templates/t", `{"config":{}}`).is(403)
	in.post("/api/v1/agents/n0/disable", `{}`).is(403)
	in.post("/api/v1/commands/"+other+"/kill", "").says(403, "may not")
	in.post("/api/v1/detent/tasks/"+other+"/link", "").is(403)
	shell := at(t, admin.post("/api/v1/shells", `{}`).ok().tree(), "shell.id").(string)
	if key := at(t, in.get("/api/v1/shells/"+shell).ok().tree(), "shell.privateKey"); key != "" {
		t.Errorf("a task's session sees the key of its owner's shell: %s", key)
	}
	if key := at(t, admin.get("/api/v1/shells/"+shell).ok().tree(), "shell.privateKey"); key == "" {
		t.Error("the owner does not see the key")
	}
	if got := string(in.get("/api/v1/commands/" + other).ok().body); strings.Contains(got, "s3cret") {
		t.Errorf("an admin's task sees the variables of another user's: %s", got)
	}

	exp := in.create(yaml())
	in.post(fmt.Sprintf("/api/v1/experiments/%d/activate", exp), "").ok()
	in.get("/api/v1/experiments").ok()
	in.get(a.trialPath("")).ok()
	own := at(t, in.post("/api/v1/commands", `{"config":{"entrypoint":["x"]}}`).ok().tree(), "command.id").(string)
	in.post("/api/v1/commands/"+own+"/kill", "").ok()

	in.get("/api/v1/me").ok()
	a.next(2, 1)
	for end := time.Now().Add(time.Minute); in.get("/api/v1/me").code != 401; <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the session outlives its attempt")
		}
	}
}

// TestATasksSessionAndModelsOfOthers: a user edits the models that all share, and a program of that user's task only those of
// its owner, with roles and without.
func TestATasksSessionAndModelsOfOthers(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...func(*Config)) *rig{"basic": newRig, "rbac": newRoleRig} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			me, admin := r.user("determined"), r.user("admin")
			if name == "rbac" {
				r.give(auth.WorkspaceAdmin, "determined", 1)
			}
			other := int(at(t, admin.post("/api/v1/workspaces", `{"name":"other"}`).ok().tree(), "workspace.id").(float64))
			admin.post("/api/v1/models", `{"name":"theirs"}`).ok()
			a := r.running(yaml(), 1)
			in := a.session()
			uuid := "aaaaaaaa-2222-4333-8444-555555555555"
			a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{"steps_completed":1},"resources":{}}`, uuid, a.task, a.id)).ok()
			admin.post("/api/v1/models/theirs/versions", fmt.Sprintf(`{"checkpointUuid":%q}`, uuid)).ok()
			version := fmt.Sprintf(`{"checkpointUuid":%q}`, uuid)

			in.patch("/api/v1/models/theirs", `{"description":"mine now"}`).is(403)
			in.post("/api/v1/models/theirs/archive", "").is(403)
			in.post("/api/v1/models/theirs/unarchive", "").is(403)
			in.post("/api/v1/models/theirs/move", fmt.Sprintf(`{"destinationWorkspaceId":%d}`, other)).is(403)
			in.post("/api/v1/models/theirs/versions", version).is(403)
			in.patch("/api/v1/models/theirs/versions/1", `{"comment":"mine now"}`).is(403)
			in.get("/api/v1/models/theirs").ok()

			in.post("/api/v1/models", `{"name":"own"}`).ok()
			in.patch("/api/v1/models/own", `{"description":"new"}`).ok()
			in.post("/api/v1/models/own/versions", version).ok()
			in.patch("/api/v1/models/own/versions/1", `{"comment":"new"}`).ok()
			me.patch("/api/v1/models/theirs", `{"description":"of all"}`).ok()
		})
	}
}

// placeOf is like place, for another owner.
func (r *rig) placeOf(owner, config string, members int) *attempt {
	r.t.Helper()
	a := &attempt{r: r, exp: r.user(owner).create(config, `"activate":true`, `"modelDefinition":[`+modelFile("train.py", "print(1)\n")+`]`)}
	a.trial, a.task = r.trial(a.exp, 0)
	a.id = a.task + ".1"
	a.put(members)
	r.runOf(a, 1)
	return a
}

// TestVariablesAreTheirOwners: values of environment variables are shown to the owner
// and to admins, wherever a configuration is shown.
func TestVariablesAreTheirOwners(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	const env = `"environment":{"environment_variables":["KEY=s3cret","BARE"]}`
	paths := []string{}
	for noun, body := range map[string]string{"command": `{"config":{"entrypoint":["x"],` + env + `}}`, "notebook": `{"config":{` + env + `}}`, "shell": `{"config":{` + env + `}}`} {
		paths = append(paths, "/api/v1/"+noun+"s/"+at(t, me.post("/api/v1/"+noun+"s", body).ok().tree(), noun+".id").(string))
	}
	exp := me.create(yaml("environment: {environment_variables: [KEY=s3cret, BARE]}"))
	board := at(t, me.post("/api/v1/tensorboards", fmt.Sprintf(`{"experimentIds":[%d],"config":{%s}}`, exp, env)).ok().tree(), "tensorboard.id").(string)
	a := r.placeOf("determined", yaml("environment: {environment_variables: [KEY=s3cret, BARE]}"), 1).claimAll(1)
	const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{},"training":{}}`,
		uuid, a.task, a.id)).ok()
	paths = append(paths, fmt.Sprintf("/api/v1/experiments/%d", exp), "/api/v1/experiments", "/api/v1/tensorboards/"+board, "/api/v1/checkpoints/"+uuid)
	for _, path := range paths {
		for _, who := range []as{me, admin} {
			if got := string(who.get(path).ok().body); !strings.Contains(got, "KEY=s3cret") {
				t.Errorf("%s hides the variable from who owns it: %s", path, got)
			}
		}
		if got := string(eve.get(path).ok().body); strings.Contains(got, "s3cret") || !strings.Contains(got, "KEY=********") || !strings.Contains(got, "BARE") {
			t.Errorf("%s shows eve %s", path, got)
		}
	}
	if got := string(eve.post("/api/v1/experiments-search", `{}`).ok().body); strings.Contains(got, "s3cret") || !strings.Contains(got, "KEY=********") {
		t.Errorf("a search shows eve %s", got)
	}
	eve.post("/api/v1/experiments", createBody(yaml("environment: {environment_variables: ['KEY=********']}"))).says(400, "the value of KEY is hidden")
}

// TestAPasswordAsksForTheOldOne: a new password needs the old one, unless the user has just signed in, as
// Determined's own det does, or an admin sets the password of another user.
func TestAPasswordAsksForTheOldOne(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	me.patch("/api/v1/users/2", `{"password":"first","isHashed":true}`).ok() // there was none
	me.patch("/api/v1/users/2", `{"password":"second","isHashed":true}`).ok()
	if err := r.db.Exec(t.Context(), `UPDATE sessions SET created_at = now() - interval '1 hour' WHERE user_id = 2`); err != nil {
		t.Fatal(err)
	}
	me.patch("/api/v1/users/2", `{"password":"third","isHashed":true}`).says(403, "more than 15 minutes", "det user login")
	me.post("/api/v1/users/2/password", `"third"`).says(403, "oldPassword")
	me.patch("/api/v1/users/2", `{"password":"third","oldPassword":"first","isHashed":true}`).says(403, "not the password")
	me.patch("/api/v1/users/2", `{"displayName":"D"}`).ok()
	me.patch("/api/v1/users/2", `{"password":"third","oldPassword":"second","isHashed":true}`).ok()
	r.user("admin").patch("/api/v1/users/2", `{"password":"fourth","isHashed":true}`).ok()
}

// TestGuessingTheOldPassword: wrong old passwords from a stolen session count as wrong passwords of
// sign-ins and have the same limit, on both routes that change a password.
func TestGuessingTheOldPassword(t *testing.T) {
	r := newRig(t)
	r.keepWindow()
	me := r.user("determined")
	me.patch("/api/v1/users/2", `{"password":"first","isHashed":true}`).ok()
	for i := range accounts.MaxTriesPerName {
		if i%2 == 0 {
			me.patch("/api/v1/users/2", fmt.Sprintf(`{"password":"mine","oldPassword":"guess-%d","isHashed":true}`, i)).says(403, "not the password")
		} else {
			me.post("/api/v1/users/2/password", fmt.Sprintf(`{"password":"mine","oldPassword":"guess-%d","isHashed":true}`, i)).says(403, "not the password")
		}
	}
	me.patch("/api/v1/users/2", `{"password":"mine","oldPassword":"first","isHashed":true}`).says(429, "too many wrong passwords")
	me.post("/api/v1/users/2/password", `{"password":"mine","oldPassword":"first","isHashed":true}`).says(429, "too many wrong passwords")
	r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":"first","isHashed":true}`).says(429, "too many wrong passwords")
}

// TestASignInFromAnotherPage: the master rejects a sign-in if any header of the browser names another
// origin.
func TestASignInFromAnotherPage(t *testing.T) {
	r := newRig(t)
	const body = `{"username":"determined","password":"","isHashed":true}`
	for _, c := range []struct {
		what   string
		header map[string][]string
		code   int
	}{
		{"a program", nil, 200},
		{"our own page", map[string][]string{"Sec-Fetch-Site": {"same-origin"}, "Origin": {r.url}}, 200},
		{"our own page, by plain HTTP", map[string][]string{"Origin": {r.url}}, 200},
		{"a task's page on another port", map[string][]string{"Sec-Fetch-Site": {"same-site"}}, 403},
		{"a task's page on another port, by plain HTTP", map[string][]string{"Origin": {"http://127.0.0.1:8081"}}, 403},
		{"a page elsewhere", map[string][]string{"Origin": {"http://evil.example"}}, 403},
		{"a sandboxed page", map[string][]string{"Origin": {"null"}}, 403},
	} {
		if a := r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(body), c.header); a.code != c.code || (a.code == 200) != (a.header.Get("Set-Cookie") != "") {
			t.Errorf("%s: %d %s", c.what, a.code, a.body)
		}
	}
	secure := r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(body), map[string][]string{"X-Forwarded-Proto": {"https"}})
	if secure.code == 200 && !strings.HasPrefix(secure.header.Get("Set-Cookie"), "__Host-Http-auth=") {
		t.Errorf("by HTTPS the cookie is %s", secure.header.Get("Set-Cookie"))
	}
}
