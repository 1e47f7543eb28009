package api

import (
	"fmt"
	"testing"
)

// TestTheRightIsForWhatChanges: without roles, who repeats what is there needs no right, as in Determined, and changes nothing.
func TestTheRightIsForWhatChanges(t *testing.T) {
	r := newRig(t)
	admin, other := r.user("admin"), r.user("determined")
	made := admin.post("/api/v1/workspaces", `{"name":"lab"}`).ok().tree()
	workspace := fmt.Sprintf("/api/v1/workspaces/%v", at(t, made, "workspace.id"))
	made = admin.post(workspace+"/projects", `{"name":"vision","description":"eyes"}`).ok().tree()
	project := fmt.Sprintf("/api/v1/projects/%v", at(t, made, "project.id"))

	other.patch(workspace, `{"name":"lab"}`).ok()
	other.patch(workspace, `{}`).is(403)
	other.patch(workspace, `{"name":"mine"}`).is(403)
	other.patch(workspace, `{"defaultComputePool":"default"}`).is(403)
	other.patch(workspace, `{"name":"lab","checkpointStorageConfig":{"type":"shared_fs","host_path":"/tmp"}}`).is(403)
	other.patch(workspace, `{"name":"lab","agentUserGroup":{"agentUser":"root","agentUid":0,"agentGroup":"root","agentGid":0}}`).is(403)
	other.patch(project, `{"name":"vision","description":"eyes"}`).ok()
	for _, change := range []string{`{}`, `{"name":"mine"}`, `{"description":"ears"}`, `{"name":"vision","description":"eyes","key":"MINE"}`} {
		other.patch(project, change).is(403)
	}
	admin.patch(project, `{"description":"ears"}`).ok()
	if got := at(t, other.get(project).ok().tree(), "project.description"); got != "ears" {
		t.Errorf("the description is %q", got)
	}
}
