package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestServiceAccounts: a service account signs in with access tokens that an administrator creates, in no
// other way, until it is deactivated.
func TestServiceAccounts(t *testing.T) {
	r := newRig(t)
	admin, ada := r.user("admin"), r.newUser("ada")
	made := admin.post("/api/v1/users", `{"user":{"username":"ci","displayName":"nightly runs","active":true,"serviceAccount":true}}`).ok().tree()
	id := int(at(t, made, "user.id").(float64))
	if at(t, made, "user.serviceAccount") != true || at(t, admin.get("/api/v1/users/ci/by-username").ok().tree(), "user.serviceAccount") != true ||
		at(t, admin.get("/api/v1/users/ada/by-username").ok().tree(), "user.serviceAccount") != false {
		t.Errorf("%v", made)
	}
	path := fmt.Sprintf("/api/v1/users/%d", id)
	ada.post("/api/v1/users", `{"user":{"username":"other","active":true,"serviceAccount":true}}`).is(403)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/users", `{"user":{"username":"x","serviceAccount":true},"password":"a long password"}`, "password: a service account has none"},
		{"POST", "/api/v1/users", `{"user":{"username":"x","serviceAccount":true,"remote":true}}`, "remote: a service account"},
		{"POST", "/api/v1/users", `{"user":{"username":"x","serviceAccount":true,"admin":true}}`, "admin: a service account"},
		{"PATCH", path, `{"password":"a long password"}`, "ci is a service account"},
		{"PATCH", path, `{"remote":true}`, "ci is a service account"},
		{"PATCH", path, `{"admin":true}`, "ci is a service account"},
		{"POST", path + "/password", `"a long password"`, "ci is a service account"},
	} {
		admin.do(c.method, c.path, c.body).says(400, c.want)
	}
	for _, password := range []string{"", "a long password"} {
		r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":"ci","password":%q}`, password)).is(401)
	}
	ada.post("/api/v1/tokens", fmt.Sprintf(`{"userId":%d}`, id)).is(403)
	token := at(t, admin.post("/api/v1/tokens", fmt.Sprintf(`{"userId":%d,"lifespan":"1h"}`, id)).ok().tree(), "token").(string)
	ci := as{r: r, header: "Authorization", token: "Bearer " + token}
	if me := ci.get("/api/v1/me").ok().tree(); at(t, me, "user.username") != "ci" || at(t, me, "user.serviceAccount") != true {
		t.Errorf("%v", me)
	}
	ci.post("/api/v1/tokens", `{}`).is(403)
	ci.post("/api/v1/workspaces", `{"name":"of-ci"}`).ok()
	var entries v1.AuditResponse
	if err := v1.Unmarshal(admin.get("/api/v1/detent/audit?username=ci&kind=workspace").ok().body, &entries); err != nil || len(entries.Entries) != 1 ||
		!strings.HasPrefix(entries.Entries[0].Credential, "access token ") {
		t.Errorf("%+v, %v", entries, err)
	}
	if created := string(admin.get("/api/v1/detent/audit?username=admin&kind=user").ok().body); !strings.Contains(created, `"serviceAccount": true`) {
		t.Errorf("the creation: %s", created)
	}
	admin.do("PATCH", path, `{"active":false}`).ok()
	ci.get("/api/v1/me").is(401)
}

// TestServiceAccountsBelongToNobodyElsewhere: neither an identity at a provider nor a SCIM client gets a service
// account by its name.
func TestServiceAccountsBelongToNobodyElsewhere(t *testing.T) {
	r := newRig(t)
	r.user("admin").post("/api/v1/users", `{"user":{"username":"ci","active":true,"serviceAccount":true}}`).ok()
	_, err := login.SignIn(t.Context(), r.db, r.api.cfg.Roles, login.Identity{Issuer: "https://id", Subject: "1", Username: "ci", Create: true})
	if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "is a service account") {
		t.Errorf("at a provider: %v", err)
	}
	_, err = scim.CreateUser(t.Context(), r.db, r.api.cfg.Roles, scim.Change{Username: "ci", Attributes: []byte(`{}`), Active: true})
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is a service account") {
		t.Errorf("by SCIM: %v", err)
	}
}
