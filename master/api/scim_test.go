package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

const scimToken = "the secret token of the tests"

// withSCIM switches SCIM on.
func withSCIM(c *Config) {
	c.SCIM = &scim.Secrets{Tokens: [][32]byte{scim.HashSecret("an older one"), scim.HashSecret(scimToken)}, Logins: [][32]byte{scim.HashSecret("idp:password")}}
}

// scimClient is the SCIM client of a master.
func (r *rig) scimClient() as { return as{r: r, header: "Authorization", token: "Bearer " + scimToken} }

func (a as) scimPatch(path, ops string) answer {
	a.r.t.Helper()
	return a.do("PATCH", path, `{"schemas":["`+protocol.PatchSchema+`"],"Operations":[`+ops+`]}`)
}

// scimSays checks an error: its status, its form and a part of it.
func (a answer) scimSays(code int, part string) {
	a.t.Helper()
	got := a.is(code)
	if status := fmt.Sprintf(`"status":"%d"`, code); !strings.Contains(string(got.body), protocol.ErrorSchema) || !strings.Contains(string(got.body), status) || !strings.Contains(string(got.body), part) {
		a.t.Errorf("%s: %s", a.what, got.body)
	}
}

// newSCIMUser creates a user, and returns its path.
func (r *rig) newSCIMUser(name string) (path string, id int) {
	r.t.Helper()
	made := r.scimClient().post("/scim/v2/Users", fmt.Sprintf(`{"schemas":[%q],"userName":%q,"externalId":"x-%s"}`, protocol.UserSchema, name, name)).is(201).tree()
	u, err := accounts.UserByName(r.t.Context(), r.db, strings.ToLower(name))
	if err != nil {
		r.t.Fatal(err)
	}
	if at(r.t, made, "id") != fmt.Sprint(u.ID) {
		r.t.Fatalf("%v is not the id %d", made, u.ID)
	}
	return fmt.Sprintf("/scim/v2/Users/%d", u.ID), u.ID
}

// session signs a user in, without a password.
func (r *rig) signedInAs(id int) as {
	r.t.Helper()
	u, err := accounts.UserByID(r.t.Context(), r.db, id)
	if err != nil {
		r.t.Fatal(err)
	}
	token, hash := auth.NewToken()
	if _, err := accounts.NewSession(r.t.Context(), r.db, u, hash, time.Hour, accounts.Place{}); err != nil {
		r.t.Fatal(err)
	}
	return as{r: r, header: "Authorization", token: "Bearer " + token}
}

