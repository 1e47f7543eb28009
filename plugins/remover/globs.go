package main

import (
	"path"
	"slices"
	"strings"
)

// selected are the names that patterns match. Names are paths below a folder; names of folders end
// in a slash, and a matched folder includes everything below it. The patterns are those of Python's
// glob, as clients expect: ** is any number of folders, and a name that begins with a dot is
// matched only by a pattern that also does. The pattern **/* matches everything.
func selected(globs, names []string) []string {
	if slices.Contains(globs, all) {
		return names
	}
	var gone []string
	for _, name := range names {
		if slices.ContainsFunc(globs, func(g string) bool { return takes(g, name) }) {
			gone = append(gone, name)
		}
	}
	return gone
}

// takes reports whether a pattern matches a name or one of its parent folders.
func takes(glob, name string) bool {
	pattern := slices.DeleteFunc(strings.Split(glob, "/"), func(part string) bool { return part == "" || part == "." })
	folders := strings.HasSuffix(glob, "/") // matches folders only
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	for n := 0; n <= len(parts); n++ {
		isFolder := n < len(parts) || strings.HasSuffix(name, "/")
		if (isFolder || !folders) && matches(pattern, parts[:n]) {
			return true
		}
	}
	return false
}

func matches(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**":
		if matches(pattern[1:], parts) {
			return true
		}
		return len(parts) > 0 && !strings.HasPrefix(parts[0], ".") && matches(pattern, parts[1:])
	case len(parts) == 0:
		return false
	}
	return part(pattern[0], parts[0]) && matches(pattern[1:], parts[1:])
}

// part matches one name. An invalid pattern matches only itself.
func part(pattern, name string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return pattern == name
	}
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, err := path.Match(strings.NewReplacer(`\`, `\\`, "[!", "[^", "[^", `[\^`).Replace(pattern), name)
	return ok && err == nil || err != nil && pattern == name
}
