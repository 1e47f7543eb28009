package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestDiskUse: what each workspace uses, to those who may view it.
func TestDiskUse(t *testing.T) {
	r := newRoleRig(t)
	admin := r.user("admin")
	r.give(auth.Editor, "determined", 1)
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"a-team"}`).ok().tree(), "workspace.id").(float64))
	project := int(at(t, admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", theirs), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"a line"}]}`).ok()
	use := func(who as) (list []v1.DiskUse) {
		t.Helper()
		var got v1.GetDiskUseResponse
		if err := v1.Unmarshal(who.get("/api/v1/detent/disk-use").ok().body, &got); err != nil {
			t.Fatal(err)
		}
		return got.Workspaces
	}
	list := use(r.user("determined"))
	if len(list) != 1 || list[0].WorkspaceID != 1 || list[0].Checkpoints == 0 || list[0].CheckpointBytes == 0 || list[0].LogBytes < 10 || list[0].CodeBytes == 0 {
		t.Errorf("determined sees %+v", list)
	}
	admin.post(fmt.Sprintf("/api/v1/experiments/%d/move", a.exp), fmt.Sprintf(`{"experimentId":%d,"destinationProjectId":%d}`, a.exp, project)).ok()
	moved := use(admin)
	if len(moved) != 2 || moved[1].Workspace != "a-team" && moved[0].Workspace != "a-team" {
		t.Fatalf("admin sees %+v", moved)
	}
	for _, u := range moved {
		want := v1.DiskUse{WorkspaceID: u.WorkspaceID, Workspace: u.Workspace}
		if u.Workspace == "a-team" {
			want.Checkpoints, want.CheckpointBytes, want.LogBytes, want.CodeBytes = list[0].Checkpoints, list[0].CheckpointBytes, list[0].LogBytes, list[0].CodeBytes
		}
		if u != want {
			t.Errorf("after the move: %+v, want %+v", u, want)
		}
	}
	if list := use(r.newUser("nobody")); len(list) != 0 {
		t.Errorf("nobody sees %+v", list)
	}
	if page := admin.get("/api/v1/detent/disk-use?limit=1&offset=1").ok().tree(); at(t, page, "pagination.total") != 2.0 || at(t, page, "workspaces.0.workspaceId") == nil || len(page["workspaces"].([]any)) != 1 {
		t.Errorf("a page: %v", page)
	}
}