func TestSCIMUsers(t *testing.T) {
	r := newRig(t, withSCIM)
	idp, admin := r.scimClient(), r.user("admin")
	got := idp.post("/scim/v2/Users", `{"schemas":["`+protocol.UserSchema+`"],"userName":"Ada@Example.com","externalId":"00u1","name":{"givenName":"Ada","familyName":"Lovelace"},
		"emails":[{"value":"ada@example.com","type":"work","primary":true}],"active":true,"password":"not kept"}`).is(201)
	if kind := got.header.Get("Content-Type"); kind != protocol.MediaType {
		t.Errorf("the content type is %s", kind)
	}
	ada := got.tree()
	path := "/scim/v2/Users/" + at(t, ada, "id").(string)
	if at(t, ada, "userName") != "Ada@Example.com" || at(t, ada, "active") != true || at(t, ada, "emails.0.value") != "ada@example.com" || !strings.HasSuffix(got.header.Get("Location"), path) || at(t, ada, "meta.location") != got.header.Get("Location") {
		t.Errorf("%v at %s", ada, got.header.Get("Location"))
	}
	u, err := accounts.UserByName(t.Context(), r.db, "ada@example.com")
	if err != nil || !u.Remote || u.Admin || u.PasswordHash != "" || u.DisplayName != "Ada Lovelace" {
		t.Fatalf("%+v %v", u, err)
	}
	r.anyone().post("/api/v1/auth/login", `{"username":"ada@example.com","password":"not kept"}`).is(401)
	r.newSCIMUser("grace")

	t.Run("lists", func(t *testing.T) {
		for query, want := range map[string]string{
			"": "2 ada@example.com grace", `filter=userName+eq+"ADA@example.com"`: "1 ada@example.com", `filter=externalId+eq+"x-grace"`: "1 grace", `filter=emails.value+eq+"ADA@example.com"`: "1 ada@example.com",
			`filter=userName+eq+"admin"`: "0", `filter=active+eq+false`: "0", `filter=userName+eq+"grace"+and+active+eq+true`: "1 grace", `filter=id+eq+"1"`: "0", `filter=id+eq+"x"`: "0",
			`filter=userName+eq+"grace"+and+userName+eq+"ada"`: "0", "startIndex=2": "2 grace", "count=1": "2 ada@example.com", "count=0": "2", "startIndex=-5&count=-1": "2", "startIndex=99": "2",
		} {
			page := idp.get("/scim/v2/Users?" + strings.ReplaceAll(query, `"`, "%22")).ok().tree()
			found := fmt.Sprint(at(t, page, "totalResults"))
			for _, it := range at(t, page, "Resources").([]any) {
				found += " " + strings.ToLower(at(t, it, "userName").(string))
			}
			if found != want {
				t.Errorf("%s: %s, expected %s", query, found, want)
			}
		}
		for _, query := range []string{"filter=userName+co+%22a%22", "filter=nonsense", "filter=admin+eq+true", "filter=userName+eq+5", "startIndex=x"} {
			idp.get("/scim/v2/Users?"+query).scimSays(400, `"scimType":"invalid`)
		}
		if only := string(idp.get(path + "?attributes=userName").ok().body); !strings.Contains(only, "userName") || strings.Contains(only, "emails") || !strings.Contains(only, `"id"`) {
			t.Error(only)
		}
	})
	t.Run("changes", func(t *testing.T) {
		idp.scimPatch(path, `{"op":"Replace","path":"name.familyName","value":"King"},{"op":"add","path":"displayName","value":"Ada King"}`).ok()
		if at(t, idp.do("PUT", path, `{"userName":"ada","name":{"givenName":"A"}}`).ok().tree(), "active") != true {
			t.Error("a replacement without `active` deactivated the user")
		}
		if now, err := accounts.UserByName(t.Context(), r.db, "ada"); err != nil || now.ID != u.ID {
			t.Errorf("%+v %v", now, err)
		}
		if now := string(idp.get(path).ok().body); strings.Contains(now, "emails") || strings.Contains(now, "externalId") || strings.Contains(now, "King") {
			t.Errorf("what a replacement does not have stays: %s", now)
		}
		idp.do("PUT", path, `{"userName":"grace"}`).scimSays(409, `"scimType":"uniqueness"`)
		idp.scimPatch(path, `{"op":"replace","path":"userName","value":"a/b"}`).scimSays(400, "invalidValue")
	})
	t.Run("deactivation", func(t *testing.T) {
		her := r.signedInAs(u.ID)
		token := at(t, her.post("/api/v1/tokens", `{}`).ok().tree(), "token").(string)
		program := as{r: r, header: "Authorization", token: "Bearer " + token}
		program.get("/api/v1/me").ok()
		if at(t, idp.scimPatch(path, `{"op":"replace","path":"active","value":false}`).ok().tree(), "active") != false {
			t.Error("she is active")
		}
		her.get("/api/v1/me").is(401)
		program.get("/api/v1/me").is(401)
		if at(t, idp.scimPatch(path, `{"op":"replace","path":"active","value":true}`).ok().tree(), "active") != true {
			t.Error("she is not active")
		}
		program.get("/api/v1/me").is(401) // a token that was revoked stays so
		r.signedInAs(u.ID).get("/api/v1/me").ok()

		admin.do("PATCH", fmt.Sprintf("/api/v1/users/%d", u.ID), `{"active":false}`).ok()
		if at(t, idp.do("PUT", path, `{"userName":"ada","active":true}`).ok().tree(), "active") != false {
			t.Error("the client activated whom an administrator deactivated")
		}
		admin.do("PATCH", fmt.Sprintf("/api/v1/users/%d", u.ID), `{"active":true}`).ok()
	})
	t.Run("deletion", func(t *testing.T) {
		id := r.signedInAs(u.ID).putExperiment("hers")
		owned := at(t, id, "experiment.id")
		idp.do("DELETE", path, "").is(204)
		idp.get(path).scimSays(404, `"status":"404"`)
		idp.do("DELETE", path, "").is(404)
		gone, err := accounts.UserByID(t.Context(), r.db, u.ID)
		if err != nil || gone.Active {
			t.Errorf("%+v %v", gone, err)
		}
		if owner := at(t, admin.get(fmt.Sprintf("/api/v1/experiments/%v", owned)).ok().tree(), "experiment.username"); owner != "ada" {
			t.Errorf("her experiment belongs to %v", owner)
		}
		again := idp.post("/scim/v2/Users", `{"userName":"ada"}`).is(201).tree()
		if at(t, again, "id") != fmt.Sprint(u.ID) || at(t, again, "active") != true {
			t.Errorf("%v", again)
		}
		idp.post("/scim/v2/Users", `{"userName":"ada"}`).scimSays(409, "uniqueness")
	})
	t.Run("the trail", func(t *testing.T) {
		list := trailOf(t, admin, "username=scim&kind=user")
		if len(list) < 10 || list[0].Credential != "secret of scim" || list[0].Object != fmt.Sprint(u.ID) && list[len(list)-1].Object != fmt.Sprint(u.ID) {
			t.Errorf("%d entries: %+v", len(list), list)
		}
		var all strings.Builder
		for _, e := range list {
			all.WriteString(string(e.Names))
		}
		if !strings.Contains(all.String(), "replace active") || strings.Contains(all.String(), "not kept") {
			t.Error(all.String())
		}
	})
}

