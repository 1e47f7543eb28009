package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what to pack.
type Options struct {
	Root     string // of the checkout
	Programs string // folder of Detent's programs, without symbols
	Nomad    string // program
	Postgres string // folder with bin, lib and share
	Wheels   string // folder with wheels for the machine's Python; "": none
	Out      string // the archive
}

// programs are Detent's programs in a pack.
var programs = [...]string{"det", "det-master", "det-runner", "det-remover", "det-gpu"}

// A part is a file or folder of a pack.
type part struct {
	name string // in the pack
	path string // on disk
	skip func(name string) bool
}

// start is the first file that Python reads of a folder that it runs. It must be found in any folder.
const start = `import pathlib
import runpy
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "harness"))
runpy.run_module("gpucheck", run_name="__main__", alter_sys=True)
`

// parts are the parts of a pack. Each of them must be there.
func (o Options) parts(ctx context.Context) ([]part, error) {
	var all []part
	for _, name := range programs {
		all = append(all, part{name: "bin/" + name, path: filepath.Join(o.Programs, name)})
	}
	all = append(all,
		part{name: "bin/nomad", path: o.Nomad},
		part{name: "postgres", path: o.Postgres, skip: unusedOfPostgres},
		part{name: "harness", path: filepath.Join(o.Root, "plugins", "harness"), skip: unusedOfHarness},
		part{name: "LICENSE", path: filepath.Join(o.Root, "LICENSE")},
		part{name: "NOTICE", path: filepath.Join(o.Root, "NOTICE")})
	if o.Wheels != "" {
		all = append(all, part{name: "wheels", path: o.Wheels})
	}
	var problems []error
	for _, p := range all {
		if _, err := os.Stat(p.path); err != nil {
			problems = append(problems, fmt.Errorf("the pack needs %s: %w", p.name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(o.Programs, "det-gpu"), "version").Output()
	if err != nil {
		return nil, fmt.Errorf("det-gpu version: %w", err)
	}
	if !strings.Contains(string(out), "with NVIDIA's library") {
		return nil, fmt.Errorf("this det-gpu cannot use NVIDIA's library (%s); build it on a machine with a C compiler (Debian: apt-get install gcc libc6-dev)", strings.TrimSpace(string(out)))
	}
	return all, nil
}

// unusedOfHarness leaves out tests and benchmarks, and what tools make in a checkout.
func unusedOfHarness(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	base := filepath.Base(name)
	return slices.Contains([]string{"tests", "examples", "bench", "reference", "build", "dist"}, top) ||
		base == "__pycache__" || strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".egg-info")
}

// unusedOfPostgres leaves out what a server in English does not read, and what only compilers do.
func unusedOfPostgres(name string) bool {
	return slices.Contains([]string{"include", "lib/pkgconfig", "lib/postgresql/pgxs", "share/doc", "share/locale", "share/man", "share/postgresql/locale"}, name) ||
		strings.HasSuffix(name, ".a")
}

// files are the files and links of a part, by their names in the pack.
func (p part) files() (names, paths []string, err error) {
	err = filepath.WalkDir(p.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		in, err := filepath.Rel(p.path, path)
		if err != nil {
			return err
		}
		if p.skip != nil && in != "." && p.skip(filepath.ToSlash(in)) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			names, paths = append(names, filepath.ToSlash(filepath.Join(p.name, in))), append(paths, path)
		}
		return nil
	})
	return names, paths, err
}
