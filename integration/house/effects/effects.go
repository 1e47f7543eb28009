// Package effects holds tables of flags and keys to the tests that see what they do. It is for tests.
package effects

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Row has the names of flags or keys, separated by spaces, and the tests that see their effect: "folder TestName …,
// folder TestName …", behind Refused, NoEffect or nothing.
type Row [2]string

// What a row can say besides its tests.
const (
	Refused  = "refused: "                    // the tests see that it is rejected
	NoEffect = "says that it has no effect: " // the tests see that
)

// Check compares a table with the names that there are: each needs a row.
func Check(t *testing.T, root string, names []string, rows []Row) {
	t.Helper()
	declared, rowOf := map[string]map[string]bool{}, map[string]string{}
	for _, r := range rows {
		named, tests := r[0], r[1]
		for name := range strings.FieldsSeq(named) {
			if rowOf[name] != "" {
				t.Errorf("%s has two rows", name)
			}
			rowOf[name] = tests
			if !slices.Contains(names, name) {
				t.Errorf("there is a row for %s, and no such name", name)
			}
		}
		Exist(t, root, named, strings.TrimPrefix(strings.TrimPrefix(tests, Refused), NoEffect), declared)
	}
	for _, name := range names {
		if rowOf[name] == "" {
			t.Errorf("%s has no row: name the test that sees its effect", name)
		}
	}
}

// Exist checks that tests exist. tests is "folder TestName …, folder TestName …"; declared keeps the tests of folders.
func Exist(t *testing.T, root, of, tests string, declared map[string]map[string]bool) {
	t.Helper()
	for one := range strings.SplitSeq(tests, ", ") {
		words := strings.Fields(one)
		if len(words) == 0 {
			continue
		}
		if declared[words[0]] == nil {
			declared[words[0]] = testsIn(t, filepath.Join(root, words[0]))
		}
		if len(words) == 1 {
			t.Errorf("%s: no test of %s is named", of, words[0])
		}
		for _, name := range words[1:] {
			if !declared[words[0]][name] {
				t.Errorf("%s: %s has no %s", of, words[0], name)
			}
		}
	}
}

var declaration = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)|^(?:async )?def (test_\w+)\(`)

// testsIn are the tests in the files of a folder.
func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") && !strings.HasPrefix(f.Name(), "test_") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			found[string(m[1])+string(m[2])] = true
		}
	}
	return found
}
