package api

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// teams are two workspaces: one with one of everything of the user determined (ours), in which
// nobody else has a role, and one in which vera is a Viewer, eddie an Editor and wanda a
// WorkspaceAdmin.
type teams struct {
	*rig
	theirs             map[string]string
	mine, project      int // the second workspace, and its project
	own                int // an experiment of eddie's there
	vera, eddie, wanda as
}

func newTeams(t *testing.T) *teams {
	t.Helper()
	r := newRoleRig(t)
	r.give(auth.WorkspaceAdmin, "determined", 1)
	m := &teams{rig: r, theirs: ours(t, r)}
	admin := r.user("admin")
	m.mine = int(at(t, admin.post("/api/v1/workspaces", `{"name":"mine"}`).ok().tree(), "workspace.id").(float64))
	m.vera, m.eddie, m.wanda = r.newUser("vera"), r.newUser("eddie"), r.newUser("wanda")
	r.give(auth.Viewer, "vera", m.mine)
	r.give(auth.Editor, "eddie", m.mine)
	r.give(auth.WorkspaceAdmin, "wanda", m.mine)
	m.project = int(at(t, m.eddie.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", m.mine), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	m.own = m.eddie.create(yaml("environment: {environment_variables: [KEY=eddies-secret]}"), fmt.Sprintf(`"projectId":%d`, m.project))
	return m
}

var anyNumber = regexp.MustCompile(`[0-9]+`)

// TestNothingTellsThatAnObjectExists: an object that the caller may not see gets the same answer as an
// object that does not exist.
func TestNothingTellsThatAnObjectExists(t *testing.T) {
	m := newTeams(t)
	unknown := map[string]string{"models": "unknown", "templates": "unknown", "checkpoints": "99999999-2222-4333-8444-555555555555",
		"tasks": "99999.99999999-2222-4333-8444-555555555555", "allocations": "99999.99999999-2222-4333-8444-555555555555.1"}
	for _, noun := range []string{"commands", "notebooks", "shells", "tensorboards"} {
		unknown[noun] = "99999999-2222-4333-8444-555555555555"
	}
	tried := 0
	for _, route := range m.api.router.Routes() {
		l := route.Line
		id, known := m.theirs[first(l.Path)]
		if !known || !route.Loads || l.Access == v1.ByTasks || l.Access == v1.ByAdmins || l.Path == v1.PutTemplate.Path && l.Method == "PUT" {
			continue
		}
		other, has := unknown[first(l.Path)]
		if !has {
			other = "99999"
		}
		switch {
		case strings.HasPrefix(l.Path, "/projects/key/"):
			id, other = "UNCATEGORIZED", "NOKEY"
		case l.Path == v1.GetTrialByExternalID.Path, l.Path == v1.LinkTask.Path, l.Path == v1.AddressTask.Path:
			continue
		}
		hidden, absent := m.eddie.do(l.Method, filled(l, id), "{"), m.eddie.do(l.Method, filled(l, other), "{")
		normal := func(a answer, id string) string {
			return fmt.Sprint(a.code, anyNumber.ReplaceAllString(strings.ReplaceAll(string(a.body), id, "ID"), "ID"))
		}
		if a, b := normal(hidden, id), normal(absent, other); a != b || hidden.code != 404 {
			t.Errorf("%s %s:\n%s for a hidden object, and\n%s for one that does not exist", l.Method, l.Path, a, b)
		}
		tried++
	}
	if tried < 80 {
		t.Errorf("only %d endpoints were tried", tried)
	}
}

// TestOtherTeamsThings: a user with roles in one workspace only cannot read or change objects of
// another one through a body, a query, a filter, a list of ids or a configuration.
func TestOtherTeamsThings(t *testing.T) {
	m := newTeams(t)
	x := m.theirs
	from := func(source string) string {
		return createBody(strings.Replace(yaml(), "metric: loss", "metric: loss\n  "+source, 1), fmt.Sprintf(`"projectId":%d`, m.project))
	}
	for _, c := range []struct {
		what, method, path, body string
		code                     int
		says                     string
	}{
		{"a stream of metrics", "GET", "/api/v1/trials/metrics/trial_metrics?trialIds=" + x["trials"], "", 404, "trial"},
		{"curves", "GET", "/api/v1/trials/time-series?trialIds=" + x["trials"] + "&metricNames=loss", "", 404, "trial"},
		{"the stream of a page", "GET", "/api/v1/detent/live?trials=" + x["trials"], "", 404, "trial"},
		{"names of metrics", "GET", "/api/v1/experiments/metrics-stream/metric-names?ids=" + x["experiments"], "", 404, "experiment"},
		{"continuing", "POST", "/api/v1/experiments/continue", `{"id":` + x["experiments"] + `}`, 404, "experiment"},
		{"forking", "POST", "/api/v1/experiments", createBody(yaml(), fmt.Sprintf(`"projectId":%d,"parentId":%s`, m.project, x["experiments"])), 404, "parentId: experiment"},
		{"their project", "POST", "/api/v1/experiments", createBody(yaml(), `"projectId":1`), 404, "project 1 not found"},
		{"their project by name", "POST", "/api/v1/experiments", createBody(yaml("workspace: Uncategorized", "project: Uncategorized")), 404, `there is no workspace \"Uncategorized\"`},
		{"no project", "POST", "/api/v1/experiments", createBody(yaml()), 403, "name a workspace"},
		{"their checkpoint as source", "POST", "/api/v1/experiments", from("source_checkpoint_uuid: " + x["checkpoints"]), 400, "no checkpoint found with UUID"},
		{"their trial as source", "POST", "/api/v1/experiments", from("source_trial_id: " + x["trials"]), 400, "trial " + x["trials"] + " not found"},
		{"their template", "POST", "/api/v1/experiments", createBody(yaml(), fmt.Sprintf(`"projectId":%d,"template":"ours"`, m.project)), 404, `there is no template \"ours\"`},
		{"their template for a notebook", "POST", "/api/v1/notebooks", fmt.Sprintf(`{"workspaceId":%d,"templateName":"ours"}`, m.mine), 404, `there is no template \"ours\"`},
		{"a TensorBoard over their experiment", "POST", "/api/v1/tensorboards", fmt.Sprintf(`{"workspaceId":%d,"experimentIds":[%d,%s]}`, m.mine, m.own, x["experiments"]), 404, "experiment " + x["experiments"] + " not found"},
		{"a TensorBoard over their trial", "POST", "/api/v1/tensorboards", fmt.Sprintf(`{"workspaceId":%d,"trialIds":[%s]}`, m.mine, x["trials"]), 404, "trial " + x["trials"] + " not found"},
		{"a TensorBoard over what filters find", "POST", "/api/v1/tensorboards", fmt.Sprintf(`{"workspaceId":%d,"filters":{"projectId":1}}`, m.mine), 400, "no experiment matches"},
		{"a command in their workspace", "POST", "/api/v1/commands", `{"workspaceId":1,"config":{"entrypoint":["x"]}}`, 404, "workspace 1 not found"},
		{"a command in no workspace", "POST", "/api/v1/commands", `{"config":{"entrypoint":["x"]}}`, 403, "name a workspace"},
		{"a task in their project", "POST", "/api/v1/generic-tasks", `{"projectId":1,"config":"entrypoint: [x]"}`, 404, "project 1 not found"},
		{"moving an experiment to them", "POST", fmt.Sprintf("/api/v1/experiments/%d/move", m.own), `{"destinationProjectId":1}`, 404, "project 1 not found"},
		{"moving a project to them", "POST", fmt.Sprintf("/api/v1/projects/%d/move", m.project), `{"destinationWorkspaceId":1}`, 404, "workspace 1 not found"},
		{"moving runs from them", "POST", "/api/v1/runs/move", fmt.Sprintf(`{"runIds":[%s],"sourceProjectId":1,"destinationProjectId":%d}`, x["runs"], m.project), 404, "project 1 not found"},
		{"removing files", "POST", "/api/v1/checkpoints/rm", `{"checkpointUuids":["` + x["checkpoints"] + `"],"checkpointGlobs":["**"]}`, 404, "checkpoint"},
		{"deleting checkpoints", "DELETE", "/api/v1/checkpoints", `{"checkpointUuids":["` + x["checkpoints"] + `"]}`, 404, "checkpoint"},
		{"registering their checkpoint", "POST", "/api/v1/models/mine/versions", `{"modelName":"mine","checkpointUuid":"` + x["checkpoints"] + `"}`, 404, "checkpoint"},
		{"a model with them", "POST", "/api/v1/models", `{"name":"new","workspaceId":1}`, 404, "workspace 1 not found"},
		{"moving a model to them", "POST", "/api/v1/models/mine/move", `{"destinationWorkspaceId":1}`, 404, "workspace 1 not found"},
		{"a template with them", "POST", "/api/v1/templates/new", `{"workspaceId":1,"config":{}}`, 404, "workspace 1 not found"},
		{"replacing their template", "PUT", "/api/v1/templates/ours", `{"config":{}}`, 404, "template"},
		{"renaming their template", "PATCH", "/api/v1/template/rename", `{"oldName":"ours","newName":"mine"}`, 404, "template"},
		{"a webhook with them", "POST", "/api/v1/webhooks", `{"url":"https://example.com","workspaceId":1,"webhookType":"WEBHOOK_TYPE_DEFAULT","triggers":[]}`, 404, "workspace 1 not found"},
		{"a webhook for all", "POST", "/api/v1/webhooks", `{"url":"https://example.com","webhookType":"WEBHOOK_TYPE_DEFAULT","triggers":[]}`, 403, "only admins"},
		{"an event of theirs", "POST", "/api/v1/webhooks/custom", `{"experimentId":` + x["experiments"] + `,"data":{"title":"x"}}`, 404, "experiment"},
		{"lines in their log", "POST", "/api/v1/task/logs", `{"logs":[{"taskId":"` + x["tasks"] + `","log":"x"}]}`, 404, "task"},
		{"starting their run", "POST", "/api/v1/runs/start", `{"runId":` + x["runs"] + `}`, 404, ""},
		{"visiting their project", "POST", "/api/v1/users/activity", `{"activityType":"ACTIVITY_TYPE_GET","entityType":"ENTITY_TYPE_PROJECT","entityId":1}`, 404, "project 1 not found"},
		{"a role with them", "POST", "/api/v1/roles/add-assignments", `{"userRoleAssignments":[{"userId":3,"roleAssignment":{"role":{"roleId":4},"scopeWorkspaceId":1}}]}`, 404, "workspace 1 not found"},
		{"a role for the cluster", "POST", "/api/v1/roles/add-assignments", `{"userRoleAssignments":[{"userId":3,"roleAssignment":{"role":{"roleId":1},"scopeCluster":true}}]}`, 403, "whole cluster"},
		{"a role in the own workspace", "POST", "/api/v1/roles/add-assignments", fmt.Sprintf(`{"userRoleAssignments":[{"userId":3,"roleAssignment":{"role":{"roleId":2},"scopeWorkspaceId":%d}}]}`, m.mine), 403, "may not assign roles"},
		{"a group", "POST", "/api/v1/groups", `{"name":"g"}`, 403, "admin"},
		{"somebody's password", "PATCH", "/api/v1/users/1", `{"password":"mine"}`, 403, "admin"},
		{"the admin mark", "POST", "/api/v1/users", `{"user":{"username":"x","admin":true}}`, 403, "admin"},
		{"the master's log", "GET", "/api/v1/master/logs", "", 403, ""},
		{"a workspace", "POST", "/api/v1/workspaces", `{"name":"new"}`, 403, ""},
	} {
		if c.what == "registering their checkpoint" {
			m.eddie.post("/api/v1/models", fmt.Sprintf(`{"name":"mine","workspaceId":%d}`, m.mine)).ok()
		}
		if got := m.eddie.do(c.method, c.path, c.body); got.code != c.code || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%s: %d %.300s, want %d and %q", c.what, got.code, got.body, c.code, c.says)
		}
	}
}

// TestListsOfTeams: no list, search, filter or count shows anything of the other workspace; the
// queue shows that tasks are ahead of the user's own, without their names.
func TestListsOfTeams(t *testing.T) {
	m := newTeams(t)
	m.node("n0", "node-0", 2)
	for _, who := range []as{m.vera, m.eddie, m.wanda} {
		for _, route := range m.api.router.Routes() {
			l := route.Line
			if !l.List || l.Access == v1.ByAdmins || l.Path == v1.FollowUpdates.Path || // updates_test.go has the scope of that WebSocket
				auth.Global(l.Object) && l.Object != v1.KindAgent {
				continue
			}
			body := ""
			if l.Method != "GET" {
				body = `{}`
			}
			got := string(who.do(l.Method, filled(l, "0"), body).ok().body)
			for _, word := range []string{m.theirs["tasks"], m.theirs["commands"], m.theirs["notebooks"], m.theirs["shells"], m.theirs["tensorboards"], m.theirs["checkpoints"],
				`"ours"`, "our-label", "our-hook", "our_lr", "our_metric", "our_value", `"determined"`} {
				if strings.Contains(got, word) {
					t.Errorf("%s %s shows %s: %.600s", l.Method, l.Path, word, got)
				}
			}
		}
		for _, body := range []string{fmt.Sprintf(`{"experimentIds":[%s]}`, m.theirs["experiments"]), `{"projectId":1}`} {
			if got := string(who.post("/api/v1/experiments-search", body).body); strings.Contains(got, "our-label") {
				t.Errorf("a search with %s finds %s", body, got)
			}
		}
	}
	queue := m.eddie.get("/api/v1/job-queues-v2").ok()
	if text := string(queue.body); !strings.Contains(text, `"limited"`) || strings.Contains(text, `"full":{"jobId"`) && strings.Contains(text, "determined") {
		t.Errorf("the queue: %s", text)
	}
	nodes := string(m.eddie.get("/api/v1/agents").ok().body)
	if !strings.Contains(nodes, "hidden-") || strings.Contains(nodes, m.theirs["allocations"]) {
		t.Errorf("the nodes: %s", nodes)
	}
	if all := string(m.user("admin").get("/api/v1/agents").ok().body); strings.Contains(all, "hidden-") {
		t.Errorf("a ClusterAdmin does not see the tasks on the nodes: %s", all)
	}
}

// TestBulkActionsOfTeams: an action on ids of both workspaces changes nothing in the other team's
// workspace, and answers that its ids were not found.
func TestBulkActionsOfTeams(t *testing.T) {
	m := newTeams(t)
	ids := fmt.Sprintf(`[%d,%s]`, m.own, m.theirs["experiments"])
	saw := m.text(`SELECT desired FROM experiments WHERE id = ` + m.theirs["experiments"])
	for _, action := range []string{"activate", "pause", "kill", "archive", "delete"} {
		method, verb := "POST", "change"
		if action == "delete" {
			method, verb = "DELETE", "delete"
		}
		for _, project := range []string{"0", fmt.Sprint(m.project)} {
			got := m.eddie.do(method, "/api/v1/projects/"+project+"/experiments/"+action, `{"experimentIds":`+ids+`}`).ok()
			if !strings.Contains(string(got.body), "experiment "+m.theirs["experiments"]+" not found") {
				t.Errorf("%s in project %s: %s", action, project, got.body)
			}
		}
		m.eddie.do(method, "/api/v1/projects/1/experiments/"+action, `{"experimentIds":`+ids+`}`).is(404)
		if got := m.vera.do(method, "/api/v1/projects/0/experiments/"+action, `{"experimentIds":`+ids+`}`).ok(); !strings.Contains(string(got.body), "vera may not "+verb+" this experiment") {
			t.Errorf("vera may %s: %s", action, got.body)
		}
	}
	runs := m.eddie.post("/api/v1/runs/kill", `{"runIds":[`+m.theirs["runs"]+`]}`).ok()
	if !strings.Contains(string(runs.body), "not found") {
		t.Errorf("a run of others: %s", runs.body)
	}
	if got := m.text(`SELECT desired FROM experiments WHERE id = ` + m.theirs["experiments"]); got != saw {
		t.Errorf("the other team's experiment is %s, and was %s", got, saw)
	}
}

// TestEditorsActInTheirOwnName: an Editor who may change the experiments of others is not shown
// their secrets, and runs no code of their own with the rights of the owner.
func TestEditorsActInTheirOwnName(t *testing.T) {
	m := newTeams(t)
	other := m.newUser("olga")
	m.give(auth.Editor, "olga", m.mine)
	path := fmt.Sprintf("/api/v1/experiments/%d", m.own)
	for name, who := range map[string]as{"olga": other, "wanda": m.wanda, "vera": m.vera} {
		if got := string(who.get(path).ok().body); strings.Contains(got, "eddies-secret") {
			t.Errorf("%s sees the secret: %s", name, got)
		}
	}
	if got := string(m.eddie.get(path).ok().body); !strings.Contains(got, "eddies-secret") {
		t.Errorf("the owner does not see the variable: %s", got)
	}
	other.patch(path, `{"name":"renamed"}`).ok()
	other.post("/api/v1/experiments/continue", fmt.Sprintf(`{"id":%d,"overrideConfig":"entrypoint: env"}`, m.own)).says(403, "the rights of eddie", "fork it")
	notebook := at(t, m.eddie.post("/api/v1/notebooks", fmt.Sprintf(`{"workspaceId":%d}`, m.mine)).ok().tree(), "notebook.id").(string)
	other.get("/api/v1/notebooks/" + notebook).ok()
	for name, want := range map[string]bool{"eddie": true, "olga": false, "wanda": false, "vera": false, "admin": true} {
		who := m.whoIs(name)
		k, err := tasks.Directory{DB: m.db}.Task(t.Context(), notebook, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := auth.Can(who, auth.Enter, auth.Object{Kind: v1.KindTask, OwnerID: k.OwnerID, WorkspaceID: k.WorkspaceID, TaskID: k.ID}); got != want {
			t.Errorf("%s may enter the notebook of eddie: %v", name, got)
		}
	}
	other.post("/api/v1/notebooks/"+notebook+"/kill", "").ok()
}

// whoIs returns a user with the rights of their newest session.
func (r *rig) whoIs(name string) auth.Who {
	r.t.Helper()
	token := strings.TrimPrefix(r.user(name).token, "Bearer ")
	who, err := accounts.SessionWho(r.t.Context(), r.db, r.api.cfg.Roles, auth.HashToken(token))
	if err != nil {
		r.t.Fatal(err)
	}
	return who
}

// TestARoleTakenAway: when a user loses a role, open logs of tasks and streams of pages end on every
// master, and the user no longer sees the objects.
func TestARoleTakenAway(t *testing.T) {
	m := newTeams(t)
	second := m.another()
	admin := m.user("admin")
	group := fmt.Sprint(at(t, admin.post("/api/v1/groups", `{"name":"guests"}`).ok().tree(), "group.groupId"))
	guest := m.newUser("guest")
	admin.post("/api/v1/roles/add-assignments", `{"groupRoleAssignments":[{"groupId":`+group+`,"roleAssignment":{"role":{"roleId":4},"scopeWorkspaceId":1}}]}`).ok()
	id := m.whoIs("guest").UserID
	admin.put("/api/v1/groups/"+group, fmt.Sprintf(`{"addUsers":[%d]}`, id)).ok()
	guest.get("/api/v1/experiments/" + m.theirs["experiments"]).ok()
	there := guest
	there.r = second
	there.get("/api/v1/experiments/" + m.theirs["experiments"]).ok()

	logs := guest.stays("/api/v1/tasks/" + m.theirs["tasks"] + "/logs?follow=true")
	page := guest.stays("/api/v1/detent/live")
	m.opens(2)
	admin.put("/api/v1/groups/"+group, fmt.Sprintf(`{"removeUsers":[%d]}`, id)).ok()
	guest.get("/api/v1/experiments/" + m.theirs["experiments"]).is(404)
	for what, ended := range map[string]<-chan string{"the log": logs, "the page": page} {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("%s stays open", what)
		}
	}
	for end := time.Now().Add(time.Minute); there.get("/api/v1/experiments/"+m.theirs["experiments"]).code != 404; <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the other master does not notice")
		}
	}
}

