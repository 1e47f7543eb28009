package api

import (
	"fmt"
	"testing"
)

// outcome calls a bulk action and returns the error of each run that it answers about.
func (c as) outcome(action, members string) map[int]string {
	c.r.t.Helper()
	var got struct {
		Results []struct {
			ID    int
			Error *string
		}
	}
	c.post("/api/v1/runs/"+action, "{"+members+"}").ok().into(&got)
	out := map[int]string{}
	for _, r := range got.Results {
		if _, twice := out[r.ID]; twice || r.Error == nil {
			c.r.t.Errorf("%s %s: run %d is answered twice, or without an error field", action, members, r.ID)
			continue
		}
		out[r.ID] = *r.Error
	}
	return out
}

func (r *rig) wants(what string, got map[int]string, want map[int]string) {
	r.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func namedRuns(runs ...int) string {
	list := ""
	for i, r := range runs {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprint(r)
	}
	return `"projectId":1,"runIds":[` + list + `]`
}

func TestRunsAreKilledPausedAndResumed(t *testing.T) {
	r, me, runs := threeRuns(t)
	one, two := runs[0], runs[1]
	other := me.create(yaml())
	live := r.trialsOf(other)[0]
	r.wants("kill", me.outcome("kill", namedRuns(one, two, 999, 999)), map[int]string{one: "", two: "", 999: "Run with id '999' not found in project with id '1'"})
	r.wants("kill in no project", me.outcome("kill", `"runIds":[998]`), map[int]string{998: "Run with id '998' not found"})
	r.wants("kill in another project", me.outcome("kill", fmt.Sprintf(`"projectId":7,"runIds":[%d]`, one)), map[int]string{one: fmt.Sprintf("Run with id '%d' not found in project with id '7'", one)})
	if got := r.text(`SELECT string_agg(id::text, ' ') FROM trials WHERE kill_wanted`); got != fmt.Sprint(two) {
		t.Errorf("killed: %s", got)
	}
	desired := func() string { return r.text(`SELECT desired FROM experiments WHERE id = $1`, other) }
	r.wants("pause", me.outcome("pause", namedRuns(two, live)), map[int]string{two: fmt.Sprintf("Cannot pause/unpause run '%d' (part of multi-trial).", two), live: ""})
	if desired() != "paused" {
		t.Error("the experiment is not paused")
	}
	byFilter := `"projectId":1,"runIds":[],"filter":` + filterOf(t, false, field("id", "RUN", "=", "NUMBER", fmt.Sprint(live)))
	r.wants("resume", me.outcome("resume", byFilter), map[int]string{live: ""})
	if desired() != "active" {
		t.Error("the experiment is not active")
	}
	r.wants("resume what is over", me.outcome("resume", namedRuns(one)), map[int]string{one: fmt.Sprintf("Failed to resume associated experiment: experiment %s is completed: there is nothing to activate; `det experiment continue %[1]s` lets it go on",
		r.text(`SELECT experiment_id::text FROM trials WHERE id = $1`, one))})
	r.wants("nothing", me.outcome("pause", `"projectId":1,"runIds":[]`), map[int]string{})
	me.post("/api/v1/runs/kill", `{`+namedRuns(one)+`,"filter":"{}"}`).says(400, "run id list must be empty")
	me.post("/api/v1/runs/kill", `{"filter":"{","runIds":[]}`).says(400, "filter:")
}

func TestRunsAreArchivedAndDeleted(t *testing.T) {
	r, me, runs := threeRuns(t)
	one, two, three := runs[0], runs[1], runs[2]
	search := r.text(`SELECT experiment_id::text FROM trials WHERE id = $1`, two)
	for range 2 { // what is archived already is done
		r.wants("archive", me.outcome("archive", namedRuns(one, two)), map[int]string{one: "", two: "Run is not in terminal state."})
	}
	if got := me.runsFound(``); fmt.Sprint(got) != fmt.Sprint([]int{two, three}) {
		t.Errorf("shown: %v", got)
	}
	if got := me.runsFound(`"filter":` + filterOf(t, true)); len(got) != 3 {
		t.Errorf("with archived ones: %v", got)
	}
	r.wants("pause", me.outcome("pause", namedRuns(one)), map[int]string{one: "Run is archived."})
	r.wants("unarchive", me.outcome("unarchive", namedRuns(one, two)), map[int]string{one: "", two: ""})
	r.exec(`UPDATE experiments SET archived = true WHERE id = $1`, search)
	r.wants("archive of an archived search", me.outcome("archive", namedRuns(two)), map[int]string{two: fmt.Sprintf("Run is part of archived Search (id: '%s').", search)})

	r.wants("delete", me.outcome("delete", namedRuns(two)), map[int]string{two: "Run is not in a terminal state."})
	r.exec(`UPDATE trials SET state = 'ERROR', ended_at = now() WHERE experiment_id = $1`, search)
	r.wants("delete of a search that runs", me.outcome("delete", namedRuns(two, three)), map[int]string{
		two: "experiment " + search + " is not over, or is being deleted", three: "experiment " + search + " is not over, or is being deleted"})
	r.exec(`UPDATE experiments SET state = 'ERROR', ended_at = now() WHERE id = $1`, search)
	r.wants("delete of a part", me.outcome("delete", namedRuns(one, two)), map[int]string{one: "",
		two: "Run is part of search " + search + ", which has other runs too; delete all of them together, or the experiment."})
	r.wants("delete", me.outcome("delete", namedRuns(two, three)), map[int]string{two: "", three: ""})
	if got := r.text(`SELECT count(*)::text FROM experiments WHERE desired = 'deleted'`); got != "2" {
		t.Errorf("%s experiments are being deleted", got)
	}
}

func TestRunsAreMoved(t *testing.T) {
	r, me, runs := threeRuns(t)
	one, two, three := runs[0], runs[1], runs[2]
	to := at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", me.ownWorkspace()), `{"name":"there"}`).ok().tree(), "project.id")
	where := fmt.Sprintf(`"sourceProjectId":1,"destinationProjectId":%v,`, to)
	r.wants("move", me.outcome("move", where+fmt.Sprintf(`"runIds":[%d,%d],"skipMultitrial":true`, one, two)),
		map[int]string{one: "", two: fmt.Sprintf("Skipping run '%d' (part of multi-trial).", two)})
	r.wants("move of a search", me.outcome("move", where+fmt.Sprintf(`"runIds":[%d]`, two)), map[int]string{two: ""})
	if got := me.runsFound(fmt.Sprintf(`"projectId":%v`, to)); fmt.Sprint(got) != fmt.Sprint([]int{one, two, three}) {
		t.Errorf("moved: %v", got)
	}
	r.wants("once more", me.outcome("move", where+fmt.Sprintf(`"runIds":[%d]`, one)), map[int]string{one: fmt.Sprintf("Run with id '%d' not found in project with id '1'", one)})
	me.post("/api/v1/runs/move", `{"sourceProjectId":77,"destinationProjectId":1,"runIds":[1]}`).says(404, "sourceProjectId")
	me.post("/api/v1/runs/move", `{"sourceProjectId":1,"destinationProjectId":77,"runIds":[1]}`).says(404, "destinationProjectId")
}

// TestRunsOfOthers: a user cannot change runs of other users, nor see runs of other workspaces.
func TestRunsOfOthers(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	run := r.trialsOf(admin.create(yaml()))[0]
	theirs := at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64)
	for _, action := range []string{"kill", "pause", "resume", "archive", "unarchive", "delete"} {
		verb := "change"
		if action == "delete" {
			verb = action
		}
		r.wants(action, me.outcome(action, namedRuns(run)), map[int]string{run: "determined may not " + verb + " this run"})
	}
	me.get("/api/v1/me").ok()
	r.confine("determined", int(theirs))
	missing := map[int]string{run: fmt.Sprintf("Run with id '%d' not found in project with id '1'", run)}
	for _, action := range []string{"kill", "pause", "resume", "archive", "unarchive", "delete"} {
		r.wants(action, me.outcome(action, namedRuns(run)), missing)
		r.wants(action, me.outcome(action, `"projectId":1,"runIds":[],"filter":"{}"`), map[int]string{})
	}
	me.post("/api/v1/runs/move", fmt.Sprintf(`{"sourceProjectId":1,"destinationProjectId":1,"runIds":[%d]}`, run)).is(404)
	if got := r.text(`SELECT count(*)::text FROM trials WHERE kill_wanted OR archived`); got != "0" {
		t.Errorf("%s runs are killed or archived", got)
	}
}
