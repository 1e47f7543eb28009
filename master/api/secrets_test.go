package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func offering(c *Config) {
	c.Site.Secrets = task.Secrets{
		{Name: "team", Path: "secret/data/team", Workspaces: []string{"vision", "speech", "no longer there"}},
		{Name: "all", Path: "secret/data/all", Workspaces: []string{"*"}, Keys: []string{"token"}},
		{Name: "of-ada", Path: "secret/data/ada", Users: []string{"ada"}},
	}
}

// secretsOf lists the secrets that a user may mount, as lines.
func secretsOf(t *testing.T, who as, query string) string {
	t.Helper()
	body := who.get("/api/v1/detent/secrets" + query).ok().body
	if strings.Contains(string(body), "secret/data") {
		t.Errorf("the answer has a path: %s", body)
	}
	var got v1.GetUserSecretsResponse
	if err := v1.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got.Secrets {
		where := strings.Join(s.Workspaces, "+")
		if s.Everywhere {
			where = "everywhere"
		}
		lines = append(lines, s.Name+" "+strings.Join(s.Keys, "+")+" "+where)
	}
	return strings.Join(lines, ", ")
}

// TestSecretsOfEachUser: a user lists the secrets that the user may mount, with the workspaces in which the
// user may start work.
func TestSecretsOfEachUser(t *testing.T) {
	r := newRoleRig(t, offering)
	admin := r.user("admin")
	in := map[string]int{}
	for _, name := range []string{"vision", "speech"} {
		in[name] = int(at(t, admin.post("/api/v1/workspaces", `{"name":"`+name+`"}`).ok().tree(), "workspace.id").(float64))
	}
	ada, eve, nobody := r.newUser("ada"), r.newUser("eve"), r.newUser("nobody")
	r.give(auth.Editor, "ada", in["vision"])
	r.give(auth.Viewer, "eve", in["vision"])
	for name, c := range map[string]struct {
		who  as
		want string
	}{
		"an Editor":      {ada, "team  vision, all token everywhere, of-ada  everywhere"},
		"a Viewer":       {eve, "all token everywhere"},
		"without a role": {nobody, "all token everywhere"},
		"a ClusterAdmin": {admin, "team  vision+speech, all token everywhere"},
	} {
		if got := secretsOf(t, c.who, ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := secretsOf(t, ada, "?limit=1&offset=1"); got != "all token everywhere" {
		t.Errorf("the second: %q", got)
	}
	r.anyone().do("GET", "/api/v1/detent/secrets", "").is(401)
}

// TestNamesThatSecretsAreOfferedTo: a secret is offered to a workspace by its name, so only admins give
// such a name to a workspace, or take it away.
func TestNamesThatSecretsAreOfferedTo(t *testing.T) {
	r := newRig(t, offering)
	me, admin := r.user("determined"), r.user("admin")
	me.post("/api/v1/workspaces", `{"name":"vision"}`).says(403, "vision", "only an admin")
	mine := fmt.Sprint("/api/v1/workspaces/", at(t, me.post("/api/v1/workspaces", `{"name":"mine"}`).ok().tree(), "workspace.id"))
	me.patch(mine, `{"name":"speech"}`).says(403, "speech", "only an admin")
	admin.patch(mine, `{"name":"speech"}`).ok()
	me.patch(mine, `{"name":"mine"}`).says(403, "speech", "only an admin")
	me.patch(mine, `{"name":"speech"}`).ok() // as it is
	admin.patch(mine, `{"name":"mine"}`).ok()
	me.patch(mine, `{"name":"own"}`).ok()
}

// TestMovesKeepSecrets: an experiment that mounts secrets does not move to a workspace whose policy
// forbids them.
func TestMovesKeepSecrets(t *testing.T) {
	r := newRig(t, offering)
	r.node("n1", "node-1", 8)
	me, admin := r.user("determined"), r.user("admin")
	strict := at(t, me.post("/api/v1/workspaces", `{"name":"strict"}`).ok().tree(), "workspace.id")
	to := at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", strict), `{"name":"p"}`).ok().tree(), "project.id")
	admin.put(fmt.Sprintf("%s%v/EXPERIMENT", workspacePolicies, strict), policyBody("constraints: {secrets: []}")).ok()
	id := me.create(yaml("environment: {secrets: [{name: all, key: token, env: T}]}"), `"projectId":1`)
	move := fmt.Sprintf("/api/v1/experiments/%d/move", id)
	me.post(move, fmt.Sprintf(`{"destinationProjectId":%v}`, to)).says(400, "allows no secrets", "all")
	admin.put(fmt.Sprintf("%s%v/EXPERIMENT", workspacePolicies, strict), policyBody("constraints: {secrets: [all]}")).ok()
	me.post(move, fmt.Sprintf(`{"destinationProjectId":%v}`, to)).ok()
}
