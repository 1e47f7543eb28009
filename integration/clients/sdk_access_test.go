package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/master/v1"
)

const sdkAccessHeader = `# Which calls of the Python SDK succeed, when roles decide (security.authz.type: rbac). A column is a role:
#   CA ClusterAdmin, WA WorkspaceAdmin, E Editor, ER EditorRestricted, EP EditorProjectRestricted, V Viewer,
#   MV ModelRegistryViewer, WC WorkspaceCreator, TC TokenCreator; none: a user without a role.
# CA, WC and TC hold for the whole cluster. The first letter of a cell is for a user with the role in the workspace of the
# objects, the second one for a user with the role in another workspace; none of the objects is the user's own.
#   y: the call succeeds, and a list has the object   n: ForbiddenException   -: NotFoundException, or a list without the object
# TestAccessOfTheSDK compares this table with what the SDK does; go test ./integration/clients -run TestAccessOfTheSDK -rewrite writes it.
`

// sdkRoles are the columns of the table.
var sdkRoles = []struct {
	short string
	role  auth.RoleID
	all   bool // the role is assigned for the whole cluster
}{
	{"CA", auth.ClusterAdmin, true}, {"WA", auth.WorkspaceAdmin, false}, {"E", auth.Editor, false}, {"ER", auth.EditorRestricted, false},
	{"EP", auth.EditorProjectRestricted, false}, {"V", auth.Viewer, false}, {"MV", auth.ModelRegistryViewer, false},
	{"WC", auth.WorkspaceCreator, true}, {"TC", auth.TokenCreator, true},
}

// TestAccessOfTheSDK calls the Python SDK with every role, in the workspace of the objects and beside it, and
// compares what succeeds with a table.
func TestAccessOfTheSDK(t *testing.T) {
	t.Parallel()
	m := servertest.StartWithRoles(t, nil)
	admin := m.Client("admin")
	give := func(username string, role auth.RoleID, workspace int) {
		t.Helper()
		u, err := admin.CreateUser(t.Context(), v1.User{Username: username, Active: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		if role == 0 {
			return
		}
		a := v1.UserRoleAssignment{UserID: u.ID, RoleAssignment: v1.RoleAssignment{Role: v1.Role{RoleID: int(role)}}}
		if workspace == 0 {
			a.RoleAssignment.ScopeCluster = true
		} else {
			a.RoleAssignment.ScopeWorkspaceID = &workspace
		}
		if _, err := client.Send(t.Context(), admin, v1.AssignRoles, v1.AssignRolesRequest{UserRoleAssignments: []v1.UserRoleAssignment{a}}); err != nil {
			t.Fatal(username, err)
		}
	}
	space := map[string]int{}
	for _, name := range []string{"here", "beside"} {
		resp, err := client.Send(t.Context(), admin, v1.CreateWorkspace, v1.PostWorkspaceRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		space[name] = resp.Workspace.ID
	}
	give("owner", auth.WorkspaceAdmin, space["here"])
	objects := sdkObjects(t, m, m.Client("owner"), space["here"])
	give("none", 0, 0)
	users := []string{"none"}
	for _, c := range sdkRoles {
		name := strings.ToLower(c.short)
		give("here-"+name, c.role, map[bool]int{false: space["here"]}[c.all])
		users = append(users, "here-"+name)
		if !c.all {
			give("beside-"+name, c.role, space["beside"])
			users = append(users, "beside-"+name)
		}
	}
	table, order := sdkCalls(t, m.URL, users, objects)

	var b strings.Builder
	fmt.Fprintf(&b, "%s%-32s", sdkAccessHeader, "#")
	for _, c := range sdkRoles {
		fmt.Fprintf(&b, " %-2s", c.short)
	}
	b.WriteString(" none\n")
	for _, call := range order {
		fmt.Fprintf(&b, "%-32s", call)
		for _, c := range sdkRoles {
			name := strings.ToLower(c.short)
			fmt.Fprintf(&b, " %-2s", table[call]["here-"+name]+table[call]["beside-"+name])
			if there := table[call]["beside-"+name]; there == "y" && call != "list_users" && c.role != auth.ClusterAdmin {
				t.Errorf("%s: who has the role %s in another workspace may", call, c.short)
			}
		}
		fmt.Fprintf(&b, " %s\n", table[call]["none"])
	}
	file := filepath.Join("testdata", "sdk_access.txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the SDK does\n%s\n%s has\n%s", b.String(), file, want)
	}
}

// sdkObjects creates the objects that the calls are about, in the name of the workspace's admin.
func sdkObjects(t *testing.T, m *servertest.Master, owner *client.Client, workspace int) map[string]any {
	t.Helper()
	resp, err := client.Send(t.Context(), owner, v1.CreateProject, v1.PostProjectRequest{WorkspaceID: workspace, Name: "work"}, workspace)
	if err != nil {
		t.Fatal(err)
	}
	config, active := "name: theirs\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {batches: 200}}\nmax_restarts: 0\n", true
	made, err := owner.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &config, Activate: &active, ProjectID: &resp.Project.ID,
		ModelDefinition: []v1.File{{Path: "train.py", Type: 48, Mode: 0o100644, Content: []byte("print(1)\n")}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Ended(made.Experiment.ID)
	trials, err := client.List(t.Context(), owner, v1.ListTrials, client.Page{}, nil, made.Experiment.ID)
	if err != nil || len(trials) != 1 {
		t.Fatal(trials, err)
	}
	checkpoint := servertest.CheckpointOf(trials[0].ID, 200)
	if _, err := client.Send(t.Context(), owner, v1.CreateModel, v1.PostModelRequest{Name: "theirs", WorkspaceID: &workspace}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), owner, v1.CreateModelVersion, v1.PostModelVersionRequest{CheckpointUUID: checkpoint}, "theirs"); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"experiment": made.Experiment.ID, "trial": trials[0].ID, "checkpoint": checkpoint, "model": "theirs", "workspace": "here", "project": "work"}
}

// sdkCalls runs the script, and returns its table with the calls in their order.
func sdkCalls(t *testing.T, master string, users []string, objects map[string]any) (table map[string]map[string]string, order []string) {
	t.Helper()
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(map[string]any{"master": master, "users": users, "objects": objects})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(rig.PythonOf(t, "tasks"), "python3"), filepath.Join(root, "integration", "clients", "testdata", "sdk_access.py"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONPATH=" + filepath.Join(root, "plugins", "harness"), "TMPDIR=" + t.TempDir()}
	cmd.Stdin = bytes.NewReader(given)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out, &table); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names := json.NewDecoder(bytes.NewReader(out))
	for depth := 0; names.More() || depth > 0; {
		token, err := names.Token()
		if err != nil {
			break
		}
		switch word := token.(type) {
		case json.Delim:
			depth += map[json.Delim]int{'{': 1, '}': -1}[word]
		case string:
			if depth == 1 {
				order = append(order, word)
			}
		}
	}
	for call, row := range table {
		for user, got := range row {
			if strings.HasPrefix(got, "?") {
				t.Errorf("%s as %s: %s", call, user, got)
			}
		}
	}
	return table, order
}
