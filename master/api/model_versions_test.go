package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// TestOwnersReleaseTheirCheckpoints: who may view a checkpoint may register it. Its owner and the WorkspaceAdmins of its workspace
// learn which versions hold it, also those of models that they may not see, and may delete these versions.
func TestOwnersReleaseTheirCheckpoints(t *testing.T) {
	r := newRoleRig(t)
	r.give(auth.Editor, "determined", 1)
	admin, owner, eve := r.user("admin"), r.user("determined"), r.newUser("eve")
	eddie, wanda := r.newUser("eddie"), r.newUser("wanda")
	other := int(at(t, admin.post("/api/v1/workspaces", `{"name":"other"}`).ok().tree(), "workspace.id").(float64))
	r.give(auth.Viewer, "eve", 1)
	r.give(auth.Editor, "eve", other)
	r.give(auth.Editor, "eddie", 1)
	r.give(auth.WorkspaceAdmin, "wanda", 1)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.over()
	model := int(at(t, eve.post("/api/v1/models", fmt.Sprintf(`{"name":"hers","workspaceId":%d}`, other)).ok().tree(), "model.id").(float64))
	held := []string{eve.version("hers", older), eve.version("hers", older), eve.version("hers", newer)}
	byNumber := func(version int) string { return fmt.Sprintf("/api/v1/models/%d/versions/%d", model, version) }

	owner.get(held[0]).is(404)
	owner.do("DELETE", "/api/v1/checkpoints", uuids(older)).says(400, fmt.Sprintf("version 1 of model %d", model), fmt.Sprintf("version 2 of model %d", model))
	owner.del(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).says(400, fmt.Sprintf("version 1 of model %d", model), fmt.Sprintf("version 3 of model %d", model))
	eddie.del(held[0]).is(404) // may delete experiments of others here, but no versions of others
	owner.patch(held[0], `{"comment":"mine"}`).is(404)
	owner.del(byNumber(9)).is(404)
	owner.del(byNumber(1)).ok()
	owner.del(byNumber(1)).is(404)
	wanda.del(held[1]).ok()
	owner.do("DELETE", "/api/v1/checkpoints", uuids(older)).ok()

	// Of a model that all see, too; and a registration by the owner is no right over the model.
	r.give(auth.Viewer, "determined", other)
	owner.patch(held[2], `{"comment":"mine"}`).is(403)
	eve.post("/api/v1/models", fmt.Sprintf(`{"name":"second","workspaceId":%d}`, other)).ok()
	owner.del("/api/v1/models/second").is(403)
	owner.del(held[2]).ok()
}
