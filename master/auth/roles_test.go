package auth

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// TestRoles is the table of what roles allow with things of others in the role's workspace (7), in
// another one (8), and with one's own in the workspace.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		role RoleID
		may  string // kind:verb, separated by spaces
	}{
		{Viewer, "experiment:view project:view model:view task:view workspace:view"},
		{ModelRegistryViewer, "model:view"},
		{Editor, "experiment:view experiment:create experiment:change experiment:delete project:view project:create project:edit project:change model:view model:create model:edit task:view task:create task:change workspace:view"},
		{EditorRestricted, "experiment:view experiment:create experiment:change experiment:delete project:view project:create project:edit project:change model:view model:create model:edit task:view workspace:view"},
		{EditorProjectRestricted, "experiment:view experiment:create experiment:change experiment:delete project:view model:view model:create model:edit task:view task:create task:change workspace:view"},
		{WorkspaceAdmin, "experiment:view experiment:create experiment:change experiment:delete project:view project:create project:edit project:change project:delete model:view model:create model:edit model:change " +
			"task:view task:create task:change workspace:view workspace:change workspace:delete role:assign"},
		{WorkspaceCreator, ""}, {TokenCreator, ""},
	} {
		grants := NewGrants([][2]int{{int(c.role), 7}})
		who := Who{UserID: 2, Grants: &grants}
		for _, k := range []Kind{v1.KindExperiment, v1.KindProject, v1.KindModel, v1.KindTask, v1.KindWorkspace, v1.KindRole} {
			for _, verb := range []Verb{View, Create, Edit, Change, Delete, Enter, Assign, Administer} {
				if k == v1.KindRole && verb == View {
					continue
				}
				want := slices.Contains(strings.Fields(c.may), string(k)+":"+string(verb))
				if got := Can(who, verb, Object{Kind: k, OwnerID: 3, WorkspaceID: 7}); got != want {
					t.Errorf("role %d may %s a %s: %v", c.role, verb, k, got)
				}
				if Can(who, verb, Object{Kind: k, OwnerID: 2, WorkspaceID: 8}) {
					t.Errorf("role %d may %s a %s in another workspace", c.role, verb, k)
				}
			}
		}
	}
}

// TestEnteringWithRoles: only its owner opens a notebook, while their role lasts and lets them see
// what a TensorBoard shows, and a ClusterAdmin.
func TestEnteringWithRoles(t *testing.T) {
	with := func(id int, pairs ...[2]int) Who {
		g := NewGrants(pairs)
		return Who{UserID: id, Grants: &g}
	}
	notebook, board := Object{Kind: v1.KindTask, OwnerID: 2, WorkspaceID: 7}, Object{Kind: v1.KindTask, OwnerID: 2, WorkspaceID: 7, Needs: []int{7, 8}}
	inTask := with(2, [2]int{int(Editor), 0})
	inTask.Within = "1.t.1"
	for _, c := range []struct {
		name string
		who  Who
		o    Object
		want bool
	}{
		{"its owner", with(2, [2]int{int(Editor), 7}), notebook, true},
		{"its owner, now a Viewer", with(2, [2]int{int(Viewer), 7}), notebook, false},
		{"its owner, now without a role", with(2), notebook, false},
		{"another Editor", with(3, [2]int{int(Editor), 7}), notebook, false},
		{"a WorkspaceAdmin", with(3, [2]int{int(WorkspaceAdmin), 7}), notebook, false},
		{"a ClusterAdmin", with(3, [2]int{int(ClusterAdmin), 0}), notebook, true},
		{"a program of its owner", inTask, notebook, false},
		{"a TensorBoard over two workspaces", with(2, [2]int{int(Editor), 7}, [2]int{int(Viewer), 8}), board, true},
		{"a TensorBoard over one that is hidden now", with(2, [2]int{int(Editor), 7}), board, false},
	} {
		if got := Can(c.who, Enter, c.o); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAnAdminsProgram: with roles, a program of an admin may change only its owner's objects, and has no
// rights of an admin.
func TestAnAdminsProgram(t *testing.T) {
	g := NewGrants([][2]int{{int(ClusterAdmin), 0}})
	w := Who{UserID: 1, Within: "1.t.1", Grants: &g}
	theirs, own := Object{Kind: v1.KindExperiment, OwnerID: 2, WorkspaceID: 7}, Object{Kind: v1.KindExperiment, OwnerID: 1, WorkspaceID: 7}
	if !Can(w, View, theirs) || Can(w, Edit, theirs) || Can(w, Change, theirs) || !Can(w, Change, own) || !Can(w, Create, own) ||
		Can(w, Administer, Object{Kind: v1.KindUser}) || Can(w, Assign, Object{Kind: v1.KindRole, WorkspaceID: 7}) || w.IsAdmin() {
		t.Error("a program of a ClusterAdmin has the rights of a ClusterAdmin")
	}
}

// TestAssigningForTheCluster: only a ClusterAdmin assigns roles for the whole cluster.
func TestAssigningForTheCluster(t *testing.T) {
	for _, r := range Roles() {
		g := NewGrants([][2]int{{int(r.ID), 0}})
		w := Who{UserID: 2, Grants: &g}
		if got, want := Can(w, Assign, Object{Kind: v1.KindRole}), r.ID == ClusterAdmin; got != want {
			t.Errorf("%s of the whole cluster may assign roles for it: %v", r.Name, got)
		}
		if got, want := Can(w, Assign, Object{Kind: v1.KindRole, WorkspaceID: 7}), r.ID == ClusterAdmin || r.ID == WorkspaceAdmin; got != want {
			t.Errorf("%s of the whole cluster may assign roles in a workspace: %v", r.Name, got)
		}
	}
}
