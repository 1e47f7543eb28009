package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
)

// generic creates a generic task from a configuration and further fields of the request.
func (c as) generic(config string, fields ...string) answer {
	text, err := json.Marshal(config)
	if err != nil {
		c.r.t.Fatal(err)
	}
	return c.post("/api/v1/generic-tasks", "{"+strings.Join(append(fields, `"config":`+string(text)), ",")+"}")
}

func (a answer) taskID() string {
	a.t.Helper()
	return at(a.t, a.ok().tree(), "taskId").(string)
}

// submitted is the configuration of a generic task as GET /tasks/{id}/config has it.
func (c as) submitted(id string) map[string]any {
	c.r.t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(at(c.r.t, c.get("/api/v1/tasks/"+id+"/config").ok().tree(), "config").(string)), &config); err != nil {
		c.r.t.Fatal(err)
	}
	return config
}

const sleeping = "entrypoint: [sleep, '600']\nresources: {slots: 0, is_single_node: true}\nenvironment: {environment_variables: [KEY=secret]}\n"

func TestGenericTasks(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	me.post("/api/v1/generic-tasks", `{"config":"","contextDirectory":[]}`).says(400, "No config file nor forked task provided")
	me.generic("resources: {slots: 0}").says(400, "entrypoint")
	me.generic("entrypoint: [x]\nsearcher: {}").says(400, "searcher: unknown field", "config:2:1")
	me.generic("[a").is(400)
	me.generic("- a").says(400, "expected a mapping")
	me.generic("entrypoint: [x]", `"projectId":77`).is(404)
	me.generic("entrypoint: [x]", `"inheritContext":true`).says(400, "parentId")
	me.generic("entrypoint: [x]\nsearcher: {}", `"preview":true`).says(400, "searcher: unknown field")
	checked := me.generic(sleeping, `"preview":true`).ok().tree()
	if checked["taskId"] != "" || at(t, checked, "config.resources.slots") != float64(0) {
		t.Errorf("a preview answers %v", checked)
	}
	if n := r.tasksOf("GENERIC"); n != 0 {
		t.Fatalf("refused requests and previews made %d tasks", n)
	}
	got := me.generic(sleeping, `"contextDirectory":[`+modelFile("x.py", "print(1)")+`]`).ok().tree()
	id := got["taskId"].(string)
	if w, there := got["warnings"]; !there || w == nil {
		t.Errorf("the answer has no warnings: %v", got)
	}
	task := at(t, me.get("/api/v1/tasks/"+id).ok().tree(), "task").(map[string]any)
	if task["taskType"] != "TASK_TYPE_GENERIC" || task["taskState"] != "GENERIC_TASK_STATE_ACTIVE" || task["noPause"] != false || task["parentId"] != nil {
		t.Errorf("the task is %v", task)
	}
	if s := fmt.Sprint(me.submitted(id)); s != "map[entrypoint:[sleep 600] environment:map[environment_variables:[KEY=secret]] resources:map[is_single_node:true slots:0]]" {
		t.Errorf("the task's configuration is %s", s)
	}
	if name := at(t, me.get("/tasks").ok().tree()[id+".1"], "name"); name != "Generic Task "+id {
		t.Errorf("the task's name is %v", name)
	}
	if j := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs.0.full").(map[string]any); j["type"] != "TYPE_GENERIC" || j["entityId"] != id {
		t.Errorf("the task's job is %v", j)
	}
	spec := r.begin(id).claimed[0]["spec"].(map[string]any)
	if env := spec["env"].(map[string]any); env["DET_TASK_TYPE"] != "GENERIC" || env["KEY"] != "secret" || spec["contextUrl"] == "" || at(t, spec, "entrypoint.0") != "sleep" {
		t.Errorf("the task's runner gets %v", spec)
	}
	child := me.generic(sleeping, `"parentId":"`+id+`"`, `"noPause":true`).taskID()
	page := me.get("/api/v1/detent/generic-tasks?limit=1&sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC").ok().tree()
	if at(t, page, "pagination.total") != float64(2) || at(t, page, "tasks.0.id") != child || at(t, page, "tasks.0.parentId") != id || at(t, page, "tasks.0.noPause") != true {
		t.Errorf("the newest of the list is %v", page)
	}
	older := me.get("/api/v1/detent/generic-tasks?offset=1&sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC").ok().tree()
	if at(t, older, "tasks.0.id") != id || at(t, older, "tasks.0.parentId") != nil || at(t, older, "tasks.0.taskState") != "GENERIC_TASK_STATE_ACTIVE" || at(t, older, "tasks.0.username") != "determined" {
		t.Errorf("the older one is %v", older)
	}
	if none := me.get("/api/v1/detent/generic-tasks?users=admin").ok().tree(); at(t, none, "pagination.total") != float64(0) {
		t.Errorf("admin has %v", none)
	}
	notebook := at(t, me.post("/api/v1/notebooks", `{}`).ok().tree(), "notebook.id").(string)
	me.post("/api/v1/tasks/"+notebook+"/pause", "").says(404, "task", notebook)
	if _, there := at(t, me.get("/api/v1/tasks/"+notebook).ok().tree(), "task").(map[string]any)["taskState"]; there {
		t.Error("a notebook has the state of a generic task")
	}
}

