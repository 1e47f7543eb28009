package gpucheck

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files below a folder; what begins with #! is a program.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path, mode := filepath.Join(dir, name), os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// example is a checkout with programs that do nothing, and a check that prints what it finds.
func example(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"bin/det": "#!x", "bin/det-master": "#!x", "bin/det-runner": "#!x", "bin/det-remover": "#!x",
		"bin/det-gpu": "#!/bin/sh\necho det-gpu 1, with NVIDIA\\'s library\n",
		"nomad":       "#!x", "LICENSE": "a", "NOTICE": "b",
		"pg/bin/postgres": "#!x", "pg/lib/libpq.so.5": "lib", "pg/include/pg.h": "no", "pg/lib/libpq.a": "no", "pg/share/postgres.bki": "yes",
		"plugins/harness/determined/__init__.py": "", "plugins/harness/tests/test_x.py": "", "plugins/harness/determined/__pycache__/a.pyc": "",
		"plugins/harness/gpucheck/__init__.py": "", "plugins/harness/gpucheck/__main__.py": "import sys, determined\nprint('checked', sys.argv[1:], __name__)\nsys.exit(3 if 'fail' in sys.argv else 0)\n",
		"wheels/a.whl": "wheel",
	})
	if err := os.Symlink("libpq.so.5", filepath.Join(dir, "pg", "lib", "libpq.so")); err != nil {
		t.Fatal(err)
	}
	return Options{Root: dir, Programs: filepath.Join(dir, "bin"), Nomad: filepath.Join(dir, "nomad"), Postgres: filepath.Join(dir, "pg"),
		Wheels: filepath.Join(dir, "wheels"), Out: filepath.Join(dir, "out", "pack.tar.xz")}
}

// TestPack: a pack has all its parts, and nothing of a checkout's tools; unpacked in an empty folder it runs, and its exit status is an
// error of Run.
func TestPack(t *testing.T) {
	for _, tool := range []string{"xz", "tar", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	o := example(t)
	size, err := Write(t.Context(), o)
	if err != nil || size < 100 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	dir := t.TempDir()
	if _, err := Unpack(t.Context(), o.Out, dir); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{
		"bin/det-gpu": true, "bin/nomad": true, "postgres/bin/postgres": true, "postgres/share/postgres.bki": true, "wheels/a.whl": true, "NOTICE": true,
		"harness/determined/__init__.py": true, "harness/tests/test_x.py": false, "harness/determined/__pycache__": false, "postgres/include": false, "postgres/lib/libpq.a": false,
	} {
		info, err := os.Stat(filepath.Join(dir, folder, name))
		if (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
		if there && err == nil && info.Mode()&0o044 != 0o044 {
			t.Errorf("%s has mode %s, and others must read it", name, info.Mode())
		}
	}
	if to, err := os.Readlink(filepath.Join(dir, folder, "postgres/lib/libpq.so")); to != "libpq.so.5" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	for args, want := range map[string]string{"--seconds 9": "", "fail": "exit status 3"} {
		var out bytes.Buffer
		err := Run(t.Context(), o.Out, "python3", strings.Fields(args), &out)
		if !strings.Contains(out.String(), "checked ['"+strings.ReplaceAll(args, " ", "', '")+"'] __main__") || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and it printed %q", args, err, &out)
		}
	}
}

// TestWhatAPackNeeds: a part that is missing, and a det-gpu that knows simulated GPUs only, are errors before anything is packed.
func TestWhatAPackNeeds(t *testing.T) {
	o := example(t)
	if err := os.Remove(o.Nomad); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(o.Postgres); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs bin/nomad") || !strings.Contains(err.Error(), "needs postgres") {
		t.Errorf("%v", err)
	}
	o = example(t)
	write(t, o.Programs, map[string]string{"det-gpu": "#!/bin/sh\necho det-gpu 1, simulation only\n"})
	if _, err := Write(t.Context(), o); err == nil || !strings.Contains(err.Error(), "det-gpu 1, simulation only") || !strings.Contains(err.Error(), "apt-get install gcc") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(o.Out); err == nil {
		t.Error("a pack was written")
	}
}
