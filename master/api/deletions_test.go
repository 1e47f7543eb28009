package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/experiments"
)

// exec runs a statement that no request makes.
func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	if err := r.db.Exec(r.t.Context(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

// text reads one value.
func (r *rig) text(sql string, args ...any) (value string) {
	r.t.Helper()
	if err := r.db.QueryRow(r.t.Context(), sql, args...).Scan(&value); err != nil {
		r.t.Fatal(err)
	}
	return value
}

// TestDeletionsBegin: the answer of a deletion, and the shown state until the loop has deleted the experiments.
func TestDeletionsBegin(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	id := at(t, me.post("/api/v1/workspaces", `{"name":"Team"}`).ok().tree(), "workspace.id")
	path := fmt.Sprintf("/api/v1/workspaces/%v", id)
	project := func(name string) string {
		made := me.post(path+"/projects", fmt.Sprintf(`{"name":%q,"workspaceId":%v}`, name, id)).ok().tree()
		return fmt.Sprintf("/api/v1/projects/%v", at(t, made, "project.id"))
	}
	empty, full := project("empty"), project("full")
	exp := me.create(yaml("workspace: Team", "project: full"))
	me.post("/api/v1/templates/theirs", fmt.Sprintf(`{"config":{"max_restarts":1},"workspaceId":%v}`, id)).ok()
	if at(t, me.del(empty).ok().tree(), "completed") != true {
		t.Error("a project without experiments is not gone at once")
	}
	me.get(empty).says(404, "project")
	if at(t, me.del(full).ok().tree(), "completed") != false {
		t.Error("a project with an experiment is gone at once")
	}
	shown := me.get(full).ok().tree()
	if at(t, shown, "project.state") != "WORKSPACE_STATE_DELETING" || at(t, shown, "project.archived") != true {
		t.Errorf("%v", shown)
	}
	me.post("/api/v1/experiments", createBody(yaml("workspace: Team", "project: full"))).says(409, "archived")
	me.post(full+"/unarchive", "").says(409, "being deleted")
	if got := r.text(`SELECT desired FROM experiments WHERE id = $1`, exp); got != "killed" {
		t.Errorf("the experiment's desired state is %s, want killed", got)
	}
	lists := []string{"notebooks", "commands", "shells", "tensorboards"}
	for _, list := range lists {
		me.get(fmt.Sprintf("/api/v1/%s?workspaceId=%v", list, id)).ok()
		me.get(fmt.Sprintf("/api/v1/%s?workspaceId=777", list)).says(404, "workspace '777' not found")
	}
	command := at(t, me.post("/api/v1/commands", fmt.Sprintf(`{"config":{"entrypoint":["x"]},"workspaceId":%v}`, id)).ok().tree(), "command.id").(string)
	listed := func() bool { return strings.Contains(string(me.get("/api/v1/commands").ok().body), command) }
	if !listed() {
		t.Error("the command is not listed")
	}
	if at(t, me.del(path).ok().tree(), "completed") != false {
		t.Error("a workspace with an experiment is gone at once")
	}
	if listed() {
		t.Error("a command of a workspace that is being deleted is listed")
	}
	for _, list := range lists {
		me.get(fmt.Sprintf("/api/v1/%s?workspaceId=%v", list, id)).says(404, fmt.Sprintf("workspace '%v' not found", id))
	}
	if got := at(t, me.get(path).ok().tree(), "workspace.state"); got != "WORKSPACE_STATE_DELETING" {
		t.Error(got)
	}
	me.get("/api/v1/templates/theirs").says(404, "theirs")
	// The loop gives an experiment up whose files could not be removed; asking again tries again.
	r.exec(`UPDATE experiments SET state = 'DELETE_FAILED', desired = 'deleted', error = 'the bucket is away', delete_requests = 1, delete_failed = 1, ended_at = now() WHERE id = $1`, exp)
	if err := experiments.CarryOutDeletions(t.Context(), r.db); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{full, path} {
		shown := string(me.get(what).ok().body)
		for _, word := range []string{"WORKSPACE_STATE_DELETE_FAILED", fmt.Sprintf("experiment %d could not be deleted: the bucket is away", exp)} {
			if !strings.Contains(shown, word) {
				t.Errorf("%s does not say %q: %s", what, word, shown)
			}
		}
	}
	me.del(path).ok()
	if got := r.text(`SELECT desired || delete_requests FROM experiments WHERE id = $1`, exp); got != "deleted2" {
		t.Errorf("asked again: %s", got)
	}
	admin.del("/api/v1/workspaces/1").says(409, "built in")
}

// TestNotebooksOfGoneWorkspaces: a task of a workspace that is gone is shown by its id for a day, as in Determined, and no list has it.
func TestNotebooksOfGoneWorkspaces(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	made := func() any { return at(t, me.post("/api/v1/workspaces", `{"name":"Team"}`).ok().tree(), "workspace.id") }
	id := made()
	notebook := at(t, me.post("/api/v1/notebooks", fmt.Sprintf(`{"workspaceId":%v}`, id)).ok().tree(), "notebook.id").(string)
	path := "/api/v1/notebooks/" + notebook
	me.del(fmt.Sprintf("/api/v1/workspaces/%v", id)).ok()
	if got := at(t, me.get(path).ok().tree(), "notebook.state"); got != "STATE_TERMINATING" {
		t.Errorf("while the notebook ends it is %v", got)
	}
	r.exec(`UPDATE tasks SET ended_at = now() - interval '23 hours', exit_status = 'killed' WHERE id = $1`, notebook)
	further := func() {
		if err := experiments.CarryOutDeletions(t.Context(), r.db); err != nil {
			t.Fatal(err)
		}
	}
	further()
	me.get(fmt.Sprintf("/api/v1/workspaces/%v", id)).says(404, "workspace")
	if again := made(); again == id { // its name is free
		t.Errorf("the new workspace is %v, too", again)
	}
	shown := me.get(path).ok().tree()
	if at(t, shown, "notebook.state") != "STATE_TERMINATED" || at(t, shown, "notebook.workspaceId") != id {
		t.Errorf("after its end: %v", shown)
	}
	for _, who := range []as{me, admin} {
		for _, list := range []string{"/api/v1/notebooks", "/api/v1/detent/logs/search?searchText=e", "/api/v1/detent/disk-use"} {
			if body := string(who.get(list).ok().body); strings.Contains(body, notebook) {
				t.Errorf("%s has the notebook: %s", list, body)
			}
		}
	}
	me.get("/api/v1/tasks/" + notebook).ok()
	me.get("/api/v1/tasks/" + notebook + "/logs").ok()
	me.post(path+"/kill", "").ok()
	r.exec(`UPDATE tasks SET ended_at = now() - interval '25 hours' WHERE id = $1`, notebook)
	further()
	me.get(path).says(404, notebook)
}