// TestTasksAfterARoleWasTaken: an attempt still reports about itself when its owner has lost
// the role, and sees nothing else of the workspace.
func TestTasksAfterARoleWasTaken(t *testing.T) {
	m := newTeams(t)
	a := m.rig.placeOf("determined", yaml(), 1).claimAll(1)
	task := a.ranks[0]
	task.get("/api/v1/experiments/" + m.theirs["experiments"]).ok()
	m.exec(`DELETE FROM role_assignments WHERE user_id = 2`)
	m.api.auth.RolesChanged()
	task.get("/api/v1/experiments/" + m.theirs["experiments"]).is(404)
	task.get(a.trialPath("")).ok()
	task.get(a.path("")).ok()
}

// TestAPlaceBesideAHiddenJob: a job moves ahead of and behind jobs that the caller may view; another job is not found, like
// one that does not exist, and nothing of the request happens.
func TestAPlaceBesideAHiddenJob(t *testing.T) {
	m := newTeams(t)
	jobOf := func(who as, exp int) string {
		return at(t, who.get(fmt.Sprintf("/api/v1/experiments/%d", exp)).ok().tree(), "experiment.jobId").(string)
	}
	waiting := func(who as, project int) (int, string) {
		id := who.create(yaml(), fmt.Sprintf(`"projectId":%d,"activate":true`, project))
		m.trial(id, 0)
		return id, jobOf(who, id)
	}
	own, job := waiting(m.eddie, m.project)
	_, beside := waiting(m.eddie, m.project)
	_, hidden := waiting(m.user("determined"), 1)
	const unknown = "99999999-2222-4333-8444-555555555555"
	for _, field := range []string{"aheadOf", "behindOf"} {
		for _, anchor := range []string{hidden, unknown} {
			m.eddie.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,%q:%q,"priority":7}]}`, job, field, anchor)).says(404, "job "+anchor+" not found")
		}
		m.eddie.post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,%q:%q}]}`, job, field, beside)).ok()
		m.user("admin").post("/api/v1/job-queues", fmt.Sprintf(`{"updates":[{"jobId":%q,%q:%q}]}`, job, field, hidden)).ok()
	}
	if got := m.text(`SELECT priority::text FROM experiments WHERE id = $1`, own); got == "7" {
		t.Error("a refused request has changed the priority of its job")
	}
}

