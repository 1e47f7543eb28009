package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// TestGroups: a group is made, renamed, filled and deleted, and its members have its roles.
func TestGroups(t *testing.T) {
	r := newRoleRig(t)
	admin := r.user("admin")
	eve := r.newUser("eve")
	id := r.whoIs("eve").UserID
	group := fmt.Sprint(at(t, admin.post("/api/v1/groups", fmt.Sprintf(`{"name":"team","addUsers":[%d]}`, id)).ok().tree(), "group.groupId"))
	admin.post("/api/v1/groups", `{"name":"team"}`).says(409, "already exists")
	admin.post("/api/v1/groups", `{"name":" "}`).is(400)
	admin.post("/api/v1/groups", `{"name":"x","addUsers":[999]}`).says(404, "user 999 not found")
	eve.get("/api/v1/workspaces/1").is(404)
	admin.post("/api/v1/roles/add-assignments", `{"groupRoleAssignments":[{"groupId":`+group+`,"roleAssignment":{"role":{"roleId":4},"scopeWorkspaceId":1}}]}`).ok()
	eve.get("/api/v1/workspaces/1").ok()
	found := admin.post("/api/v1/groups/search", `{"name":"team","limit":1}`).ok().tree()
	if at(t, found, "groups.0.numMembers") != 1.0 || at(t, found, "pagination.total") != 1.0 {
		t.Errorf("the search finds %v", found)
	}
	if got := at(t, eve.post("/api/v1/groups/search", `{"limit":10}`).ok().tree(), "pagination.total"); got != 1.0 {
		t.Errorf("eve sees %v groups, and is in one", got)
	}
	admin.post("/api/v1/groups", `{"name":"others"}`).ok()
	if got := at(t, eve.post("/api/v1/groups/search", `{"limit":10}`).ok().tree(), "pagination.total"); got != 1.0 {
		t.Errorf("eve sees %v groups, and is in one", got)
	}
	if got := at(t, admin.put("/api/v1/groups/"+group, `{"name":"crew"}`).ok().tree(), "group.name"); got != "crew" {
		t.Errorf("the group's name is %v", got)
	}
	roles := string(admin.get(fmt.Sprintf("/api/v1/roles/search/by-user/%d", id)).ok().body)
	if !strings.Contains(roles, `"groupId":`+group) || !strings.Contains(roles, `"Viewer"`) {
		t.Errorf("the roles of eve: %s", roles)
	}
	members := string(eve.get("/api/v1/roles/workspace/1").ok().body)
	if !strings.Contains(members, `"crew"`) || !strings.Contains(members, `"eve"`) {
		t.Errorf("the members: %s", members)
	}
	if mine := eve.get("/api/v1/permissions/summary").ok().tree(); at(t, mine, "assignments.0.scopeWorkspaceIds.0") != 1.0 {
		t.Errorf("the permissions of eve: %v", mine)
	}
	admin.patch("/api/v1/users/assignments", fmt.Sprintf(`{"userIds":[%d],"removeGroups":[%s]}`, id, group)).ok()
	eve.get("/api/v1/workspaces/1").is(404)
	admin.patch("/api/v1/users/assignments", fmt.Sprintf(`{"userIds":[%d],"addGroups":[%s]}`, id, group)).ok()
	eve.get("/api/v1/workspaces/1").ok()
	admin.del("/api/v1/groups/" + group).ok()
	eve.get("/api/v1/workspaces/1").is(404)
	admin.get("/api/v1/groups/"+group).says(404, "group "+group+" not found")
}

// TestTheLastClusterAdmin: no call can remove the role of the last ClusterAdmin.
func TestTheLastClusterAdmin(t *testing.T) {
	r := newRoleRig(t)
	admin := r.user("admin")
	eve := r.newUser("eve")
	id := r.whoIs("eve").UserID
	const own = `{"userRoleAssignments":[{"userId":1,"roleAssignment":{"role":{"roleId":1},"scopeCluster":true}}]}`
	admin.post("/api/v1/roles/remove-assignments", own).says(409, "ClusterAdmin")
	group := fmt.Sprint(at(t, admin.post("/api/v1/groups", fmt.Sprintf(`{"name":"root","addUsers":[%d]}`, id)).ok().tree(), "group.groupId"))
	admin.post("/api/v1/roles/add-assignments", `{"groupRoleAssignments":[{"groupId":`+group+`,"roleAssignment":{"role":{"roleId":1},"scopeCluster":true}}]}`).ok()
	admin.post("/api/v1/roles/remove-assignments", own).ok()
	admin.get("/api/v1/master/config").is(403)
	eve.get("/api/v1/master/config").ok()
	eve.put("/api/v1/groups/"+group, fmt.Sprintf(`{"removeUsers":[%d]}`, id)).says(409, "ClusterAdmin")
	eve.patch("/api/v1/users/assignments", fmt.Sprintf(`{"userIds":[%d],"removeGroups":[%s]}`, id, group)).says(409, "ClusterAdmin")
	eve.del("/api/v1/groups/"+group).says(409, "ClusterAdmin")
	eve.patch(fmt.Sprintf("/api/v1/users/%d", id), `{"active":false}`).says(409, "ClusterAdmin")
	eve.get("/api/v1/master/config").ok()
}

