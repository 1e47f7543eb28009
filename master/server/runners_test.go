package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/api"
)

// TestRunnersBesideTheMasters: the runners for other platforms lie beside the one that is
// named, and each has hashes of its own.
func TestRunnersBesideTheMasters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"det-runner", "det-runner-" + api.RunnerTarget(), "det-runner-plan9-mips", "det-runner-old", "det-runner-a-b.sha256"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := readArtifacts(Config{RunnerPath: filepath.Join(dir, "det-runner")})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{api.RunnerTarget(), "plan9-mips"}; !slices.Equal(a.platforms(), want) {
		t.Errorf("there are runners for %v, want %v", a.platforms(), want)
	}
	other := a.runners[0]
	if len(other.SHA256) != 64 || len(other.ArchiveSHA) != 64 || other.SHA256 == a.runner.SHA256 || other.ArchiveSHA == a.runner.ArchiveSHA {
		t.Errorf("their hashes are %+v and %+v", a.runner, other)
	}
}
