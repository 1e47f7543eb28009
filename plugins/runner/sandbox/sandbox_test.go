//go:build linux

package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// diesAtOnce is a file in the working directory of a sandbox that dies before its first word.
const diesAtOnce = "dies-at-once"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == InsideVerb {
		if _, err := os.Stat(diesAtOnce); err == nil {
			os.Exit(7)
		}
		os.Exit(Inside())
	}
	os.Exit(m.Run())
}

// TestABoxThatDiesBeforeItsFirstWord is an error, and not waited for.
func TestABoxThatDiesBeforeItsFirstWord(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(diesAtOnce, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := Open(ctx, Setup{Plain: true}, os.Stdout, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "ended unexpectedly") {
		t.Fatalf("got %v", err)
	}
}

func TestModes(t *testing.T) {
	bind := []Bind{{Source: "/a", Target: "/b"}}
	for _, c := range []struct {
		setup Setup
		plain bool // the only mode
	}{
		{Setup{PrivateRoot: true}, true},
		{Setup{Plain: true, Binds: bind}, true},
		{Setup{PrivateRoot: true, ShmBytes: 1}, false},
		{Setup{PrivateRoot: true, Binds: bind}, false},
		{Setup{}, false}, // on a bare node the end of a task should end all of it
	} {
		got := modes(c.setup)
		if (len(got) == 1) != c.plain || got[len(got)-1] != (Mode{}) {
			t.Errorf("%+v: %v", c.setup, got)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=/nowhere:" + dir
	for _, c := range []struct {
		c    Command
		want string // path, or part of the complaint
	}{
		{Command{Argv: []string{"program"}, Env: []string{path}}, filepath.Join(dir, "program")},
		{Command{Argv: []string{"program"}, Env: []string{"PATH=:/nowhere"}, Dir: dir}, filepath.Join(dir, "program")},
		{Command{Argv: []string{"./x"}, Env: []string{path}}, "./x"},
		{Command{Argv: []string{"data"}, Env: []string{path}}, "data was not found on PATH"},
		{Command{Argv: []string{"program"}}, "was not found on PATH ()"},
		{Command{}, "the entrypoint is empty"},
		{Command{Argv: []string{""}}, "the entrypoint is empty"},
	} {
		got, exit := find(c.c)
		if exit != nil {
			got = exit.Failed
			if exit.Code != 127 {
				t.Errorf("%v: code %d", c.c, exit.Code)
			}
		}
		if got != c.want && (exit == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%v: %q, want %q", c.c, got, c.want)
		}
	}
}

func TestDeepest(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "a", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, above, rest string }{
		{"a/b", "a/b", ""}, {"a/x/y", "a", "x/y"}, {"link/b", "a/b", ""}, {"link/x", "a", "x"}, {"file", "file", ""},
	} {
		above, rest, err := deepest(filepath.Join(dir, c.path))
		if err != nil || above != filepath.Join(dir, c.above) || rest != c.rest {
			t.Errorf("%s: %q %q %v", c.path, above, rest, err)
		}
	}
	for path, want := range map[string]string{"dangling/x": "symbolic link to a path that does not exist", "file/x": "not a "} {
		if _, _, err := deepest(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestNeeded(t *testing.T) {
	dir := t.TempDir()
	there := Bind{Source: dir, Target: dir}
	skipped, binds, err := needed(Setup{Binds: []Bind{there, {Source: dir, Target: "/x"}, {Source: dir, Target: dir, ReadOnly: true}}})
	if err != nil || !slices.Equal(skipped, []string{dir}) || len(binds) != 2 {
		t.Fatalf("%v %v %v", skipped, binds, err)
	}
	// The driver's mounts exist in the sandbox, with any source on the node.
	skipped, binds, err = needed(Setup{PrivateRoot: true, Binds: []Bind{{Source: "/not/visible/here", Target: "/proc"}}})
	if err != nil || !slices.Equal(skipped, []string{"/proc"}) || len(binds) != 0 {
		t.Fatalf("%v %v %v", skipped, binds, err)
	}
	_, _, err = needed(Setup{PrivateRoot: true, Binds: []Bind{{Source: "/not/visible/here", Target: "/det-none"}}})
	if err == nil || !strings.Contains(err.Message, "root of their own") {
		t.Fatalf("%v", err)
	}
	made := filepath.Join(dir, "to/make")
	if _, _, err := needed(Setup{Binds: []Bind{{Source: made, Target: "/x", Create: true}}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made); err != nil || !info.IsDir() {
		t.Fatalf("%v %v", info, err)
	}
}

func TestParentOf(t *testing.T) {
	if parent, ok := parentOf(os.Getpid()); !ok || parent != os.Getppid() {
		t.Fatalf("%d %v", parent, ok)
	}
	if _, ok := parentOf(1 << 30); ok {
		t.Fatal("a process that does not exist has a parent")
	}
	if list := descendants(os.Getppid()); !slices.Contains(list, os.Getpid()) {
		t.Fatalf("%v does not hold %d", list, os.Getpid())
	}
}
