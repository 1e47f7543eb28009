package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]+)[/`]")
	madeTest  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestNamedTestsExist: a document names a test as the proof of what it says, so each test that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	have, named := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
			for _, m := range madeTest.FindAllSubmatch(text, -1) {
				have[string(m[1])] = true
			}
		case strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md": // the changelog tells of the past
			for _, m := range namedTest.FindAllSubmatch(text, -1) {
				named[string(m[1])] = append(named[string(m[1])], path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) < 100 {
		t.Errorf("the documents name %d tests only, so this test does not find them", len(named))
	}
	for name, pages := range named {
		if !have[name] {
			t.Errorf("%s: there is no test %s", strings.Join(pages, ", "), name)
		}
	}
}
