package accounts_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// TestTheSwitchToRoles: the admins of basic mode become ClusterAdmins once, at the switch, and
// again only after a master without roles has run.
func TestTheSwitchToRoles(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.exec(`INSERT INTO users (username, admin, active) VALUES ('gone', true, false), ('boss', true, true)`)
	begin := func(want ...string) {
		t.Helper()
		if got, err := accounts.BeginRoles(ctx, w.db); err != nil || !slices.Equal(got, want) {
			t.Errorf("ClusterAdmins: %v %v, want %v", got, err, want)
		}
	}
	begin("admin", "boss")
	begin()
	boss := w.int(`SELECT id FROM users WHERE username = 'boss'`)
	if err := accounts.RemoveRoles(ctx, w.db, true, []accounts.Assignment{{RoleID: auth.ClusterAdmin, UserID: &boss}}); err != nil {
		t.Fatal(err)
	}
	begin() // the role stays taken, although boss has the mark
	if err := accounts.EndRoles(ctx, w.db); err != nil {
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
	group, err := accounts.CreateGroup(ctx, w.db, "team", []int{2})
	if err != nil {
		t.Fatal(err)
	}
	second := w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('second', 1) RETURNING id`)
	two, one := 2, 1
	list := []accounts.Assignment{{RoleID: auth.Viewer, UserID: &two, WorkspaceID: &one}, {RoleID: auth.Viewer, GroupID: &group, WorkspaceID: &second},
		{RoleID: auth.Viewer, GroupID: &group, WorkspaceID: &one}, {RoleID: auth.Editor, GroupID: &group}}
	if _, err := accounts.AssignRoles(ctx, w.db, list, true); err != nil {
		t.Fatal(err)
	}
	got, err := accounts.GrantsOf(ctx, w.db, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	want := auth.NewGrants([][2]int{{int(auth.Viewer), 1}, {int(auth.Viewer), second}, {int(auth.Editor), 0}})
	mine, none := got[2], got[1]
	if !mine.Equal(&want) || len(none) != 0 {
		t.Errorf("grants: %+v", got)
	}
	w.exec(`DELETE FROM workspaces WHERE id = $1`, second)
	if got, err := accounts.AssignmentsOfUser(ctx, w.db, 2); err != nil || len(got) != 3 {
		t.Errorf("after the workspace is gone: %v %v", got, err)
	}
}

// TestRolesInOwnWorkspacesAreLimited: who makes workspaces gives a limited number of roles in them to one user, one group or everybody, because
// each look-up of a session reads them. Who may assign roles everywhere has no such limit.
func TestRolesInOwnWorkspacesAreLimited(t *testing.T) {
	w := newWorld(t)
	w.exec(`INSERT INTO workspaces (name, owner_id) SELECT 'w' || i, 2 FROM generate_series(1, $1::int + 1) i`, accounts.MaxSameAssignments)
	spaces, err := database.Scalars[int](t.Context(), w.db, `SELECT id FROM workspaces WHERE name LIKE 'w%' ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	in := func(user *int, spaces []int) (list []accounts.Assignment) {
		for i := range spaces {
			list = append(list, accounts.Assignment{RoleID: auth.Viewer, UserID: user, WorkspaceID: &spaces[i]})
		}
		return list
	}
	victim := 1
	for _, user := range []*int{nil, &victim} {
		if changed, err := accounts.AssignRoles(t.Context(), w.db, in(user, spaces[1:]), false); err != nil || !changed {
			t.Fatal(changed, err)
		}
		if changed, err := accounts.AssignRoles(t.Context(), w.db, in(user, spaces[1:]), false); err != nil || changed {
			t.Errorf("the same again: changed %v, %v", changed, err)
		}
		if _, err := accounts.AssignRoles(t.Context(), w.db, in(user, spaces[:2]), false); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "the limit is 500") {
			t.Errorf("one too many: %v", err)
		}
		if _, err := accounts.AssignRoles(t.Context(), w.db, in(user, spaces[:1]), true); err != nil {
			t.Errorf("by a ClusterAdmin: %v", err)
		}
		other := 2
		if _, err := accounts.AssignRoles(t.Context(), w.db, in(&other, spaces[:1]), false); err != nil {
			t.Errorf("of somebody else: %v", err)
		}
		if err := accounts.RemoveRoles(t.Context(), w.db, false, in(&other, spaces[:1])); err != nil {
			t.Error(err)
		}
		if err := accounts.RemoveRoles(t.Context(), w.db, false, in(user, spaces)); err != nil {
			t.Errorf("taken: %v", err)
		}
		if err := accounts.RemoveRoles(t.Context(), w.db, false, in(user, spaces[:1])); !fault.Is(err, fault.NotFound) {
			t.Errorf("taken twice: %v", err)
		}
	}
	if list, err := accounts.Assignments(t.Context(), w.db); err != nil || len(list) != 0 {
		t.Errorf("%d roles are left, %v", len(list), err)
	}
}

// TestRolesInWorkspacesLockNobody: while somebody changes roles of the cluster, sign-ins that change no membership and roles in workspaces
// do not wait.
func TestRolesInWorkspacesLockNobody(t *testing.T) {
	w := newWorld(t)
	user, space := 2, w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('mine', 2) RETURNING id`)
	member := accounts.Memberships{Provider: "okta", Create: true, Groups: []accounts.ProviderGroup{{Name: "team"}}}
	if joined, _, err := accounts.SyncMemberships(t.Context(), w.db, false, user, member); err != nil || len(joined) != 1 {
		t.Fatal(joined, err)
	}
	err := w.db.Tx(t.Context(), func(tx *database.DB) error {
		if err := accounts.LockRoles(t.Context(), tx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := accounts.SyncMemberships(ctx, w.db, false, user, member); err != nil {
			t.Errorf("a sign-in: %v", err)
		}
		list := []accounts.Assignment{{RoleID: auth.Editor, UserID: &user, WorkspaceID: &space}}
		if _, err := accounts.AssignRoles(ctx, w.db, list, false); err != nil {
			t.Errorf("a role in a workspace: %v", err)
		}
		if err := accounts.RemoveRoles(ctx, w.db, false, list); err != nil {
			t.Errorf("and taken again: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []accounts.Memberships{{Provider: "okta"}, member, {Provider: "okta", Create: true, Groups: []accounts.ProviderGroup{{Name: "team"}, {Name: "other"}}}} {
		if same, err := accounts.SameMemberships(t.Context(), w.db, user, change); err != nil || same {
			t.Errorf("%+v changes nothing? %v", change, err)
		}
		if _, _, err := accounts.SyncMemberships(t.Context(), w.db, false, user, change); err != nil {
			t.Error(err)
		}
	}
}
