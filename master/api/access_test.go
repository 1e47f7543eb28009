//go:build linux

package api

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/access.txt anew")

const accessFile = "testdata/access.txt"

// accessHeader explains the table.
const accessHeader = `# Who may call which endpoint, when roles decide (security.authz.type: rbac). A column is a role:
#   CA ClusterAdmin, WA WorkspaceAdmin, E Editor, ER EditorRestricted, EP EditorProjectRestricted, V Viewer,
#   MV ModelRegistryViewer, WC WorkspaceCreator, TC TokenCreator; none: a user without a role.
# CA, WC and TC hold for the whole cluster. The first letter of a cell is for an object in the workspace where the
# user has the role, the second one for an object in another workspace; none of the objects is the user's own.
#   y: allowed   n: refused with 403   -: not found, as if there were no such object
# A list (its line ends with "list") is allowed to all, and shows what the caller may see. An endpoint that names its
# objects in the body or the query (body, query) checks each of them; access_attack_test.go has those checks.
# TestAccess compares this table with what the API answers; go test ./master/api -run TestAccess$ -rewrite writes it.
`

// accessRoles are the columns of the table.
var accessRoles = []struct {
	short string
	role  auth.RoleID
	all   bool // the role is assigned for the whole cluster
}{
	{"CA", auth.ClusterAdmin, true}, {"WA", auth.WorkspaceAdmin, false}, {"E", auth.Editor, false}, {"ER", auth.EditorRestricted, false},
	{"EP", auth.EditorProjectRestricted, false}, {"V", auth.Viewer, false}, {"MV", auth.ModelRegistryViewer, false},
	{"WC", auth.WorkspaceCreator, true}, {"TC", auth.TokenCreator, true},
}

// give gives a role to a user, in a workspace or everywhere (0).
func (r *rig) give(role auth.RoleID, username string, workspace int) {
	r.t.Helper()
	u, err := accounts.UserByName(r.t.Context(), r.db, username)
	if err != nil {
		r.t.Fatal(err)
	}
	scope := `"scopeCluster":true`
	if workspace != 0 {
		scope = fmt.Sprintf(`"scopeWorkspaceId":%d`, workspace)
	}
	r.user("admin").post("/api/v1/roles/add-assignments", fmt.Sprintf(`{"userRoleAssignments":[{"userId":%d,"roleAssignment":{"role":{"roleId":%d},%s}}]}`, u.ID, role, scope)).ok()
}

// newUser creates a user without a role.
func (r *rig) newUser(name string) as {
	r.t.Helper()
	r.user("admin").post("/api/v1/users", fmt.Sprintf(`{"user":{"username":%q,"active":true}}`, name)).ok()
	return r.user(name)
}

// checks serves every endpoint without its handler: it answers 200 if the caller may call it.
func (r *rig) checks() (url string) {
	r.t.Helper()
	checks := r.api.router.Checks()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = checks.Listen(lis) }()
	r.t.Cleanup(func() { _ = checks.Shutdown(0); _ = lis.Close(); <-served })
	return "http://" + lis.Addr().String()
}

// accessPath is the path of an endpoint with an object of each kind in the first workspace.
func accessPath(l v1.Line, values map[string]string) string {
	params := make([]any, len(l.Names()))
	if l.Object == v1.KindUser && len(l.Names()) > 0 && l.Names()[0] == "name" {
		return l.At("determined")
	}
	for i, name := range l.Names() {
		value, known := map[string]string{"version": "1", "delivery": "1", "workload": "EXPERIMENT", "slot": "0", "pool": "default", "rank": "0", "key": "UNCATEGORIZED", "external": "unknown",
			"profile": "heap", "experiment": "theirs", "trial": "one", "group": values["groups"], "user": "2", "workspace": "1"}[name]
		switch object, has := objectOf(values, l); {
		case i == 0 && has && !known:
			value = object
		case !known:
			value = "x"
		}
		params[i] = value
	}
	return l.At(params...)
}

