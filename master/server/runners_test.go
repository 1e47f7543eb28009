package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/artifacts"
)

// TestRunnersBesideTheMasters: the master finds the runners for other platforms beside the
// configured one, and computes the hashes of each.
func TestRunnersBesideTheMasters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"det-runner", "det-runner-" + artifacts.Platform(), "det-runner-plan9-mips", "det-runner-old", "det-runner-a-b.sha256",
		"det-remover", "det-remover-plan9-mips"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := readTaskFiles(Config{RunnerPath: filepath.Join(dir, "det-runner")})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{artifacts.Platform(), "plan9-mips"}; !slices.Equal(f.platforms(), want) {
		t.Errorf("there are runners for %v, want %v", f.platforms(), want)
	}
	other := f.runners[0]
	if len(other.RemoverSHA) != 64 || len(f.runner.RemoverSHA) != 64 || other.RemoverSHA == f.runner.RemoverSHA {
		t.Errorf("the hashes of their removers are %q and %q", f.runner.RemoverSHA, other.RemoverSHA)
	}
	if len(other.SHA256) != 64 || len(other.ArchiveSHA) != 64 || other.SHA256 == f.runner.SHA256 || other.ArchiveSHA == f.runner.ArchiveSHA {
		t.Errorf("the runners' hashes are %+v and %+v", f.runner, other)
	}
	for _, name := range []string{"det-remover-plan9-mips", "det-remover"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := readTaskFiles(Config{RunnerPath: filepath.Join(dir, "det-runner")}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error of a master without %s is %v", name, err)
		}
	}
}
