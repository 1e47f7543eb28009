package store

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
)

// TestTheSwitchToRoles: the admins of basic mode become ClusterAdmins once, at the switch, and
// again only after a master without roles has run.
func TestTheSwitchToRoles(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.exec(`INSERT INTO users (username, admin, active) VALUES ('gone', true, false), ('boss', true, true)`)
	roles := *w.db
	roles.roles = true
	begin := func(want ...string) {
		t.Helper()
		if got, err := roles.BeginRoles(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("ClusterAdmins: %v %v, want %v", got, err, want)
		}
	}
	begin("admin", "boss")
	begin()
	boss := w.int(`SELECT id FROM users WHERE username = 'boss'`)
	if err := roles.RemoveRoles(ctx, []Assignment{{RoleID: auth.ClusterAdmin, UserID: &boss}}); err != nil {
		t.Fatal(err)
	}
	begin() // the role stays taken, although boss has the mark
	if err := w.db.EndRoles(ctx); err != nil {
		t.Fatal(err)
	}
	begin("boss")
	w.exec(`UPDATE users SET active = false WHERE id <> $1`, boss)
	w.exec(`DELETE FROM role_assignments WHERE user_id = $1`, boss)
	begin("boss") // nobody could give a role
}

// TestGrantsOfGroups: a user has their own roles and the roles of their groups, each once.
func TestGrantsOfGroups(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	group, err := w.db.CreateGroup(ctx, "team", []int{2})
	if err != nil {
		t.Fatal(err)
	}
	second := w.int(`INSERT INTO workspaces (name, user_id) VALUES ('second', 1) RETURNING id`)
	two, one := 2, 1
	list := []Assignment{{RoleID: auth.Viewer, UserID: &two, WorkspaceID: &one}, {RoleID: auth.Viewer, GroupID: &group, WorkspaceID: &second},
		{RoleID: auth.Viewer, GroupID: &group, WorkspaceID: &one}, {RoleID: auth.Editor, GroupID: &group}}
	if err := w.db.AssignRoles(ctx, list); err != nil {
		t.Fatal(err)
	}
	got, err := w.db.GrantsOf(ctx, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	want := auth.NewGrants([][2]int{{int(auth.Viewer), 1}, {int(auth.Viewer), second}, {int(auth.Editor), 0}})
	mine, none := got[2], got[1]
	if !mine.Equal(&want) || len(none) != 0 {
		t.Errorf("grants: %+v", got)
	}
	w.exec(`DELETE FROM workspaces WHERE id = $1`, second)
	if got, err := w.db.AssignmentsOfUser(ctx, 2); err != nil || len(got) != 3 {
		t.Errorf("after the workspace is gone: %v %v", got, err)
	}
}
