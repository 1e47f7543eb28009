package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestOldUsers: what scripts of Determined's first years call.
func TestOldUsers(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	admin.post("/users", `{"username":"Grace","admin":false,"active":true,"agent_user_group":{"uid":7,"gid":8,"user":"g","group":"h"}}`).ok()
	admin.post("/users", `{"username":"grace","active":true}`).says(409, "grace")
	admin.post("/users", `{}`).says(400, "username")
	admin.post("/users", `{"username":"x","agent_user_group":{"uid":7}}`).says(400, "agentUserGroup")
	r.anyone().post("/users", `{"username":"eve"}`).is(401)
	grace := r.user("grace")
	grace.post("/users", `{"username":"eve"}`).is(403)

	grace.patch("/users/grace", `{"password":"Sw0rdfish"}`).ok()
	grace.patch("/users/grace", `{"admin":true}`).is(403)
	grace.patch("/users/admin", `{"active":false}`).is(403)
	admin.patch("/users/nobody", `{"active":false}`).is(404)
	admin.patch("/users/grace", `{"username":"hopper"}`).says(400, "PATCH /users/grace/username")
	grace.patch("/users/grace/username", `{"username":"hopper"}`).is(403)
	admin.patch("/users/grace/username", `{"username":"hopper"}`).ok()
	admin.patch("/users/hopper/username", `{}`).says(400, "username")

	r.anyone().post("/login", `{"username":"hopper","password":"wrong"}`).is(401)
	in := r.anyone().post("/login", `{"username":"hopper","password":"Sw0rdfish"}`).ok()
	if in.header.Get("Set-Cookie") != "" {
		t.Errorf("a cookie that nobody asked for: %s", in.header.Get("Set-Cookie"))
	}
	if with := r.anyone().post("/login?cookie=true", `{"username":"hopper","password":"Sw0rdfish"}`).ok(); !strings.HasPrefix(with.header.Get("Set-Cookie"), "auth=") {
		t.Errorf("its cookie is %q", with.header.Get("Set-Cookie"))
	}
	hopper := as{r: r, header: "Authorization", token: "Bearer " + at(t, in.tree(), "token").(string)}
	var list []map[string]any
	if err := json.Unmarshal(hopper.get("/users").ok().body, &list); err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, u := range list {
		if _, there := u["display_name"]; !there || u["id"] == nil || u["username"] == "hopper" && (u["admin"] != false || u["active"] != true) {
			t.Errorf("%v", u)
		}
	}
	if page := hopper.with("GET", "/users", nil, http.Header{"Accept": {"text/html"}}); strings.Contains(string(page.body), "display_name") {
		t.Errorf("a browser that opens the page gets %s", page.body)
	}
	hopper.post("/logout", "").ok()
	hopper.get("/users").is(401)
}

// TestScrapeTargets: Prometheus' discovery over HTTP.
func TestScrapeTargets(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 2)
	var list []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal(r.anyone().get("/prom/det-http-sd-config").ok().body, &list); err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	found := false
	for _, x := range list {
		found = found || x.Labels["det_agent_id"] == "node-1" && len(x.Targets) == 1 && strings.HasSuffix(x.Targets[0], ":8080") && x.Labels["det_resource_pool"] != ""
	}
	if !found {
		t.Errorf("%v", list)
	}
}

// TestProfiles: administrators profile a master, others do not, and a profile has a bounded length.
func TestProfiles(t *testing.T) {
	r := newRig(t)
	r.anyone().get("/debug/pprof/heap").is(401)
	r.user("determined").get("/debug/pprof/heap").is(403)
	admin := r.user("admin")
	if got := admin.get("/debug/pprof/").ok(); !strings.Contains(string(got.body), "goroutine") {
		t.Errorf("the list is %s", got.body)
	}
	for _, name := range []string{"heap", "goroutine", "profile?seconds=0.1", "trace?seconds=0.1"} {
		if got := admin.get("/debug/pprof/" + name).ok(); len(got.body) < 100 {
			t.Errorf("%s: %d bytes", name, len(got.body))
		}
	}
	for _, name := range []string{"cmdline", "none"} {
		admin.get("/debug/pprof/"+name).says(404, "there is no profile")
	}
	for _, seconds := range []string{"61", "0", "-1", "x", "NaN", "1e300"} {
		admin.get("/debug/pprof/profile?seconds="+seconds).says(400, "at most 60")
	}
	if text := admin.get("/api/v1/detent/audit?limit=50").ok().body; !strings.Contains(string(text), "/debug/pprof") {
		t.Errorf("the audit trail does not have it: %s", text)
	}
}
