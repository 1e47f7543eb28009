// Package ignore decides which files of a folder are excluded, by the rules of gitignore: the
// last pattern that matches decides, "!" includes a file again, a slash at the end matches
// folders only, a slash elsewhere anchors the pattern at the root, "**" matches any number of
// folders. A file in an excluded folder cannot be included again, because excluded folders are
// not searched.
//
// The tests compare this package with git itself. go-git's package for the same rules (5.19) disagrees with git: it does not support
// [!a] and [[:digit:]], and excludes the folder data for data/**.
package ignore

import (
	"strings"
)

// File is the name of the file with patterns in the root folder.
const File = ".detignore"

// Defaults are excluded unless a pattern includes them again. They are those of Determined's
// client, so both pack the same files.
func Defaults() []string {
	return []string{
		"__pycache__/", "*.py[co]", "*$py.class",
		"terraform", "terraform_data", "terraform.tfstate*", "terraform.tfvars*", ".terraform*",
		".git/", ".vscode/", ".idea/", ".mypy_cache/", "/shared_fs",
	}
}

// Patterns is a list of parsed patterns.
type Patterns struct {
	list []pattern
}

type pattern struct {
	negate   bool
	dirsOnly bool
	segments []string // of the path, from the root; "**" matches any number
}

// Parse reads patterns, one per line.
func Parse(lines ...string) Patterns {
	var p Patterns
	for _, block := range lines {
		for line := range strings.SplitSeq(strings.TrimPrefix(block, "\ufeff"), "\n") {
			if pat, ok := parseLine(strings.TrimSuffix(line, "\r")); ok {
				p.list = append(p.list, pat)
			}
		}
	}
	return p
}

func parseLine(line string) (pattern, bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	var p pattern
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirsOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return pattern{}, false
	}
	anchored := strings.Contains(line, "/")
	p.segments = strings.Split(strings.TrimPrefix(line, "/"), "/")
	for i, s := range p.segments {
		if len(s) > 2 && strings.Trim(s, "*") == "" {
			p.segments[i] = "**" // further stars change nothing
		}
	}
	if !anchored {
		p.segments = append([]string{"**"}, p.segments...)
	}
	return p, true
}

// trimSpaces removes spaces at the end, except after a backslash.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		if strings.HasSuffix(line, `\ `) && !strings.HasSuffix(line, `\\ `) {
			break
		}
		line = line[:len(line)-1]
	}
	return line
}

// Ignored reports whether a path, relative to the root and with slashes, is excluded. The
// caller must have asked about its folders before.
func (p Patterns) Ignored(path string, isDir bool) bool {
	parts := strings.Split(path, "/")
	for i := len(p.list) - 1; i >= 0; i-- {
		pat := p.list[i]
		if pat.dirsOnly && !isDir {
			continue
		}
		if matchPath(pat.segments, parts) {
			return !pat.negate
		}
	}
	return false
}

// matchPath matches segments of a pattern with those of a path.
func matchPath(pat, path []string) bool {
	for len(pat) > 0 {
		if pat[0] == "**" {
			if len(pat) == 1 {
				return len(path) > 0 // "a/**" matches the contents of a, not a itself
			}
			for i := range path {
				if matchPath(pat[1:], path[i:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 || !matchName(pat[0], path[0]) {
			return false
		}
		pat, path = pat[1:], path[1:]
	}
	return len(path) == 0
}
