package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"testing"
)

// TestVisitedProjects: a user's visited projects, the latest first, each once.
func TestVisitedProjects(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	other := at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", me.ownWorkspace()), `{"name":"other"}`).ok().tree(), "project.id")
	visit := func(id any) answer {
		return me.post("/api/v1/users/activity", fmt.Sprintf(`{"activityType":"ACTIVITY_TYPE_GET","entityType":"ENTITY_TYPE_PROJECT","entityId":%v}`, id))
	}
	names := func(c as, query string) (found []any) {
		for _, p := range at(t, c.get("/api/v1/user/projects/activity"+query).ok().tree(), "projects").([]any) {
			found = append(found, at(t, p, "name"))
		}
		return found
	}
	for _, id := range []any{other, 1, other, 1} {
		visit(id).ok()
	}
	if got := fmt.Sprint(names(me, "")); got != "[Uncategorized other]" {
		t.Errorf("visited: %s", got)
	}
	if got := fmt.Sprint(names(me, "?limit=1")); got != "[Uncategorized]" {
		t.Errorf("the last: %s", got)
	}
	if got := names(r.user("admin"), ""); len(got) != 0 {
		t.Errorf("visited by nobody: %v", got)
	}
	visit(99).says(404, "99")
	me.post("/api/v1/users/activity", `{"activityType":"ACTIVITY_TYPE_GET","entityType":"ENTITY_TYPE_UNSPECIFIED","entityId":1}`).says(400, "entityType")
	me.post("/api/v1/users/activity", `{"entityType":"ENTITY_TYPE_PROJECT","entityId":1}`).says(400, "activityType")
	me.get("/api/v1/user/projects/activity?limit=-1").says(400, "limit")
}

func TestSeveralUsersAreDeactivated(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	var ids []any
	for _, name := range []string{"ada", "bob"} {
		ids = append(ids, at(t, admin.post("/api/v1/users", fmt.Sprintf(`{"user":{"username":%q,"active":true}}`, name)).ok().tree(), "user.id"))
	}
	ada := r.user("ada")
	got := admin.patch("/api/v1/users", fmt.Sprintf(`{"userIds":[%v,%v,999],"activate":false}`, ids[0], ids[1])).ok().tree()
	for i, want := range []string{"", ""} {
		if e := at(t, got, fmt.Sprintf("results.%d.error", i)); e != want {
			t.Errorf("user %v: %v", ids[i], e)
		}
	}
	if at(t, got, "results.2.error") == "" || at(t, got, "results.2.id") != 999.0 {
		t.Errorf("somebody who is not there: %v", got)
	}
	ada.get("/api/v1/me").is(401)
	got = admin.patch("/api/v1/users", `{"filters":{"name":"ad","admin":false},"userIds":[],"activate":true}`).ok().tree()
	if at(t, got, "results.0.id") != ids[0] || len(at(t, got, "results").([]any)) != 1 {
		t.Errorf("by filter: %v", got)
	}
	r.user("ada").patch("/api/v1/users", `{"userIds":[1],"activate":false}`).is(403)
}

// TestOldJobs: the queue in the form for older clients.
func TestOldJobs(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	r.running(yaml(), 1)
	if got := me.get("/api/v1/job-queues").ok().tree(); at(t, got, "jobs.0.type") != "TYPE_EXPERIMENT" || at(t, got, "pagination.total") != 1.0 {
		t.Errorf("%v", got)
	}
}

// TestAcceleratorsOfATask: the devices that its members reported, with the node that the report left out.
func TestAcceleratorsOfATask(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 2)
	for rank := range 2 {
		a.ranks[rank].post(a.path("/acceleratorData"), fmt.Sprintf(`{"allocationId":%q,"acceleratorData":{"acceleratorType":"A100","acceleratorUuids":["GPU-%d"]}}`, a.id, rank)).ok()
	}
	got := at(t, r.user("admin").get("/api/v1/tasks/"+a.task+"/acceleratorData").ok().tree(), "acceleratorData").([]any)
	if len(got) != 2 {
		t.Fatalf("%v", got)
	}
	for path, want := range map[string]any{"acceleratorType": "A100", "acceleratorUuids.0": "GPU-1", "nodeName": "node-1", "taskId": a.task, "allocationId": a.id, "resourcePool": "default"} {
		if v := at(t, got[1], path); v != want {
			t.Errorf("%s: %v, want %v", path, v, want)
		}
	}
}

// TestOldPathsOfCode: the archive and a file, under the paths from before /api/v1.
func TestOldPathsOfCode(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	with, without := me.create(yaml(), `"modelDefinition":[`+modelFile("train.py", "print(1)\n")+`]`), me.create(yaml())
	for id, want := range map[int]string{with: "train.py print(1)\n", without: ""} {
		got := me.get(fmt.Sprintf("/experiments/%d/model_def", id)).ok()
		zip, err := gzip.NewReader(bytes.NewReader(got.body))
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for files := tar.NewReader(zip); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			found += h.Name + " " + string(content)
		}
		if found != want {
			t.Errorf("experiment %d: %q, want %q", id, found, want)
		}
	}
	if got := string(me.get(fmt.Sprintf("/experiments/%d/file/download?path=train.py", with)).ok().body); got != "print(1)\n" {
		t.Errorf("the file: %q", got)
	}
	r.anyone().get(fmt.Sprintf("/experiments/%d/model_def", with)).is(401)
}
