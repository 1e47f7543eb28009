package api

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// TestOnlyAdminsAssignForTheCluster: a WorkspaceAdmin of the whole cluster assigns roles in each workspace, and no role for
// the whole cluster, to no user and no group. Otherwise they could make themselves ClusterAdmin.
func TestOnlyAdminsAssignForTheCluster(t *testing.T) {
	r := newRoleRig(t)
	admin, gwen := r.user("admin"), r.newUser("gwen")
	r.newUser("eve")
	own, other := r.whoIs("gwen").UserID, r.whoIs("eve").UserID
	r.give(auth.WorkspaceAdmin, "gwen", 0)
	group := int(at(t, admin.post("/api/v1/groups", fmt.Sprintf(`{"name":"team","addUsers":[%d]}`, own)).ok().tree(), "group.groupId").(float64))
	const users, groups = `{"userRoleAssignments":[{"userId":%d,%s}]}`, `{"groupRoleAssignments":[{"groupId":%d,%s}]}`
	for _, role := range auth.Roles() {
		for _, scope := range []string{`,"scopeCluster":true`, ""} {
			assignment := fmt.Sprintf(`"roleAssignment":{"role":{"roleId":%d}%s}`, role.ID, scope)
			for _, body := range []string{fmt.Sprintf(users, own, assignment), fmt.Sprintf(users, other, assignment), fmt.Sprintf(groups, group, assignment)} {
				gwen.post("/api/v1/roles/add-assignments", body).says(403, "may not assign roles for the whole cluster")
				gwen.post("/api/v1/roles/remove-assignments", body).says(403, "may not assign roles for the whole cluster")
			}
		}
		in := fmt.Sprintf(`"roleAssignment":{"role":{"roleId":%d},"scopeWorkspaceId":1}`, role.ID)
		for _, body := range []string{fmt.Sprintf(users, other, in), fmt.Sprintf(groups, group, in)} {
			if role.OnlyGlobal() {
				gwen.post("/api/v1/roles/add-assignments", body).says(400, "only for the whole cluster")
				continue
			}
			gwen.post("/api/v1/roles/add-assignments", body).ok()
			gwen.post("/api/v1/roles/remove-assignments", body).ok()
		}
	}
	gwen.get("/api/v1/master/config").is(403)
	r.give(auth.Viewer, "eve", 0) // a ClusterAdmin may
}
