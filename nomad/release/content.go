package release

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archives packs the programs.
func (b *builder) archives(ctx context.Context) error {
	for _, t := range b.Servers {
		entries, err := b.whole(ctx, t)
		if err != nil {
			return err
		}
		if err := pack(b.file("det-master_%s_%s.tar.gz", b.version, t), entries, b.time, b.level()); err != nil {
			return err
		}
		for _, name := range []string{"det-runner", "det-remover", "det-gpu"} {
			if err := b.single(ctx, name, t); err != nil {
				return err
			}
		}
		if err := b.notice(ctx, t); err != nil {
			return err
		}
		settings, err := b.tree(modules["det-scaler"])
		if err != nil {
			return err
		}
		settings = slices.DeleteFunc(settings, func(e entry) bool { return !strings.HasSuffix(e.name, ".hcl") })
		if err := b.single(ctx, "det-scaler", t, settings...); err != nil {
			return err
		}
	}
	for _, t := range b.Clients {
		if err := b.single(ctx, "det", t); err != nil {
			return err
		}
	}
	return nil
}

// notice packs det-notice with its job and its policy.
func (b *builder) notice(ctx context.Context, t Target) error {
	var files []entry
	for _, name := range []string{"nomad/notice.nomad.hcl", "nomad/policies/det-notice.policy.hcl"} {
		found, err := b.tree(name)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	return b.single(ctx, "det-notice", t, files...)
}

// whole is the content of det-master's archive: a whole installation, and what else a cluster on one machine needs, with the Python
// package for people and the examples.
func (b *builder) whole(ctx context.Context, t Target) ([]entry, error) {
	programs := append([]string{}, installed...)
	if isFile(b.program("det-gpu", t)) { // programs has reported a missing compiler
		programs = append(programs, "det-gpu")
	}
	entries, err := b.installation(ctx, t, programs)
	if err != nil {
		return nil, err
	}
	examples, err := b.tree("plugins/harness/examples")
	if err != nil {
		return nil, err
	}
	for i := range examples {
		examples[i].name = strings.TrimPrefix(examples[i].name, "plugins/harness/")
	}
	guide, err := b.tree("docs/local-cluster.md")
	if err != nil {
		return nil, err
	}
	wheels, err := filepath.Glob(b.file("*.whl"))
	if err != nil {
		return nil, err
	}
	for _, wheel := range wheels {
		entries = append(entries, entry{name: filepath.Base(wheel), path: wheel, mode: 0o644})
	}
	return slices.Concat(entries, examples, guide), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// installed are the programs of an installation.
var installed = []string{"det-master", "det-runner", "det-remover", "det-notice", "det"}

// installation is the content of an installation with these programs.
func (b *builder) installation(ctx context.Context, t Target, names []string) ([]entry, error) {
	if _, err := os.Stat(filepath.Join(b.Root, "webui", "dist", "index.html")); err != nil {
		return nil, fmt.Errorf("the web pages are not built, and a release needs them; run ./justw ui (it needs npm)")
	}
	var entries []entry
	var programs []string
	for _, name := range names {
		entries = append(entries, entry{name: name, path: b.program(name, t), mode: 0o755})
		programs = append(programs, b.program(name, t))
	}
	for _, other := range b.Servers { // nodes may have another platform than the masters
		if other == t {
			continue
		}
		for _, name := range []string{"det-runner", "det-remover"} {
			entries = append(entries, entry{name: fmt.Sprintf("%s-%s-%s", name, other.OS, other.Arch), path: b.program(name, other), mode: 0o755})
		}
	}
	harness, err := b.harness()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"nomad/master.nomad.hcl", "nomad/notice.nomad.hcl", "nomad/postgres.nomad.hcl", "nomad/postgres.volume.hcl", "nomad/pack/detent", "nomad/pack/detent_postgres", "nomad/policies", "nomad/vault", "nomad/ingress", "docs/operate"} {
		files, err := b.tree(name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, files...)
	}
	licences, err := b.licences(ctx, "", programs, true)
	return slices.Concat(entries, harness, licences), err
}

// harness is the Python package as a master serves it to tasks.
func (b *builder) harness() ([]entry, error) {
	for _, made := range []string{"plugins/harness/determined/common/api/bindings.py", "docs/python/pages/README.md"} {
		if _, err := os.Stat(filepath.Join(b.Root, made)); err != nil {
			return nil, fmt.Errorf("%s is not generated yet, and a release needs it; run ./justw made (it needs Python)", made)
		}
	}
	files, err := b.tree("plugins/harness")
	if err != nil {
		return nil, err
	}
	var kept []entry
	for _, e := range files {
		name := strings.TrimPrefix(e.name, "plugins/harness/")
		if strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "examples/") {
			continue
		}
		e.name = "harness/" + name
		kept = append(kept, e)
	}
	return kept, nil
}

// single packs one program with its licences and more files; a program that was not built is omitted.
func (b *builder) single(ctx context.Context, name string, t Target, more ...entry) error {
	path := b.program(name, t)
	if !isFile(path) { // programs has reported the missing compiler
		return nil
	}
	licences, err := b.licences(ctx, modules[name], []string{path}, false)
	if err != nil {
		return err
	}
	entries := slices.Concat(licences, more, []entry{{name: name, path: path, mode: 0o755}})
	return pack(b.file("%s_%s_%s.tar.gz", name, b.version, t), entries, b.time, b.level())
}

// leftovers are files that tools create in a checkout.
var leftovers = []string{"__pycache__", "build", "dist"}

// tree lists the files at and below a path of the checkout, without leftovers.
func (b *builder) tree(name string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(filepath.Join(b.Root, filepath.FromSlash(name)), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".egg-info") || slices.Contains(leftovers, base) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasPrefix(base, ".") || strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, ".go") {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		in, err := filepath.Rel(b.Root, path)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		entries = append(entries, entry{name: filepath.ToSlash(in), path: path, mode: mode})
		return nil
	})
	return entries, err
}