// tasksOf counts tasks of a type.
func (r *rig) tasksOf(kind string) int {
	r.t.Helper()
	var n int
	if err := r.db.QueryRow(r.t.Context(), `SELECT count(*) FROM tasks WHERE type = $1`, kind).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestForksAndChildren(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.user("admin").post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	code := `"contextDirectory":[` + modelFile("x.py", "print(1)") + `]`
	first := me.generic(sleeping, code).taskID()
	context := func(id string) string { return string(me.get("/api/v1/tasks/" + id + "/context_directory").ok().body) }
	fork := me.generic("resources: {priority: 9}", `"forkedFrom":"`+first+`"`).taskID()
	if s := fmt.Sprint(me.submitted(fork)); s != "map[entrypoint:[sleep 600] environment:map[environment_variables:[KEY=secret]] resources:map[is_single_node:true priority:9 slots:0]]" {
		t.Errorf("the fork's configuration is %s", s)
	}
	if context(fork) != context(first) || len(context(first)) < 100 {
		t.Error("the fork has other code")
	}
	if from := at(t, me.get("/api/v1/tasks/"+fork).ok().tree(), "task.forkedFrom"); from != first {
		t.Errorf("the fork's origin is %v", from)
	}
	other := me.generic("", `"forkedFrom":"`+first+`"`, `"contextDirectory":[`+modelFile("y.py", "print(2)")+`]`).taskID()
	if context(other) == context(first) {
		t.Error("a fork with code of its own has that of the other task")
	}
	child := me.generic("entrypoint: [x]", `"parentId":"`+first+`"`, `"inheritContext":true`, `"noPause":true`).taskID()
	task := at(t, me.get("/api/v1/tasks/"+child).ok().tree(), "task").(map[string]any)
	if task["parentId"] != first || task["noPause"] != true || context(child) != context(first) {
		t.Errorf("the child is %v", task)
	}
	me.generic("entrypoint: [x]", `"parentId":"`+first+`"`, `"inheritContext":true`, code).says(400, "inheritContext")
	me.generic("entrypoint: [x]", `"parentId":"none"`).says(404, "parentId", "none")
	me.generic("", `"forkedFrom":"none"`).says(404, "forkedFrom", "none")

	// Values of environment variables are for their owner and for admins.
	eve.generic("", `"forkedFrom":"`+first+`"`).says(403, "forkedFrom", "determined")
	eve.generic("entrypoint: [x]", `"parentId":"`+first+`"`).says(403, "eve", "change")
	plain := me.generic("entrypoint: [x]\nresources: {slots: 1000000000000}").code
	if plain != 400 {
		t.Errorf("too many slots: %d", plain)
	}
	open := me.generic("entrypoint: [a, '<b> & 1e3']\nresources: {slots: 0}").taskID()
	copied := eve.generic("", `"forkedFrom":"`+open+`"`).taskID()
	if a, b := fmt.Sprint(eve.submitted(open)), fmt.Sprint(eve.submitted(copied)); a != b {
		t.Errorf("%s was forked as %s", a, b)
	}
	if s := fmt.Sprint(eve.submitted(first)); !strings.Contains(s, "KEY=********") || strings.Contains(s, "secret") {
		t.Errorf("another user sees %s", s)
	}
	if s := string(eve.get("/api/v1/tasks/" + first).ok().body); !strings.Contains(s, "KEY=********") || strings.Contains(s, "=secret") {
		t.Errorf("another user sees %s", s)
	}
}

func TestChangingGenericTasks(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	eve := r.user("eve")
	root := me.generic(sleeping).taskID()
	child := me.generic(sleeping, `"parentId":"`+root+`"`).taskID()
	state := func(id string) string {
		return strings.TrimPrefix(at(t, me.get("/api/v1/tasks/"+id).ok().tree(), "task.taskState").(string), "GENERIC_TASK_STATE_")
	}
	change := func(c as, id, verb string) answer { return c.post("/api/v1/tasks/"+id+"/"+verb, "") }
	for _, verb := range []string{"pause", "unpause"} {
		change(eve, root, verb).says(403, "eve", "change", "task")
	}
	kill := func(c as, id, fields string) answer { return c.post("/api/v1/tasks/"+id+"/kill", "{"+fields+"}") }
	kill(eve, root, "").says(403, "eve")
	change(me, root, "unpause").says(400, "cannot unpause task "+root+" as it is not in paused state")
	change(me, root, "pause").ok()
	if state(root) != "STOPPING_PAUSED" || state(child) != "STOPPING_PAUSED" {
		t.Errorf("the tasks are %s and %s", state(root), state(child))
	}
	change(me, child, "pause").says(400, "cannot pause task "+child+" as it is in state 'STOPPING_PAUSED'")
	for _, id := range []string{root, child} {
		r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: id + ".1", Saw: "PENDING", State: "TERMINATED", Ended: true, Outcome: "killed"}}})
	}
	if state(root) != "PAUSED" || state(child) != "PAUSED" {
		t.Errorf("the tasks are %s and %s", state(root), state(child))
	}
	change(me, root, "unpause").ok()
	if state(root) != "ACTIVE" || state(child) != "ACTIVE" {
		t.Errorf("the tasks are %s and %s", state(root), state(child))
	}
	kill(me, child, `"taskId":"other"`).says(400, "taskId")
	kill(me, child, `"taskId":"`+child+`","killFromRoot":true`).ok()
	if state(root) != "STOPPING_CANCELED" || state(child) != "STOPPING_CANCELED" {
		t.Errorf("the tasks are %s and %s", state(root), state(child))
	}
	kill(me, root, "").says(400, "cannot cancel task "+root+" as it is in state 'STOPPING_CANCELED'")

	// The root of an admin's tree is not for the owner of a task in it.
	mine := admin.generic(sleeping).taskID()
	below := admin.generic(sleeping, `"parentId":"`+mine+`"`).taskID()
	if err := r.db.Exec(t.Context(), `UPDATE tasks SET owner_id = (SELECT id FROM users WHERE username = 'eve') WHERE id = $1`, below); err != nil {
		t.Fatal(err)
	}
	kill(eve, below, `"killFromRoot":true`).says(403, "eve")
	kill(eve, below, "").ok()
	if state(mine) != "ACTIVE" || state(below) != "STOPPING_CANCELED" {
		t.Errorf("the tasks are %s and %s", state(mine), state(below))
	}
}
