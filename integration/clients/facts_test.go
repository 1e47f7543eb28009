package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// TestListsOfTheirNames: the lists of Determined's verbs and names from which docs/compat.md is
// made equal those of the unmodified package.
func TestListsOfTheirNames(t *testing.T) {
	python := rig.DeterminedPython(t)
	packages, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(python)), "lib", "python3*", "site-packages"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("the package is in %v: %v", packages, err)
	}
	const lists = "../../cli/internal/compat/testdata/"
	for list, args := range map[string][]string{
		"verbs.txt": {"-W", "ignore", lists + "verbs.py"},
		"names.txt": {lists + "names.py", packages[0]},
	} {
		out, err := exec.CommandContext(t.Context(), python, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if have, err := os.ReadFile(lists + list); err != nil || string(have) != string(out) {
			t.Errorf("%s is not what the package has (%v); write the output of %v to it", list, err, args)
		}
	}
}