// TestContinuingUnderAnotherPolicy: who moves somebody's experiment into a workspace with a policy cannot let it continue, with the
// rights of its owner, on other data or with other storage.
func TestContinuingUnderAnotherPolicy(t *testing.T) {
	for _, invariant := range []string{"data: {url: 'https://evil.example'}", "tensorboard_storage: {type: s3, bucket: evil}", "resources: {shm_size: 12345}"} {
		m := newTeams(t)
		olga := m.newUser("olga")
		m.give(auth.Editor, "olga", m.mine)
		m.give(auth.WorkspaceCreator, "olga", 0)
		theirs := m.eddie.create(yaml("data: {url: https://good.example}"), fmt.Sprintf(`"projectId":%d`, m.project))
		m.exec(`UPDATE experiments SET ended_at = now(), state = 'CANCELED' WHERE id = $1`, theirs)
		m.exec(`UPDATE trials SET ended_at = now(), state = 'CANCELED' WHERE experiment_id = $1`, theirs)
		ws := int(at(t, olga.post("/api/v1/workspaces", `{"name":"olgas"}`).ok().tree(), "workspace.id").(float64))
		to := int(at(t, olga.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", ws), `{"name":"p"}`).ok().tree(), "project.id").(float64))
		olga.put(fmt.Sprintf("%s%d/EXPERIMENT", workspacePolicies, ws), policyBody("invariant_config: {"+invariant+"}")).ok()
		olga.post(fmt.Sprintf("/api/v1/experiments/%d/move", theirs), fmt.Sprintf(`{"destinationProjectId":%d}`, to)).ok()
		olga.post("/api/v1/experiments/continue", fmt.Sprintf(`{"id":%d}`, theirs)).says(403, "it would continue with another program, environment, input or storage")
	}
}
