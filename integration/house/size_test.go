package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// budgets are how many lines of Go each part may have, with the packages below it; tests,
// comments and empty lines do not count. Before you raise a budget, look for code that does the same
// thing in two ways.
var budgets = map[string]int{
	"cli":              16_150,
	"docs":             200,   // the reference of the Python package, as pages of the master
	"integration":      4_290, // the rig of the tests, the repeats of failed ones and the tables of flags and keys among them
	"jobspecs":         1_330,
	"master":           100,
	"master/api":       19_180,
	"master/auth":      470,
	"master/budget":    150,
	"master/client":    2600,
	"master/cluster":   3400,
	"master/control":   5_710,
	"master/decimals":  60,
	"master/discovery": 351,
	"master/expconf":   6_300,
	"master/fault":     100,
	"master/find":      1100,
	"master/grant":     100,
	"master/headers":   150,
	"master/keep":      200,
	"master/launch":    2_350,
	"master/leftover":  200,
	"master/lifecycle": 750,
	"master/logpolicy": 100,
	"master/memory":    100,
	"master/mountinfo": 50,
	"master/names":     100,
	"master/objects":   1_020,
	"master/optional":  50,
	"master/pool":      1350,
	"master/proxy":     1_970,
	"master/quote":     50,
	"master/regex":     100,
	"master/risks":     219,
	"master/sched":     4210, // the simulator with the rules of others among them
	"master/schedule":  150,
	"master/roots":     60,
	"master/scim":      800,
	"master/search":    2_730,
	"master/secrets":   700,
	"master/server":    4_900, // servertest, the master of clients' tests, among them
	"master/signin":    900,
	"master/sleep":     50,
	"master/spelling":  100,
	"master/spool":     250,
	"master/store":     17_040,
	"master/task":      1_490,
	"master/trial":     100,
	"master/tunnel":    200,
	"master/terminal":  380,
	"master/updates":   250,
	"master/v1":        5_570,
	"master/webhook":   700,
	"nomad":            50,
	"nomad/local":      3_040,
	"nomad/release":    900,
	"nomad/servers":    3900,
	"plugins/gpu":      2400,
	"plugins/remover":  690,
	"plugins/runner":   9_850,
	"webui":            50,
}

// totalBudget is the budget of all parts together.
const totalBudget = 131_000

// TestSizes holds the parts to their budgets.
func TestSizes(t *testing.T) {
	sizes := map[string]int{}
	total := 0
	for dir, n := range linesOf(t) {
		part := partOf(dir)
		sizes[part] += n
		total += n
	}
	for _, part := range slices.Sorted(maps.Keys(sizes)) {
		if n, budget := sizes[part], budgets[part]; n > budget {
			t.Errorf("%s has %d lines of Go, and its budget is %d", part, n, budget)
		}
	}
	for part := range budgets {
		if sizes[part] == 0 {
			t.Errorf("there is a budget for %s, and no such part", part)
		}
	}
	if total > totalBudget {
		t.Errorf("there are %d lines of Go, and the budget is %d", total, totalBudget)
	}
	t.Logf("%d lines of Go", total)
}

// partOf returns the part of the repository to which a package belongs: master/api, plugins/runner, cli.
func partOf(dir string) string {
	words := strings.Split(filepath.ToSlash(dir), "/")
	switch words[0] {
	case "master", "plugins", "nomad":
		return strings.Join(words[:min(2, len(words))], "/")
	}
	return words[0]
}

// linesOfCode counts lines that are neither empty nor a comment.
func linesOfCode(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// linesOf counts the lines of each package's files without its tests, by its folder.
func linesOf(t *testing.T) map[string]int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,GoFiles,CgoFiles", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir               string
			GoFiles, CgoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines[dir] += linesOfCode(text)
		}
	}
}
