package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestTeamsGuide runs every command of docs/teams.md in its order on a cluster with roles, as the
// person who leads the team; an administrator has done what the page expects.
func TestTeamsGuide(t *testing.T) {
	turn.First(t)
	t.Parallel()
	r, dir := rig.NewOwn(t, "teams")
	r.StartCluster(t, dir, local.Options{Name: "teams", Master: local.Master{Config: rig.MasterConfig(dir) + "security: {authz: {type: rbac}}\n"}})
	as := func(user, password string, args ...string) string {
		t.Helper()
		out, stderr, code := r.Run(t, []string{"DET_USER=" + user, "DET_PASS=" + password, "NO_COLOR=1"}, args...)
		if code != 0 {
			t.Fatalf("%s: det %s: exit %d\n%s%s", user, strings.Join(args, " "), code, out, stderr)
		}
		return out
	}
	const password = "a long one for the guide"
	for _, name := range []string{"ada", "ben", "eve"} {
		as("admin", "", "user", "create", name, "--password", password)
	}
	as("admin", "", "workspace", "create", "vision")
	as("admin", "", "rbac", "assign-role", "WorkspaceAdmin", "-w", "vision", "--username-to-assign", "ada")

	files := []string{"defaults.yaml", "policy.yaml", "const.yaml", "train.py"}
	work, homes := t.TempDir(), map[string]string{"ada": t.TempDir(), "ben": t.TempDir()}
	said, left := "", ""
	for _, b := range blocksOf(t, filepath.Join(r.Root, "docs", "teams.md")) {
		text := strings.ReplaceAll(b.text, "http://127.0.0.1:8080", r.MasterURL)
		if b.lang != "" {
			if len(files) == 0 {
				t.Fatalf("a file that this test has no name for:\n%s", b.text)
			}
			rig.Write(t, work, files[0], text)
			files = files[1:]
			continue
		}
		home := homes["ada"]
		if b.heading == "A member works" {
			home = homes["ben"]
		}
		if b.heading == "When somebody leaves" {
			rig.Holds(t, "what a viewer sees", as("eve", password, "experiment", "list", "--all"), "a-line")
			rig.Holds(t, "a member's configuration", as("eve", password, "experiment", "config", "1"), "max_restarts: 2", "DATA=********")
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", text)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "HOME="+home, "DET_MASTER="+r.MasterURL, "DET_PASS="+password, "NO_COLOR=1", "PATH="+r.Bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		t.Logf("%s%s", text, out)
		if err != nil {
			t.Fatal(err)
		}
		said, left = said+string(out), string(out)
	}
	rig.Holds(t, "the guide", said, "WorkspaceAdmin", "Editor", "Viewer", "baselines", "a-line", "max_restarts", `set by the config policy of workspace "vision"`, "failures")
	if len(files) > 0 {
		t.Errorf("the page does not show %s", strings.Join(files, ", "))
	}
	if strings.Contains(left, "| Editor") || strings.Contains(left, "| Viewer") || !strings.Contains(left, "| WorkspaceAdmin") {
		t.Errorf("the members at the end:\n%s", left)
	}
	for _, name := range []string{"ben", "eve"} {
		if out := as(name, password, "experiment", "list", "--all"); strings.Contains(out, "a-line") {
			t.Errorf("%s still sees the team's experiments:\n%s", name, out)
		}
	}
}
