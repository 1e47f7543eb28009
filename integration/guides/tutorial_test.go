package guides

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// TestTutorial runs every command of docs/tutorial.md in its order, in one folder with the
// files that the page shows, as somebody with nothing but det and an account.
func TestTutorial(t *testing.T) {
	r := rig.Start(t)
	files := []string{"train.py", "const.yaml", "search.yaml", "cluster.py"}
	dir, commands := t.TempDir(), []string{"set -eu"}
	for _, b := range blocksOf(t, filepath.Join(r.Root, "docs", "tutorial.md")) {
		text := strings.ReplaceAll(b.text, "http://127.0.0.1:8080", r.MasterURL)
		if b.lang == "" {
			commands = append(commands, text)
			continue
		}
		if len(files) == 0 {
			t.Fatalf("a file that this test has no name for:\n%s", b.text)
		}
		if err := os.WriteFile(filepath.Join(dir, files[0]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = files[1:]
	}
	commands = append(commands, "python3 cluster.py")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(commands, "\n"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "DET_PASS=", "NO_COLOR=1", "PATH="+r.Bin+":"+os.Getenv("PATH"),
		"PYTHONPATH="+filepath.Join(r.Root, "plugins", "harness"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		t.Errorf("the page does not show %s", strings.Join(files, ", "))
	}
	rig.Holds(t, "the tutorial", string(out), "a-line", "COMPLETED", "a-line-search", "from the cluster", "adaptive_asha")
	if state, err := os.ReadFile(filepath.Join(dir, "best", "state.json")); err != nil || !strings.HasPrefix(string(state), "[") {
		t.Errorf("the best checkpoint: %q, %v", state, err)
	}
}
