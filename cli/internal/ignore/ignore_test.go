package ignore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/ignore"
)

// ignored asks about a path and, as a walk does, about its folders first. A
// folder's path ends in a slash.
func ignored(p ignore.Patterns, path string) bool {
	isDir := strings.HasSuffix(path, "/")
	path = strings.TrimSuffix(path, "/")
	for i := range path {
		if path[i] == '/' && p.Ignored(path[:i], true) {
			return true
		}
	}
	return p.Ignored(path, isDir)
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		patterns string
		yes, no  string // paths, separated by spaces
	}{
		{"", "", "a a/b"},
		{"# a comment\n\n   \n", "", "# a"},
		{`\#x`, "#x a/#x", "x"},
		{"a", "a a/ b/a b/a/c a/b/c", "ab b"},
		{"a/", "a/ a/b b/a/ b/a/c", "a b/a"},
		{"/a", "a a/ a/b", "b/a b/a/"},
		{"/a/", "a/ a/x", "a b/a/"},
		{"a/b", "a/b a/b/ a/b/c", "b c/a/b a/c/b"},
		{"*.pyc", "x.pyc d/x.pyc .pyc", "x.py x.pycc"},
		{"*.py[co]", "x.pyc x.pyo", "x.py x.pyx"},
		{"?.txt", "a.txt é.txt", "ab.txt .txt"},
		{"data/*", "data/x data/x/ data/x/y", "data/ x"},
		{"data/*/tmp", "data/x/tmp", "data/tmp data/x/y/tmp"},
		{"data/**", "data/x data/x/y", "data/ data"},
		{"**/tmp", "tmp a/tmp a/b/tmp", "tmpx"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "b a c/a/b"},
		{"**/a/b", "a/b x/a/b", "b"},
		{"*.log\n!keep.log", "x.log d/x.log", "keep.log d/keep.log"},
		{"!keep.log\n*.log", "keep.log", "x"},
		{"d/\n!d/keep", "d/ d/keep", ""},
		{"d/*\n!d/keep", "d/x", "d/ d/keep"},
		{"/*\n!/src", "a b/", "src src/ src/x"},
		{"trailing   ", "trailing", "trailing\u00a0"},
		{`space\ `, "", "space"},
		{"[!a]x", "bx", "ax x"},
		{"[a-c]x", "ax bx", "dx -x"},
		{"[]]x", "]x", "[x"},
		{"[[:digit:]]x", "1x", "ax"},
		{"[abc", "[abc", "a"},
		{`a\*b`, "a*b", "axb"},
		{"crlf\r\nnext\r\n", "crlf next", "x"},
		{"\ufeffbom", "bom", "x"},
		{"a**b", "axxb ab", "a/b"},
		{"größe", "größe", "grosse"},
	} {
		p := ignore.Parse(c.patterns)
		for path := range strings.FieldsSeq(strings.ReplaceAll(c.yes, "\u00a0", "_")) {
			if !ignored(p, path) {
				t.Errorf("%q keeps %q, and should not", c.patterns, path)
			}
		}
		for path := range strings.FieldsSeq(strings.ReplaceAll(c.no, "\u00a0", "_")) {
			if ignored(p, path) {
				t.Errorf("%q ignores %q, and should not", c.patterns, path)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	p := ignore.Parse(append(ignore.Defaults(), "!terraform")...)
	for path, want := range map[string]bool{
		"__pycache__/": true, "m/__pycache__/x.pyc": true, "a.pyc": true, "a.pyo": true, "a$py.class": true, ".git/": true,
		".git": false, ".gitignore": false, ".idea/": true, ".terraform.lock": true, "terraform.tfstate.1": true,
		"shared_fs/": true, "x/shared_fs/": false, "train.py": false, "terraform": false, "terraform_data": true,
	} {
		if got := ignored(p, path); got != want {
			t.Errorf("%s: ignored %v, want %v", path, got, want)
		}
	}
}

// Random patterns and paths, judged by git itself.
func TestAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	seed := uint64(20261120)
	r := rand.New(rand.NewPCG(seed, 0))
	word := func(alphabet []string, most int) string {
		var b strings.Builder
		for range 1 + r.IntN(most) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	// Stars beside letters are left out: there git departs from its own manual.
	segment := func() string {
		if r.IntN(5) == 0 {
			return "**"
		}
		return strings.ReplaceAll(word([]string{"a", "b", "c", "*", "?", "[ab]", "[!a]", ".", "a", "b"}, 4), "**", "*")
	}
	pathParts := []string{"a", "b", "c", "/", ".", "a", "b"}
	dir := t.TempDir()
	run(t, dir, nil, git, "init", "-q")
	for round := range 60 { // of files; what ends in a slash is met in their folders
		var patterns []string
		for range 1 + r.IntN(4) {
			p := segment()
			for range r.IntN(3) {
				p += "/" + segment()
			}
			switch r.IntN(8) {
			case 0, 1:
				p = "!" + p
			case 2:
				p = "/" + p
			case 3:
				p += "/"
			}
			patterns = append(patterns, p)
		}
		var paths []string
		for range 40 {
			p := strings.TrimLeft(filepath.ToSlash(filepath.Clean(word(pathParts, 7))), "./")
			if p == "" || strings.Contains(p, "..") || strings.Contains(p, "//") {
				continue
			}
			paths = append(paths, p)
		}
		text := strings.Join(patterns, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for line := range strings.SplitSeq(run(t, dir, strings.NewReader(strings.Join(paths, "\n")), git, "check-ignore", "--no-index", "--stdin"), "\n") {
			want[line] = true
		}
		p := ignore.Parse(text)
		for _, path := range paths {
			if got := ignored(p, path); got != want[path] {
				t.Errorf("seed %d, round %d: patterns %q, path %q: ignored %v, git says %v", seed, round, patterns, path, got, want[path])
			}
		}
	}
}

// run runs git apart from any configuration of the user's. That nothing matches
// is status 1.
func run(t *testing.T, dir string, in *strings.Reader, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+dir)
	if in != nil {
		cmd.Stdin = in
	}
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatal(fmt.Errorf("%s %v: %w", name, args, err))
	}
	return string(out)
}

func BenchmarkIgnored(b *testing.B) {
	p := ignore.Parse(append(ignore.Defaults(), "data/**/*.bin", "*.log", "!keep.log", "/build/")...)
	for b.Loop() {
		p.Ignored("src/models/vision/resnet50/train.py", false)
	}
}
