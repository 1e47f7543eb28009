//go:build linux

package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/auth"
)

// TestAccessOfTasks is the table of the paths that the table of endpoints does not have: programs of
// tasks and their ports, tunnels, links and the tasks' origin, for each role in the workspace of the
// task and beside it. Who may see a task of others and not open it gets 403, and who may not see it
// gets what everybody gets for a task that does not exist.
func TestAccessOfTasks(t *testing.T) {
	v := proxyRigOf(t, newRoleRig)
	v.give(auth.WorkspaceAdmin, "determined", 1)
	beside := int(at(t, v.user("admin").post("/api/v1/workspaces", `{"name":"beside"}`).ok().tree(), "workspace.id").(float64))
	notebook, shell, command := v.open("determined", "notebooks"), v.open("determined", "shells"), v.withPorts("determined")
	unknown := strings.Repeat("0", 8) + notebook.id[8:]
	tunnel := func(path string) func(who as) int {
		return func(who as) int {
			ws, resp, err := dialWS(t, v.url+path, http.Header{"Authorization": {who.token}}, nil)
			if err == nil {
				_ = ws.Close()
				return http.StatusOK
			}
			if resp == nil {
				t.Fatal(err)
			}
			return resp.StatusCode
		}
	}
	page := func(path string) func(who as) int { return func(who as) int { return who.get(path).code } }
	doors := map[string]func(who as) int{
		"a notebook":          page("/proxy/" + notebook.id + "/"),
		"its socket":          tunnel("/proxy/" + notebook.id + "/ws"),
		"a port":              page("/proxy/" + command.id + ":8080/"),
		"a port of bytes":     tunnel("/proxy/" + command.id + ":9000/"),
		"an undeclared port":  page("/proxy/" + command.id + ":9001/"),
		"a terminal":          tunnel("/api/v1/detent/shells/" + shell.id + "/terminal"),
		"a link":              func(who as) int { return who.post("/api/v1/detent/tasks/"+notebook.id+"/link", "").code },
		"a link to a command": func(who as) int { return who.post("/api/v1/detent/tasks/"+command.id+"/link", "").code },
		"a browser": func(who as) int {
			return v.browser("").ask("GET", v.url+"/proxy/"+notebook.id+"/", map[string]string{"Cookie": "auth=" + strings.TrimPrefix(who.token, "Bearer "),
				"Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, "").code
		},
	}
	try := func(name string, who as, want int) {
		for door, open := range doors {
			got, want := open(who), want
			if want == http.StatusOK && door == "an undeclared port" {
				want = http.StatusNotFound
			}
			if got != want {
				t.Errorf("%s, %s: %d, want %d", name, door, got, want)
			}
		}
		// The key alone opens a shell, without a session.
		if got := tunnel("/proxy/" + shell.id + "/")(who); got != http.StatusOK {
			t.Errorf("%s, a shell: %d", name, got)
		}
	}
	try("the owner", v.user("determined"), http.StatusOK)
	for _, c := range accessRoles {
		name := strings.ToLower(c.short)
		here, there := v.newUser("here-"+name), v.newUser("beside-"+name)
		v.give(c.role, "here-"+name, map[bool]int{false: 1}[c.all])
		v.give(c.role, "beside-"+name, map[bool]int{false: beside}[c.all])
		want := map[auth.RoleID]int{auth.ClusterAdmin: http.StatusOK, auth.ModelRegistryViewer: http.StatusNotFound, auth.WorkspaceCreator: http.StatusNotFound,
			auth.TokenCreator: http.StatusNotFound}[c.role]
		if want == 0 {
			want = http.StatusForbidden
		}
		try(c.short+" here", here, want)
		if !c.all {
			try(c.short+" beside", there, http.StatusNotFound)
		}
	}
	nobody := v.newUser("nobody")
	try("nobody", nobody, http.StatusNotFound)
	hidden, absent := nobody.get("/proxy/"+notebook.id+"/"), nobody.get("/proxy/"+unknown+"/")
	if a, b := strings.ReplaceAll(string(hidden.body), notebook.id, "ID"), strings.ReplaceAll(string(absent.body), unknown, "ID"); a != b || strings.Contains(a, "determined") {
		t.Errorf("a hidden task: %s\nand one that does not exist: %s", a, b)
	}
}

// TestARoleTakenAwayEndsTunnels: the owner's tunnels, sockets and pages end when the role does, also
// those at the tasks' origin, which have a cookie from before.
func TestARoleTakenAwayEndsTunnels(t *testing.T) {
	v := proxyRigOf(t, newRoleRig)
	v.give(auth.Editor, "determined", 1)
	notebook, shell, command := v.open("determined", "notebooks"), v.open("determined", "shells"), v.withPorts("determined")
	owner := v.user("determined")
	open := map[string]*websocket.Conn{}
	for what, path := range map[string]string{"a socket of a notebook": notebook.id + "/ws", "a port of bytes": command.id + ":9000/", "a shell with a session": shell.id + "/"} {
		ws, _, err := dialWS(t, v.url+"/proxy/"+path, http.Header{"Authorization": {owner.token}}, nil)
		if err != nil {
			t.Fatal(what, err)
		}
		defer ws.Close()
		open[what] = ws
	}
	link := at(t, owner.post("/api/v1/detent/tasks/"+notebook.id+"/link", "").ok().tree(), "url").(string)
	guest := v.browser("")
	if a := guest.goTo(link); a.code != http.StatusOK {
		t.Fatalf("%d %s", a.code, a.body)
	}
	late := at(t, owner.post("/api/v1/detent/tasks/"+notebook.id+"/link", "").ok().tree(), "url").(string)
	v.exec(`DELETE FROM role_assignments WHERE user_id = 2`)
	v.api.auth.RolesChanged()
	for what, ws := range open {
		if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ws.ReadMessage(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s stays open: %v", what, err)
		}
	}
	if a := guest.goTo(v.tasks + "/proxy/" + notebook.id + "/"); a.code == http.StatusOK {
		t.Errorf("the cookie of the notebook opens it: %d", a.code)
	}
	stale := v.browser("")
	if a := stale.goTo(late); a.code == http.StatusOK && strings.Contains(string(a.body), "program of") {
		t.Errorf("a link from before opens it: %s", a.body)
	}
	owner.get("/proxy/" + notebook.id + "/").is(http.StatusNotFound)
}