// accessCell asks whether a caller may call an endpoint: y, n or -.
func accessCell(t *testing.T, who as, checks string, l v1.Line, values map[string]string) string {
	t.Helper()
	path := accessPath(l, values)
	// Without its handler, because it would change something, or answer for ever.
	who.r = &rig{t: who.r.t, url: checks, client: who.r.client}
	if l.Req != nil && l.Method != "GET" && !l.Stream {
		who.r.url = values["url"] // the endpoint itself, which rejects the body
	}
	switch got := who.do(l.Method, path, "{"); got.code {
	case 401, 403:
		return "n"
	case 404:
		return "-"
	case 200, 400:
		return "y"
	default:
		t.Errorf("%s %s: %d %.200s", l.Method, path, got.code, got.body)
		return "?"
	}
}

// TestAccess tries every endpoint with every role, and compares the answers with the table. An
// endpoint without a line fails.
func TestAccess(t *testing.T) {
	dir := &tasks.Directory{}
	opener, err := proxy.New(proxy.Origins{Master: "http://127.0.0.1:1", URL: "http://127.0.0.1:2"}, proxy.Rules{}, dir,
		func(context.Context, string) (string, int, error) { return "", 0, nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := newRoleRig(t, func(c *Config) { c.Proxy = opener })
	dir.DB, dir.Roles = r.db, r.api.cfg.Roles
	r.give(auth.WorkspaceAdmin, "determined", 1)
	values := ours(t, r)
	admin := r.user("admin")
	ext := at(t, r.user("determined").putExperiment("theirs"), "experiment.id")
	r.user("determined").putTrial(ext, "one")
	r.node("n0", "node-0", 2)
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	values["reservations"] = fmt.Sprint(at(t, admin.post(reservePath, `{"workspaceId":1,"slots":1,`+within(1, 2)+"}").ok().tree(), "id"))
	values["groups"] = fmt.Sprint(at(t, admin.post("/api/v1/groups", `{"name":"team"}`).ok().tree(), "group.groupId"))
	values["tokens"] = fmt.Sprint(at(t, admin.post("/api/v1/tokens", `{"description":"mine"}`).ok().tree(), "tokenId"))
	var session int
	if err := r.db.QueryRow(t.Context(), `SELECT max(s.id) FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.username = 'admin' AND NOT s.is_token AND s.allocation_id IS NULL`).Scan(&session); err != nil {
		t.Fatal(err)
	}
	values["sessions"] = fmt.Sprint(session)
	values["users"], values["agents"], values["config-policies"], values["url"] = "2", "node-0", "1", r.url
	checks := r.checks()
	type column struct {
		name         string
		here, beside as
	}
	var columns []column
	for _, c := range accessRoles {
		name := strings.ToLower(c.short)
		k := column{c.short, r.newUser("here-" + name), r.newUser("beside-" + name)}
		r.give(c.role, "here-"+name, map[bool]int{false: 1}[c.all])
		r.give(c.role, "beside-"+name, map[bool]int{false: theirs}[c.all])
		columns = append(columns, k)
	}
	nobody := r.newUser("nobody")

	var lines []string
	for _, route := range r.api.router.Routes() {
		l := route.Line
		if l.Access == v1.Public {
			lines = append(lines, fmt.Sprintf("%-6s %-62s anybody", l.Method, l.Path))
			continue
		}
		cells := make([]string, 0, len(columns)+1)
		for _, k := range columns {
			cells = append(cells, accessCell(t, k.here, checks, l, values)+accessCell(t, k.beside, checks, l, values))
		}
		none := accessCell(t, nobody, checks, l, values)
		cells = append(cells, none)
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-6s %-62s %s %s", l.Method, l.Path, strings.Join(cells, " "), accessNote(l)), " "))
		checkAccessOf(t, l, route.Loads, cells)
	}
	slices.SortFunc(lines, func(a, b string) int {
		return cmp.Or(strings.Compare(strings.TrimLeft(a[7:], "/"), strings.TrimLeft(b[7:], "/")), strings.Compare(a, b)) // one order of equal rights
	})
	head := fmt.Sprintf("%-69s %s\n", "#", strings.Join(func() (names []string) {
		for _, c := range accessRoles {
			names = append(names, fmt.Sprintf("%-2s", c.short))
		}
		return append(names, "none")
	}(), " "))
	got := accessHeader + head + strings.Join(lines, "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(accessFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(accessFile)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		want[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range strings.Lines(got) {
		if line = strings.TrimSuffix(line, "\n"); !want[line] {
			t.Errorf("%s does not have this line:\n%s", accessFile, line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("%s has a line that the API does not follow:\n%s", accessFile, line)
	}
}

// accessNote describes where an endpoint names its objects, if its path does not.
func accessNote(l v1.Line) string {
	switch {
	case l.List:
		return "list"
	case l.NamedIn == v1.Body:
		return "body"
	case l.NamedIn == v1.Query:
		return "query"
	case l.Object == v1.KindOwn:
		return "own"
	}
	return ""
}

// checkAccessOf checks two rules for every endpoint: a user without a role in the object's workspace
// gets 404, and a user who may only view it changes nothing.
func checkAccessOf(t *testing.T, l v1.Line, loads bool, cells []string) {
	t.Helper()
	name := l.Method + " " + l.Path
	if loads && !auth.Global(l.Object) && l.Access != v1.ByTasks && l.Access != v1.ByAdmins {
		for i, c := range accessRoles {
			if c.role != auth.ClusterAdmin && cells[i][1] != '-' {
				t.Errorf("%s: a user with the role %s in another workspace may %q", name, c.short, cells[i][1:])
			}
		}
		if none := cells[len(cells)-1]; none != "-" {
			t.Errorf("%s: a user without a role may %q", name, none)
		}
	}
	viewer := slices.IndexFunc(accessRoles, func(c struct {
		short string
		role  auth.RoleID
		all   bool
	}) bool {
		return c.role == auth.Viewer
	})
	if cells[viewer][0] == 'y' && l.Verb != v1.View && l.Object != v1.KindOwn && l.NamedIn == v1.Path && l.Path != v1.PutTemplate.Path {
		t.Errorf("%s: a Viewer may %s", name, l.Verb)
	}
}

// TestTokensThatOnlyRead: an access token that may only read changes nothing. Of the endpoints whose method is not GET it may
// call those that only read.
func TestTokensThatOnlyRead(t *testing.T) {
	reads := map[string]bool{"POST /runs": true, "POST /experiments-search": true, "POST /experiments/:id/file": true, "POST /groups/search": true,
		"POST /roles/search": true, "POST /roles/search/by-ids": true, "POST /roles/search/by-assignability": true,
		"POST //mlflow/api/2.0/mlflow/runs/search": true, "POST //mlflow/api/2.0/mlflow/experiments/search": true,
		"POST //mlflow/api/2.0/mlflow/logged-models/search": true, "POST //mlflow/api/2.0/mlflow/registered-models/get-latest-versions": true}
	r := newRig(t)
	for _, route := range r.api.router.Routes() {
		if route.Method == "GET" || route.Access == v1.Public || route.Access == v1.BySCIM {
			continue
		}
		name := route.Method + " " + route.Path
		for _, who := range []auth.Who{{UserID: 9, Admin: true, ReadOnly: true, AccessToken: true}, {UserID: 9, ReadOnly: true, AccessToken: true, AllocationID: "a"}} {
			if may := checkAccess(route, who) == nil; may && !reads[name] {
				t.Errorf("an access token that may only read may %s", name)
			} else if !may && reads[name] && who.Admin {
				t.Errorf("an access token that may only read may not %s", name)
			}
		}
	}
	_, reader := tokened(t, r.user("determined"), `{"readOnly":true}`)
	reader.post("/api/v1/workspaces/1/pin", "").says(403, "may only read")
}

// TestEveryVerbNeedsAPermission: the table of permissions has a row for the object and verb of every
// endpoint; otherwise nobody could call it.
func TestEveryVerbNeedsAPermission(t *testing.T) {
	r := newRig(t)
	everything := auth.NewGrants([][2]int{{int(auth.ClusterAdmin), 0}})
	for _, route := range r.api.router.Routes() {
		if route.Access == v1.Public || route.Object == v1.KindOwn || route.Access == v1.ByTasks {
			continue
		}
		if !auth.ScopeOf(auth.Who{UserID: 9, Grants: &everything}, route.Verb, route.Object).All {
			t.Errorf("%s %s: no role allows to %s a %s; add a line to master/auth/roles.go", route.Method, route.Path, route.Verb, route.Object)
		}
	}
}