// TestSCIMTakesOverNobody: a SCIM client can manage accounts that have no password here, but never
// accounts of administrators.
func TestSCIMTakesOverNobody(t *testing.T) {
	r := newRoleRig(t, withSCIM)
	idp, admin := r.scimClient(), r.user("admin")
	idp.post("/scim/v2/Users", `{"userName":"ADMIN"}`).scimSays(409, "SCIM cannot manage the account")
	idp.post("/scim/v2/Users", `{"userName":"determined"}`).scimSays(409, "SCIM cannot manage the account")
	for id := range 3 {
		idp.get(fmt.Sprintf("/scim/v2/Users/%d", id)).is(404)
		idp.scimPatch(fmt.Sprintf("/scim/v2/Users/%d", id), `{"op":"replace","path":"active","value":false}`).is(404)
		idp.do("DELETE", fmt.Sprintf("/scim/v2/Users/%d", id), "").is(404)
	}
	admin.post("/api/v1/users", `{"user":{"username":"root","active":true,"remote":true,"admin":true}}`).ok()
	admin.post("/api/v1/users", `{"user":{"username":"boss","active":true,"remote":true}}`).ok()
	r.give(auth.ClusterAdmin, "boss", 0)
	idp.post("/scim/v2/Users", `{"userName":"root"}`).scimSays(409, "SCIM cannot manage the account")
	idp.post("/scim/v2/Users", `{"userName":"boss"}`).scimSays(409, "SCIM cannot manage the account")
	admin.post("/api/v1/users", `{"user":{"username":"guest","active":true,"remote":true}}`).ok()
	idp.post("/scim/v2/Users", `{"userName":"guest"}`).is(201)

	path, id := r.newSCIMUser("ada")
	admin.do("PATCH", fmt.Sprintf("/api/v1/users/%d", id), `{"admin":true}`).ok()
	idp.scimPatch(path, `{"op":"replace","path":"userName","value":"mallory"}`).scimSays(403, "cannot rename it")
	if at(t, idp.scimPatch(path, `{"op":"replace","path":"active","value":false}`).ok().tree(), "active") != false {
		t.Error("who left the company is still active")
	}
	// Groups: none that exists, and only users of the client.
	admin.post("/api/v1/groups", `{"name":"owners"}`).ok()
	idp.post("/scim/v2/Groups", `{"displayName":"owners"}`).scimSays(409, "SCIM cannot take over an existing group")
	idp.post("/scim/v2/Groups", `{"displayName":"ml","members":[{"value":"1"}]}`).scimSays(400, "there is no user 1")
}

