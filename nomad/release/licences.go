package release

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
)

// licences are the licence texts of programs of one module: Detent's, NOTICE, and those of all linked
// modules; with pages, also those of the packages in the web pages.
func (b *builder) licences(ctx context.Context, in string, programs []string, pages bool) ([]entry, error) {
	entries := []entry{
		{name: "LICENSE", path: filepath.Join(b.Root, "LICENSE"), mode: 0o644},
		{name: "NOTICE", path: filepath.Join(b.Root, "NOTICE"), mode: 0o644},
	}
	linked, err := linkedModules(programs)
	if err != nil {
		return nil, err
	}
	dirs, err := b.moduleFolders(ctx, in, linked)
	if err != nil {
		return nil, err
	}
	for _, m := range linked {
		texts, err := licenceTexts("licences/"+m.Path+"@"+m.Version, dirs[m.Path])
		if err != nil {
			return nil, err
		}
		entries = append(entries, texts...)
	}
	if !pages {
		return entries, nil
	}
	packages, err := bundledPackages(b.Root)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		texts, err := licenceTexts("licences/npm/"+p.Name+"@"+p.Version, filepath.Join(b.Root, "webui", "node_modules", p.Name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, texts...)
	}
	return entries, nil
}

// A module is a module or package that is part of a program.
type module struct{ Path, Version, Sum string }

// linkedModules reads from programs which modules they contain.
func linkedModules(programs []string) ([]module, error) {
	seen := map[string]module{}
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s does not name its modules: %w", path, err)
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				d = d.Replace
			}
			seen[d.Path+"@"+d.Version] = module{d.Path, d.Version, d.Sum} // programs of other modules may link another version
		}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b module) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Version, b.Version))
	}), nil
}

// moduleFolders are the folders of modules in the module cache, where go build has stored them. in is
// the folder of the module that links them, whose go.sum has their checksums.
func (b *builder) moduleFolders(ctx context.Context, in string, linked []module) (map[string]string, error) {
	args := each.Of(linked, func(m module) string { return m.Path + "@" + m.Version })
	cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "download", "-json"}, args...)...)
	cmd.Dir = filepath.Join(b.Root, in)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot download modules (go mod download): %w", err)
	}
	dirs := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, err
		}
		dirs[m.Path] = m.Dir
	}
}

// licenceTexts are the licence files of a module. A module without one must not be distributed.
func licenceTexts(name, dir string) ([]entry, error) {
	var entries []entry
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the licence of %s: %w", strings.TrimPrefix(name, "licences/"), err)
	}
	for _, f := range files {
		upper := strings.ToUpper(f.Name())
		for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
			if strings.HasPrefix(upper, prefix) && f.Type().IsRegular() {
				entries = append(entries, entry{name: name + "/" + f.Name(), path: filepath.Join(dir, f.Name()), mode: 0o644})
			}
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s has no licence file in %s", strings.TrimPrefix(name, "licences/"), dir)
	}
	return entries, nil
}

// An NPMPackage is part of the web pages, or of the tools that build them.
type NPMPackage struct {
	Name, Version, License string
	Tool                   bool
}

// NPMPackages reads the packages of the web pages and of their tools from the lock file, sorted by
// name.
func NPMPackages(root string) ([]NPMPackage, error) {
	content, err := os.ReadFile(filepath.Join(root, "webui", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, DevOptional bool
		}
	}
	if err := json.Unmarshal(content, &lock); err != nil {
		return nil, fmt.Errorf("webui/package-lock.json: %w", err)
	}
	const folder = "node_modules/"
	var list []NPMPackage
	for path, p := range lock.Packages {
		if path == "" { // the web pages themselves
			continue
		}
		name := path[strings.LastIndex(path, folder)+len(folder):] // a package may be in another package's folder
		list = append(list, NPMPackage{name, p.Version, p.License, p.Dev || p.DevOptional})
	}
	slices.SortFunc(list, func(a, b NPMPackage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	return list, nil
}

// bundledPackages are the packages in the web pages.
func bundledPackages(root string) ([]NPMPackage, error) {
	list, err := NPMPackages(root)
	return slices.DeleteFunc(list, func(p NPMPackage) bool { return p.Tool }), err
}
