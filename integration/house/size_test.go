package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The rule for sizes: a package, which is one folder, has at most maxLines lines of Go in at most maxFiles
// files, and a type has at most maxMethods methods. Tests, comments and empty lines do not count. Before you
// split what has grown too large, look for code that does the same thing in two ways.
const (
	maxLines   = 6_000
	maxFiles   = 45
	maxMethods = 80
)

// totalBudget is how many lines of Go all packages of our programs may have together. Packages that only tests
// import are tests.
const totalBudget = 157_800

// These packages, folders and types exceed the rule, and may have as much as stands here. These numbers only
// shrink, and nothing new comes here: TestSizes fails for a number that is no longer needed, or that is more
// than a tenth above what there is.
var (
	linesAbove   = map[string]int{}
	filesAbove   = map[string]int{}
	methodsAbove = map[string]int{}
)

// TestSizes holds packages, folders and types to the rule.
func TestSizes(t *testing.T) {
	s := sizesOf(t)
	hold(t, "lines of Go", maxLines, s.lines, linesAbove)
	hold(t, "Go files", maxFiles, s.files, filesAbove)
	hold(t, "methods", maxMethods, s.methods, methodsAbove)
	total := 0
	for dir, n := range s.lines {
		if s.inPrograms[dir] {
			total += n
		}
	}
	if total > totalBudget {
		t.Errorf("there are %d lines of Go, and the budget is %d", total, totalBudget)
	}
	t.Logf("%d lines of Go", total)
}

// hold compares sizes with the maximum, or with the number that a name has in above.
func hold(t *testing.T, unit string, maximum int, sizes, above map[string]int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		n, limit, allowed := sizes[name], maximum, above[name]
		if allowed > 0 {
			limit = allowed
		}
		switch {
		case n > limit:
			t.Errorf("%s has %d %s, and may have %d", name, n, unit, limit)
		case allowed > 0 && n <= maximum:
			t.Errorf("%s has %d %s, which keeps to the rule of %d: remove its number %d", name, n, unit, maximum, allowed)
		case allowed > n+n/10:
			t.Errorf("%s has only %d %s: lower its number %d", name, n, unit, allowed)
		}
	}
	for name := range above {
		if sizes[name] == 0 {
			t.Errorf("%s may have %d %s, and does not exist: remove its number", name, above[name], unit)
		}
	}
}

// sizes are what the rule limits: lines and files by folder, and methods by type, as in master/api.API.
type sizes struct {
	lines, files, methods map[string]int
	inPrograms            map[string]bool // folders of programs and of the packages that they import
}

// sizesOf counts the files of each package without its tests.
func sizesOf(t *testing.T) sizes {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,Name,Deps,ImportPath,GoFiles,CgoFiles", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := sizes{lines: map[string]int{}, files: map[string]int{}, methods: map[string]int{}, inPrograms: map[string]bool{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, Name, ImportPath   string
			Deps, GoFiles, CgoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return s
		} else if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.ToSlash(dir)
		if p.Name == "main" {
			for _, path := range append(p.Deps, p.ImportPath) {
				if _, folder, ours := strings.Cut(path, module+"/"); ours {
					s.inPrograms[folder] = true
				}
			}
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.files[dir]++
			s.lines[dir] += linesOfCode(text)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					s.methods[dir+"."+receiver(f.Recv.List[0].Type)]++
				}
			}
		}
	}
}

// receiver returns the name of the type of a receiver: T for T, *T and *T[K].
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.ParenExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
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
