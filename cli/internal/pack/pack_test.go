package pack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/pack"
	"github.com/detent-ml/detent/master/fault"
)

// tree makes files; a name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func scan(t *testing.T, context string, includes ...string) *pack.Listing {
	t.Helper()
	l, err := pack.Scan(context, includes)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func paths(l *pack.Listing) string {
	var out []string
	for _, e := range l.Entries {
		p := e.Path
		if e.Dir {
			p += "/"
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

func TestFoldersComeBeforeWhatLiesInThem(t *testing.T) {
	root := tree(t, map[string]string{
		"train.py": "print(1)", "a/z.txt": "z", "a/b/c.txt": "c", "a.txt": "a", "empty/": "", "B": "b",
		"__pycache__/x.pyc": "x", ".git/HEAD": "ref", "y.pyc": "y",
	})
	want := "B a/ a/b/ a/b/c.txt a/z.txt a.txt empty/ train.py"
	for range 3 { // the same each time
		if got := paths(scan(t, root)); got != want {
			t.Errorf("packed %s\nwant   %s", got, want)
		}
	}
}

func TestIgnoredStaysBehind(t *testing.T) {
	root := tree(t, map[string]string{
		".detignore": "*.bin\n/data/\n!keep.bin\n", "x.bin": "", "keep.bin": "", "data/huge": "", "sub/data/small": "",
		"sub/.detignore": "small\n", "terraform": "",
	})
	if got, want := paths(scan(t, root)), "keep.bin sub/ sub/data/ sub/data/small"; got != want {
		t.Errorf("packed %s\nwant   %s", got, want)
	}
}

func TestIncludesKeepTheirName(t *testing.T) {
	root := tree(t, map[string]string{"train.py": ""})
	lib := filepath.Join(tree(t, map[string]string{"lib/m.py": "", "lib/.detignore": "skip", "lib/skip": "", "one.txt": ""}), "lib")
	one := filepath.Join(filepath.Dir(lib), "one.txt")
	if got, want := paths(scan(t, root, lib, one)), "train.py lib/ lib/m.py one.txt"; got != want {
		t.Errorf("packed %s\nwant   %s", got, want)
	}
	if got, want := paths(scan(t, filepath.Join(root, "train.py"))), "train.py"; got != want {
		t.Errorf("a single file packed %s", got)
	}
	t.Chdir(lib)
	if got, want := paths(scan(t, "", ".")), "lib/ lib/m.py"; got != want {
		t.Errorf("an include of . packed %s", got)
	}
}

func TestTwoThingsOfOneName(t *testing.T) {
	root := tree(t, map[string]string{"lib/a": ""})
	other := filepath.Join(tree(t, map[string]string{"lib/b": ""}), "lib")
	_, err := pack.Scan(root, []string{other})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `would become "lib"`) {
		t.Errorf("%v", err)
	}
}

func TestContents(t *testing.T) {
	root := tree(t, map[string]string{"run.sh": "echo hi\n", "d/": ""})
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	for _, name := range []string{"run.sh", "d"} {
		if err := os.Chtimes(filepath.Join(root, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	told := ""
	files, err := scan(t, root).Read(func(n int, bytes int64) { told += fmt.Sprintf("%d:%d ", n, bytes) })
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	d, f := files[0], files[1]
	if d.Path != "d" || d.Type != 53 || d.Mode != 0o40755 || len(d.Content) != 0 || d.Mtime != at.Unix() {
		t.Errorf("the folder: %+v", d)
	}
	if f.Path != "run.sh" || f.Type != 48 || f.Mode != 0o100755 || string(f.Content) != "echo hi\n" || f.Uid != 0 || f.Gid != 0 || f.Mtime != at.Unix() {
		t.Errorf("the file: %+v", f)
	}
	if told != "1:0 2:8 " {
		t.Errorf("progress: %s", told)
	}
}

func TestLinks(t *testing.T) {
	outside := tree(t, map[string]string{"big/set": "data", "file": "content"})
	root := tree(t, map[string]string{"a.py": ""})
	for name, target := range map[string]string{
		"file": filepath.Join(outside, "file"), "data": filepath.Join(outside, "big"), ".#lock": "nowhere", "loop": ".",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	l := scan(t, root)
	if got, want := paths(l), "a.py data/ file loop/"; got != want {
		t.Errorf("packed %s\nwant   %s", got, want)
	}
	if len(l.Warnings) != 3 || !strings.Contains(l.Warnings[0], "broken link") || !strings.Contains(l.Warnings[1], "sent empty") {
		t.Errorf("warnings: %q", l.Warnings)
	}
	files, err := l.Read(nil)
	if err != nil || string(files[2].Content) != "content" {
		t.Errorf("a linked file: %v, %v", files, err)
	}
}

func TestUnreadableFileIsNamed(t *testing.T) {
	root := tree(t, map[string]string{"secret.key": "x"})
	path := filepath.Join(root, "secret.key")
	if os.Geteuid() == 0 { // may read everything, but for what cannot be read at all
		if runtime.GOOS != "linux" {
			t.Skip("as root every file can be read")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/proc/self/mem", path); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := scan(t, root).Read(nil)
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), ".detignore") {
		t.Errorf("%v", err)
	}
}

func TestPipesStayBehind(t *testing.T) {
	root := tree(t, map[string]string{"a": ""})
	makePipe(t, filepath.Join(root, "pipe"))
	l := scan(t, root)
	if got := paths(l); got != "a" || len(l.Warnings) != 1 {
		t.Errorf("packed %s with %q", got, l.Warnings)
	}
}

func TestTooLargeNamesTheLargest(t *testing.T) {
	root := tree(t, map[string]string{"train.py": "print(1)", "data/a.bin": "", "data/b.bin": "", "weights.pt": "", "notes.txt": "hello"})
	for name, size := range map[string]int64{"data/a.bin": 60 << 20, "data/b.bin": 10 << 20, "weights.pt": 40 << 20} {
		if err := os.Truncate(filepath.Join(root, name), size); err != nil { // a hole: it uses no space
			t.Fatal(err)
		}
	}
	_, err := pack.Scan(root, nil)
	if !fault.Is(err, fault.TooLarge) {
		t.Fatal(err)
	}
	const want = `the files to send have 110.0MB; at most 95.0MB may be sent. The largest:
      70.0MB  data/
      40.0MB  weights.pt
        8.0B  train.py
        5.0B  notes.txt
Name what is not needed in .detignore, one pattern per line as in .gitignore.`
	if err.Error() != want {
		t.Errorf("%s\nwant\n%s", err, want)
	}
}

func TestWhatCannotBePacked(t *testing.T) {
	root := tree(t, map[string]string{"a": ""})
	for _, c := range []struct {
		context  string
		includes []string
		problem  string
	}{
		{filepath.Join(root, "missing"), nil, "does not exist"},
		{root, []string{filepath.Join(root, "missing")}, "does not exist"},
		{"", []string{"/"}, "has no file name"},
	} {
		_, err := pack.Scan(c.context, c.includes)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q %q: %v, want %q", c.context, c.includes, err, c.problem)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0.0B", 1023: "1023.0B", 1024: "1.0KB", 4119: "4.0KB", 95 << 20: "95.0MB", 3 << 40: "3.0TB"} {
		if got := pack.Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
}
