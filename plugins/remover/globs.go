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

// matches compares each part of a pattern with each part of a name at most once.
func matches(pattern, parts []string) bool {
	return matchesBy(pattern, parts, part)
}

func matchesBy(pattern, parts []string, part func(pattern, name string) bool) bool {
	reached := make([]bool, len(parts)+1) // by how many parts of the name the pattern so far can match
	reached[0] = true
	for _, p := range pattern {
		next := make([]bool, len(parts)+1)
		for i := range reached {
			switch {
			case p == "**":
				next[i] = reached[i] || i > 0 && next[i-1] && !strings.HasPrefix(parts[i-1], ".")
			case i > 0 && reached[i-1]:
				next[i] = part(p, parts[i-1])
			}
		}
		reached = next
	}
	return reached[len(parts)]
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