// TestAssigningRoles: who may give which role where.
func TestAssigningRoles(t *testing.T) {
	r := newRoleRig(t)
	admin := r.user("admin")
	wanda, eve := r.newUser("wanda"), r.newUser("eve")
	id := r.whoIs("eve").UserID
	r.give(auth.WorkspaceAdmin, "wanda", 1)
	body := func(role int, scope string) string {
		return fmt.Sprintf(`{"userRoleAssignments":[{"userId":%d,"roleAssignment":{"role":{"roleId":%d}%s}}]}`, id, role, scope)
	}
	wanda.post("/api/v1/roles/add-assignments", body(5, `,"scopeWorkspaceId":1`)).ok()
	wanda.post("/api/v1/roles/add-assignments", body(5, `,"scopeWorkspaceId":1`)).ok() // again
	eve.post("/api/v1/roles/add-assignments", body(2, `,"scopeWorkspaceId":1`)).says(403, "may not assign roles")
	wanda.post("/api/v1/roles/add-assignments", body(1, `,"scopeWorkspaceId":1`)).says(400, "only for the whole cluster")
	wanda.post("/api/v1/roles/add-assignments", body(4, "")).says(403, "whole cluster")
	admin.post("/api/v1/roles/add-assignments", body(8, "")).says(404, "there is no role 8")
	admin.post("/api/v1/roles/add-assignments", body(4, `,"scopeWorkspaceId":1,"scopeCluster":true`)).is(400)
	admin.post("/api/v1/roles/add-assignments", body(4, `,"scopeWorkspaceId":99`)).says(404, "workspace 99 not found")
	admin.post("/api/v1/roles/add-assignments", `{}`).is(400)
	wanda.post("/api/v1/roles/remove-assignments", body(5, `,"scopeWorkspaceId":1`)).ok()
	wanda.post("/api/v1/roles/remove-assignments", body(5, `,"scopeWorkspaceId":1`)).says(404, "is not assigned")

	all := admin.post("/api/v1/roles/search", `{"limit":2,"offset":1}`).ok().tree()
	if at(t, all, "roles.0.name") != "WorkspaceAdmin" || at(t, all, "pagination.total") != 9.0 || at(t, all, "pagination.endIndex") != 3.0 {
		t.Errorf("roles: %v", all)
	}
	if got := string(admin.post("/api/v1/roles/search/by-assignability", `{"limit":100,"workspaceId":1}`).ok().body); strings.Contains(got, "ClusterAdmin") || !strings.Contains(got, "Viewer") {
		t.Errorf("in a workspace: %s", got)
	}
	if got := string(eve.post("/api/v1/roles/search/by-ids", `{"roleIds":[2]}`).ok().body); strings.Contains(got, "userId") {
		t.Errorf("eve sees who has a role in a workspace that she does not see: %s", got)
	}
	if got := string(wanda.post("/api/v1/roles/search/by-ids", `{"roleIds":[2]}`).ok().body); !strings.Contains(got, "userId") {
		t.Errorf("wanda does not see her role: %s", got)
	}

	// A user who creates a workspace becomes its WorkspaceAdmin.
	r.give(auth.WorkspaceCreator, "eve", 0)
	made := at(t, eve.post("/api/v1/workspaces", `{"name":"eves"}`).ok().tree(), "workspace.id")
	eve.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", made), `{"name":"p"}`).ok()
	wanda.get(fmt.Sprintf("/api/v1/workspaces/%v", made)).is(404)
}

// TestRolesBeforeTheSwitch: without roles in use nothing changes for anybody, admins prepare
// roles, and a preview shows what will change.
func TestRolesBeforeTheSwitch(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	exp := me.create(yaml())
	me.post("/api/v1/groups", `{"name":"g"}`).is(403)
	me.post("/api/v1/roles/add-assignments", `{"userRoleAssignments":[{"userId":2,"roleAssignment":{"role":{"roleId":1}}}]}`).is(403)
	me.get("/api/v1/permissions/summary").ok()
	me.get("/api/v1/detent/access/preview").is(403)
	before := admin.get("/api/v1/detent/access/preview").ok().tree()
	if at(t, before, "inUse") != false || at(t, before, "users.0.clusterAdmin") != true || at(t, before, "users.1.losesSight") != 1.0 {
		t.Errorf("before: %v", before)
	}
	r.give(auth.Viewer, "determined", 1)
	after := admin.get("/api/v1/detent/access/preview").ok().tree()
	if at(t, after, "users.1.losesSight") != 0.0 || at(t, after, "users.1.losesControl") != 1.0 || at(t, after, "users.1.views") != 1.0 || at(t, after, "users.1.edits") != 0.0 {
		t.Errorf("after: %v", after)
	}
	me.patch(fmt.Sprintf("/api/v1/experiments/%d", exp), `{"name":"still mine"}`).ok()
	if at(t, me.get("/api/v1/master").ok().tree(), "rbacEnabled") != false {
		t.Error("/master reports that roles are in use")
	}
}
