package servers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/release"
)

// rewrite is shared with the packages whose goldens are rewritten by the same flag.
var rewrite = flag.Bool("rewrite", false, "write NOTICE anew")

// linked is a module whose code is in our binaries.
type linked struct {
	Path, Version, Dir string
	Main               bool
}

// TestLicencesOfEverythingLinked reads the licence of each module that a package of ours needs, rejects
// licences under which Detent could not be distributed, and compares NOTICE with the result.
func TestLicencesOfEverythingLinked(t *testing.T) {
	root := moduleRoot(t)
	// With the modules that only tests need.
	modules := linkedModules(t, root, true)
	licences := map[string]string{}
	for _, m := range modules {
		licence, err := licenceOf(m.Dir)
		if err != nil {
			t.Errorf("%s: %v", m.Path, err)
			continue
		}
		licences[m.Path] = licence
	}
	notice := "Detent\nCopyright the Detent authors\n\nLicensed under the Apache License, Version 2.0 (see LICENSE).\n\n" +
		"The example plugins/harness/examples/iris contains R. A. Fisher's measurements of\n" +
		"iris flowers (1936), with the values of the copy in scikit-learn (BSD-3-Clause).\n\n" +
		"The programs contain code of these Go modules, each under the licence named,\n" +
		"whose text is in the module itself:\n\n"
	for _, m := range linkedModules(t, root, false) {
		notice += fmt.Sprintf("  %s (%s)\n", m.Path, licences[m.Path])
	}
	notice += "\nThe pages of the master contain code of these npm packages, each under the\nlicence named, whose text is in the package itself:\n\n"
	packages := bundledPackages(t, root)
	for _, p := range packages {
		notice += p
	}
	file := filepath.Join(root, "NOTICE")
	if *rewrite {
		if err := os.WriteFile(file, []byte(notice), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range linkedModules(t, root, false) {
		if line := fmt.Sprintf("  %s (%s)\n", m.Path, licences[m.Path]); !strings.Contains(string(have), line) {
			t.Errorf("NOTICE lacks the line %q; run: go test ./nomad/servers -run Licences -rewrite", strings.TrimSpace(line))
		}
	}
	for _, line := range packages {
		if !strings.Contains(string(have), line) {
			t.Errorf("NOTICE lacks the line %q; run: go test ./nomad/servers -run Licences -rewrite", strings.TrimSpace(line))
		}
	}
}

// npmLicences are those under which a package may be used: in the pages all but
// the last, which is for the tools that make them.
var npmLicences = []string{"MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "MPL-2.0"}

// bundledPackages are the packages that the pages are made of, as lines of NOTICE. It
// refuses licences as for Go modules.
func bundledPackages(t *testing.T, root string) []string {
	t.Helper()
	list, err := release.NPMPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range list {
		if i := slices.Index(npmLicences, p.License); i < 0 || i == len(npmLicences)-1 && !p.Tool {
			t.Errorf("npm package %s %s: its licence is not allowed: %q", p.Name, p.Version, p.License)
		}
		if !p.Tool {
			lines = append(lines, fmt.Sprintf("  %s (%s)\n", p.Name, p.License))
		}
	}
	if len(lines) < 3 {
		t.Errorf("webui/package-lock.json names %d packages that the pages are made of, which cannot be all: %v", len(lines), lines)
	}
	return lines
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// linkedModules lists the modules of all programs, that for the autoscaler among them, which is a
// module of its own.
func linkedModules(t *testing.T, root string, tests bool) []linked {
	t.Helper()
	seen := map[string]linked{}
	for _, dir := range []string{root, filepath.Join(root, "nomad", "autoscaler")} {
		addModules(t, dir, tests, seen)
	}
	all := make([]linked, 0, len(seen))
	for _, m := range seen {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b linked) int { return strings.Compare(a.Path, b.Path) })
	if len(all) < 10 {
		t.Fatalf("go list names %d modules, which cannot be all: %v", len(all), all)
	}
	return all
}

// addModules adds what the packages below a folder need.
func addModules(t *testing.T, dir string, tests bool, seen map[string]linked) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps", fmt.Sprintf("-test=%v", tests), "-json=Module", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", dir, err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *linked }
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			seen[p.Module.Path] = *p.Module
		}
	}
}

// licenceOf returns the name of the licence in a module's folder, or the reason why the module must
// not be used.
func licenceOf(dir string) (string, error) {
	var text string
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "License*", "license*", "COPYING*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			text += string(content) + "\n"
		}
	}
	return classify(text)
}

func classify(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", errors.New("it has no licence")
	}
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	refused := []string{"business source license", "server side public license", "elastic license", "commons clause"}
	mozilla := strings.Contains(words, "mozilla public license version 2.0") || strings.Contains(words, "mozilla public license, version 2.0")
	if !mozilla {
		// The text of the MPL names these as "secondary licences"; they are not the module's licence.
		refused = append(refused, "gnu affero general public license", "gnu general public license", "gnu lesser general public license")
	}
	for _, name := range refused {
		if strings.Contains(words, name) {
			return "", fmt.Errorf("its licence is not allowed: %s", name)
		}
	}
	if mozilla {
		return "MPL-2.0", nil
	}
	for _, known := range [][2]string{
		{"apache license", "Apache-2.0"},
		{"permission is hereby granted, free of charge", "MIT"},
		{"permission to use, copy, modify, and/or distribute this software", "ISC"},
		{"permission to use, copy, modify, and distribute this software", "ISC"},
		{"neither the name of", "BSD-3-Clause"},
		{"redistribution and use in source and binary forms", "BSD-2-Clause"},
		{"public domain", "public domain"},
	} {
		if strings.Contains(words, known[0]) {
			return known[1], nil
		}
	}
	return "", fmt.Errorf("unknown licence: %.80s…", words)
}

func TestClassifyRefuses(t *testing.T) {
	for _, text := range []string{
		"Business Source License 1.1\nParameters\nLicensor: …", "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3",
		"Server Side\nPublic License", "All rights reserved.", "  \n",
	} {
		if licence, err := classify(text); err == nil {
			t.Errorf("%q passes as %s", text, licence)
		}
	}
}