func TestSCIMGroups(t *testing.T) {
	r := newRoleRig(t, withSCIM)
	idp, admin := r.scimClient(), r.user("admin")
	_, ada := r.newSCIMUser("ada")
	_, grace := r.newSCIMUser("grace")
	made := idp.post("/scim/v2/Groups", fmt.Sprintf(`{"displayName":"ml","externalId":"g1","members":[{"value":"%d"}]}`, ada)).is(201).tree()
	path := "/scim/v2/Groups/" + at(t, made, "id").(string)
	if at(t, made, "members.0.display") != "ada" {
		t.Errorf("%v", made)
	}
	members := func() (names string) {
		for _, m := range at(t, idp.get(path).ok().tree(), "members").([]any) {
			names += " " + at(t, m, "display").(string)
		}
		return names
	}
	admin.post("/api/v1/roles/add-assignments", fmt.Sprintf(`{"groupRoleAssignments":[{"groupId":%s,"roleAssignment":{"role":{"roleId":%d},"scopeCluster":true}}]}`, at(t, made, "id"), auth.WorkspaceCreator)).ok()
	her, hers := r.signedInAs(ada), r.signedInAs(grace)
	her.post("/api/v1/workspaces", `{"name":"one"}`).ok()
	hers.post("/api/v1/workspaces", `{"name":"two"}`).is(403)
	idp.scimPatch(path, fmt.Sprintf(`{"op":"add","path":"members","value":[{"value":"%d"}]},{"op":"remove","path":"members[value eq \"%d\"]"}`, grace, ada)).ok()
	her.post("/api/v1/workspaces", `{"name":"three"}`).is(403)
	hers.post("/api/v1/workspaces", `{"name":"two"}`).ok()
	if got := members(); got != " grace" {
		t.Errorf("the members are%s", got)
	}
	for query, want := range map[string]string{"": "1", "filter=displayName+eq+%22ML%22": "1", "filter=externalId+eq+%22g1%22": "1", "filter=displayName+eq+%22owners%22": "0",
		fmt.Sprintf("filter=id+eq+%%22%s%%22+and+members+eq+%%22%d%%22", at(t, made, "id"), grace): "1", fmt.Sprintf("filter=members.value+eq+%%22%d%%22", ada): "0"} {
		if got := fmt.Sprint(at(t, idp.get("/scim/v2/Groups?"+query).ok().tree(), "totalResults")); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	if page := string(idp.get("/scim/v2/Groups?excludedAttributes=members").ok().body); strings.Contains(page, "grace") {
		t.Error(page)
	}
	if user := string(idp.get(fmt.Sprintf("/scim/v2/Users/%d", grace)).ok().body); !strings.Contains(user, `"display":"ml"`) {
		t.Error(user)
	}
	here := "/api/v1/groups/" + at(t, made, "id").(string)
	admin.do("PUT", here, fmt.Sprintf(`{"addUsers":[%d]}`, ada)).says(409, "comes from SCIM")
	admin.do("PUT", here, fmt.Sprintf(`{"removeUsers":[%d]}`, grace)).says(409, "comes from SCIM")
	if at(t, admin.get(here).ok().tree(), "group.origin") != "scim" {
		t.Error("the group's origin is not scim")
	}
	idp.do("PUT", path, fmt.Sprintf(`{"displayName":"research","members":[{"value":"%d"},{"value":"%d"}]}`, ada, grace)).ok()
	if got := members(); got != " ada grace" {
		t.Errorf("the members are%s", got)
	}
	idp.scimPatch(path, `{"op":"remove","path":"members"}`).ok()
	if got := members(); got != "" {
		t.Errorf("the members are%s", got)
	}
	idp.do("DELETE", path, "").is(204)
	idp.get(path).is(404)
}

// TestSCIMOfOthers: clients without the secret, and invalid messages of SCIM.
func TestSCIMOfOthers(t *testing.T) {
	newRig(t).scimClient().get("/scim/v2/Users").scimSays(404, "SCIM is not switched on")
	r := newRig(t, withSCIM)
	basic := func(login string) http.Header {
		return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(login))}}
	}
	r.anyone().with("GET", "/scim/v2/Users", nil, basic("idp:password")).ok()
	for name, header := range map[string]http.Header{"none": nil, "empty": {"Authorization": {"Bearer "}}, "wrong": {"Authorization": {"Bearer x"}}, "the token as a password": basic("idp:" + scimToken), "no colon": basic("idp"),
		"no base64": {"Authorization": {"Basic %%%"}}, "the login as a token": {"Authorization": {"Bearer idp:password"}}, "another scheme": {"Authorization": {"Digest " + scimToken}}} {
		if got := r.anyone().with("GET", "/scim/v2/Users", nil, header).is(401); !strings.Contains(string(got.body), protocol.ErrorSchema) || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	r.user("admin").get("/scim/v2/Users").is(401)
	r.scimClient().get("/api/v1/users").is(401)
	idp := r.scimClient()
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"POST", "/scim/v2/Users", "", 400, "invalidSyntax"}, {"POST", "/scim/v2/Users", "[]", 400, "invalidValue"}, {"POST", "/scim/v2/Users", `{"userName":"a b"}`, 400, "invalidValue"},
		{"POST", "/scim/v2/Users", `{"userName":"` + strings.Repeat("a", 1<<20) + `"}`, 413, protocol.ErrorSchema}, {"POST", "/scim/v2/Users", strings.Repeat(`{"a":`, 20_000), 400, "invalidSyntax"},
		{"GET", "/scim/v2/Users/0", "", 404, ""}, {"GET", "/scim/v2/Users/-1", "", 404, ""}, {"GET", "/scim/v2/Users/99999999999999999999", "", 404, ""}, {"GET", "/scim/v2/Users/1%27--", "", 404, ""},
		{"GET", "/scim/v2/Users?filter=" + strings.Repeat("x", 2000), "", 400, "invalidFilter"}, {"PATCH", "/scim/v2/Users/77", `{"schemas":[]}`, 400, "invalidSyntax"},
		{"POST", "/scim/v2/Groups", `{"displayName":""}`, 400, "invalidValue"}, {"POST", "/scim/v2/Groups", `{"displayName":"x","members":[{"value":"999"}]}`, 400, "no user 999"},
		{"POST", "/scim/v2/Bulk", `{}`, 404, protocol.ErrorSchema}, {"GET", "/scim/v2/Schemas/none", "", 404, protocol.ErrorSchema},
	} {
		idp.do(c.method, c.path, c.body).scimSays(c.code, c.says)
	}
	for _, path := range []string{"ServiceProviderConfig", "ResourceTypes", "ResourceTypes/User", "Schemas", "Schemas/" + protocol.GroupSchema} {
		if got := string(idp.get("/scim/v2/" + path).ok().body); !strings.Contains(got, `"schemas"`) || !strings.Contains(got, "/scim/v2/") {
			t.Errorf("%s: %s", path, got)
		}
	}
	t.Run("guesses", func(t *testing.T) {
		for range scim.MaxWrong {
			r.anyone().get("/scim/v2/Users")
		}
		r.anyone().get("/scim/v2/Users").is(429)
		idp.get("/scim/v2/Users").ok()
	})
}

