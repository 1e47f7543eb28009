package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/oidc"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// groupsOf are the names of a user's groups.
func groupsOf(t *testing.T, admin as, user int) (names []string) {
	t.Helper()
	var got v1.GetGroupsResponse
	if err := json.Unmarshal(admin.post("/api/v1/groups/search", fmt.Sprintf(`{"userId":%d,"limit":100}`, user)).ok().body, &got); err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Groups {
		names = append(names, g.Group.Name)
	}
	slices.Sort(names)
	return names
}

// TestGroupsOfAProvider: after each sign-in a user is in the groups that the provider names, with
// the roles of these groups, and stays in the groups that administrators chose.
func TestGroupsOfAProvider(t *testing.T) {
	users := map[string]map[string]any{"1": {"preferred_username": "ada", "groups": []string{"ml", "ops", "theirs", "platform-prod"}}}
	s := newSignInRig(t, users, func(c *oidc.Config) {
		c.GroupsClaim, c.Sync = "groups", oidc.GroupSync{Create: true, Names: map[string]string{"platform-prod": "platform"}}
	}, newRoleRig)
	admin, public := s.user("admin"), s.api.cfg.PublicURL
	for _, name := range []string{"theirs", "platform", "friends"} {
		admin.post("/api/v1/groups", fmt.Sprintf(`{"name":%q}`, name)).ok()
	}
	signIn := func() {
		t.Helper()
		if code, body := identitytest.NewBrowser(t).SignIn("1", "GET", public+"/oidc/sso"); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	signIn()
	ada, err := accounts.UserByName(t.Context(), s.db, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if got := groupsOf(t, admin, ada.ID); !slices.Equal(got, []string{"ml", "ops", "platform"}) {
		t.Fatalf("ada is in %v; theirs was made here, so its name alone must not let her in", got)
	}
	if list := trailOf(t, admin, "kind=session&verb=login&username=ada"); len(list) != 1 || !strings.Contains(string(list[0].Names), `"joinedGroups"`) {
		t.Errorf("the trail has %+v", list)
	}
	var found v1.GetGroupsResponse
	if err := json.Unmarshal(admin.post("/api/v1/groups/search", `{"name":"ml","limit":1}`).ok().body, &found); err != nil || found.Groups[0].Group.Origin != "oidc:corp" {
		t.Fatalf("%+v %v", found, err)
	}
	ml := found.Groups[0].Group.GroupID
	t.Run("edits here", func(t *testing.T) {
		path := fmt.Sprintf("/api/v1/groups/%d", ml)
		admin.do("PUT", path, `{"addUsers":[2]}`).says(409, "comes from the identity provider corp")
		admin.do("PUT", path, fmt.Sprintf(`{"removeUsers":[%d]}`, ada.ID)).says(409, "change its name and its members there")
		admin.do("PUT", path, `{"name":"mine"}`).says(409, "comes from the identity provider corp")
		admin.do("PATCH", "/api/v1/users/assignments", fmt.Sprintf(`{"userIds":[2],"addGroups":[%d],"removeGroups":[]}`, ml)).says(409, "comes from the identity provider corp")
		if err := json.Unmarshal(admin.post("/api/v1/groups/search", `{"name":"platform","limit":1}`).ok().body, &found); err != nil {
			t.Fatal(err)
		}
		platform := fmt.Sprintf("/api/v1/groups/%d", found.Groups[0].Group.GroupID)
		admin.do("PUT", platform, `{"addUsers":[2]}`).ok()
		admin.do("PUT", platform, fmt.Sprintf(`{"removeUsers":[%d]}`, ada.ID)).says(409, `ada is in the group "platform" because of the identity provider corp`)
	})
	t.Run("roles", func(t *testing.T) {
		admin.post("/api/v1/roles/add-assignments", fmt.Sprintf(`{"groupRoleAssignments":[{"groupId":%d,"roleAssignment":{"role":{"roleId":%d},"scopeCluster":true}}]}`, ml, auth.WorkspaceCreator)).ok()
		token, hash := auth.NewToken()
		if _, err := accounts.NewSession(t.Context(), s.db, ada, hash, time.Hour, accounts.Place{}); err != nil {
			t.Fatal(err)
		}
		it := as{r: s.rig, header: "Authorization", token: "Bearer " + token}
		it.post("/api/v1/workspaces", `{"name":"hers"}`).ok()
		identitytest.SetUsers(t, s.issuer, map[string]map[string]any{"1": {"preferred_username": "ada", "groups": []string{"ops"}}})
		if err := json.Unmarshal(admin.post("/api/v1/groups/search", `{"name":"friends","limit":1}`).ok().body, &found); err != nil {
			t.Fatal(err)
		}
		admin.do("PUT", fmt.Sprintf("/api/v1/groups/%d", found.Groups[0].Group.GroupID), fmt.Sprintf(`{"addUsers":[%d]}`, ada.ID)).ok()
		signIn()
		if got := groupsOf(t, admin, ada.ID); !slices.Equal(got, []string{"friends", "ops"}) {
			t.Fatalf("ada is in %v", got)
		}
		it.post("/api/v1/workspaces", `{"name":"another"}`).is(403)
	})
}
