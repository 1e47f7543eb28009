package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestAccessGuide runs every command of docs/operate/access.md in its order, as an administrator of a cluster without
// roles, and switches roles on where the page says so. There the master gets the variable of
// `det deploy local cluster-up --initial-user-password`, and the later commands sign in with this password.
func TestAccessGuide(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	r, dir := rig.NewOwn(t, "access")
	config := rig.MasterConfig(dir)
	r.StartCluster(t, dir, local.Options{Name: "access", Master: local.Master{Config: config}})
	as := func(user string, args ...string) (string, int) {
		t.Helper()
		out, stderr, code := r.Run(t, []string{"DET_USER=" + user, "NO_COLOR=1"}, args...)
		return out + stderr, code
	}
	small := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(small, []byte("resources: {slots_per_trial: 1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "bob", "eve"} {
		r.NewUser(t, name, "")
	}
	for _, args := range [][]string{{"workspace", "create", "vision"}} {
		if out, code := as("admin", args...); code != 0 {
			t.Fatalf("det %s: exit %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	sees := func(user string, want bool) {
		t.Helper()
		if out, code := as(user, "workspace", "describe", "vision"); (code == 0) != want {
			t.Errorf("%s sees the workspace: %v, want %v\n%s", user, code == 0, want, out)
		}
	}
	if out, code := as("ada", "template", "set", "of-ada", small); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	changes := func(user string, want bool) {
		t.Helper()
		if out, code := as(user, "template", "set", "of-ada", small); (code == 0) != want {
			t.Errorf("%s changes ada's template: %v, want %v\n%s", user, code == 0, want, out)
		}
	}
	changes("eve", false)
	said, home, roles, password := "", t.TempDir(), false, ""
	for _, b := range blocksOf(t, filepath.Join(r.Root, "docs", "operate", "access.md")) {
		if b.heading == "Day to day" && !roles {
			sees("eve", true) // roles have no effect yet
			roles, password = true, "a secret of ours"
			_, err := local.Up(t.Context(), local.Options{Name: "access", StateDir: r.Cluster.StateDir(), Master: local.Master{Binary: filepath.Join(r.Bin, "det-master"),
				Runner: filepath.Join(r.Bin, "det-runner"), Env: map[string]string{"DETENT_HARNESS_PATH": filepath.Join(r.Root, "plugins", "harness"),
					local.InitialPassword: password}, Config: config + "security: {authz: {type: rbac}}\n"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.SignIn(t.Context(), "admin"); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("a blank password of the user who has an initial one: %v", err)
			}
			sees("ada", true)
			sees("eve", false)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", b.text)
		cmd.Env = append(os.Environ(), "HOME="+home, "DET_MASTER="+r.MasterURL, "DET_USER=admin", "DET_PASS="+password, "NO_COLOR=1", "PATH="+r.Bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		t.Logf("%s%s", b.text, out)
		if err != nil {
			t.Fatal(err)
		}
		said += string(out)
		if strings.Contains(b.text, "--everybody") {
			changes("eve", strings.Contains(b.text, " assign-role"))
		}
	}
	if !roles {
		t.Error("the page has no section Day to day")
	}
	rig.Holds(t, "the guide", said, "No Longer Seen", "No Longer Changed", "Editor", "Viewer", "ada", "bob")
	sees("bob", true)
	sees("eve", false) // her role was taken away again
}