// TestSCIMAndSignIn: a user whom SCIM has created can sign in with the provider until SCIM deactivates
// the account.
func TestSCIMAndSignIn(t *testing.T) {
	s := newSignInRig(t, staff(), func(c *oidc.Config) { c.CreateUsers = false }, func(t testing.TB, change ...func(*Config)) *rig {
		return newRig(t, append(change, withSCIM)...)
	})
	signIn := func() (int, string) {
		return identitytest.NewBrowser(t).SignIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso")
	}
	if code, _ := signIn(); code != 403 {
		t.Errorf("an unknown person: %d", code)
	}
	path, id := s.newSCIMUser("ada")
	p := identitytest.NewBrowser(t)
	if code, body := p.SignIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 200 || !strings.Contains(p.Me(s.api.cfg.PublicURL), fmt.Sprintf(`"id":%d`, id)) {
		t.Errorf("%d %s", code, body)
	}
	s.scimClient().scimPatch(path, `{"op":"replace","path":"active","value":"False"}`).ok()
	if me := p.Me(s.api.cfg.PublicURL); !strings.Contains(me, "has ended") {
		t.Errorf("she is still signed in: %s", me)
	}
	if code, body := signIn(); code != 403 || !strings.Contains(body, "not active") {
		t.Errorf("%d %s", code, body)
	}
	if list, _, err := scim.Users(t.Context(), s.db, scim.Filter{}, 0, 10); err != nil || len(list) != 1 || list[0].Active {
		t.Errorf("%+v %v", list, err)
	}
}
