package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

var pythonFixture = map[string]string{
	"test_a.py": `import os, pathlib

def first(name):
    mark = pathlib.Path(os.environ["FIXTURE_MARKS"], name)
    there = mark.exists()
    mark.touch()
    return not there

def test_good(): assert first("good"), "only failed tests run again"

def test_unlucky(): assert not first("unlucky"), "the deadline was missed"
`,
	"broken/test_b.py": "def test_broken(): assert 1 == 2\n",
	"crash/test_c.py":  "import os\n\ndef test_crash(): os._exit(7)\n",
	"load/test_d.py":   "import no_such_module\n",
}

func TestPytestRepeatsTheLastFailed(t *testing.T) {
	python, err := pyenv.Named(t.Context(), "harness", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, pythonFixture)
	pytest := func(file string) error {
		return b.again("pytest", "-C", b.dir, "-env", "FIXTURE_MARKS="+b.marks, "-env", "PYTHONDONTWRITEBYTECODE=1", "--", python, "-m", "pytest", "-q", file)
	}
	if err := pytest("test_a.py"); err != nil {
		t.Errorf("the run failed: %v", err)
	}
	b.prints("1 failed, 1 passed", "1 passed, 1 deselected", "test_a.py::test_unlucky (it failed, and passed alone")
	if err := b.again("flaky", "-times", "2"); err != nil {
		t.Error(err)
	}
	b.prints("test_a.py::test_unlucky: passed 2 of 2 times")
	for file, want := range map[string]string{"broken/test_b.py": "test_b.py::test_broken: it failed again, with status 1",
		"crash/test_c.py": "(the whole package: pytest ended with status 7 and named no test): it failed again", "load/test_d.py": "it failed again"} {
		if err := pytest(file); err == nil {
			t.Errorf("%s passed", file)
		}
		b.prints(want)
	}
}

func TestVitestRepeatsFailedTests(t *testing.T) {
	modules, err := filepath.Abs("../../webui/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	vitest := filepath.Join(modules, ".bin", "vitest")
	if _, err := os.Stat(vitest); err != nil {
		t.Skip("vitest is not there (just ui)")
	}
	const head = `import { expect, it } from 'vitest'; import { existsSync, writeFileSync } from 'node:fs';
const first = (name) => { const file = process.env.FIXTURE_MARKS + '/' + name, there = existsSync(file); writeFileSync(file, ''); return !there; };
`
	b := newBench(t, map[string]string{"package.json": `{"type": "module"}`,
		"unlucky.test.js": head + "it('is (not) lucky', () => expect(first('unlucky')).toBe(false));\nit('is beside', () => expect(first('beside')).toBe(true));\n",
		"broken.test.js":  head + "it('is broken', () => expect(1).toBe(2));\n",
		"load.test.js":    "import './no-such-file.js';\n"})
	if err := os.Symlink(modules, filepath.Join(b.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	run := func(file string) error {
		return b.again("vitest", "-C", b.dir, "-env", "FIXTURE_MARKS="+b.marks, "-env", "NO_COLOR=1", "-env", "FORCE_COLOR=0", "--", vitest, "run", "--root", b.dir, file)
	}
	if err := run("unlucky.test.js"); err != nil {
		t.Errorf("the run failed: %v", err)
	}
	b.prints("1 failed | 1 passed", "FLAKY ", "unlucky.test.js: is (not) lucky (it failed, and passed alone")
	for file, want := range map[string]string{"broken.test.js": "broken.test.js: is broken: it failed again", "load.test.js": "load.test.js: it failed again"} {
		if err := run(file); err == nil {
			t.Errorf("%s passed", file)
		}
		b.prints(want)
	}
}
