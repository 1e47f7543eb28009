package proxy

import (
	"errors"
	"net/url"
	"strings"
)

// Prefix is what the paths of all tasks begin with.
const Prefix = "/proxy/"

// maxID bounds the id of a task in a path.
const maxID = 100

// errPath is why a path leads to no task.
var errPath = errors.New("the path is not of the form /proxy/<task id>/…")

// errDots is why a path is refused that a program might take for another one.
var errDots = errors.New("the path contains a segment . or .., plain or encoded")

// taskOf finds the id of a task in a path as it came over the wire, still
// encoded. The prefix and the id have to be written plainly: no two spellings of
// a path may lead to different tasks by different readers. slash says that
// something, if only the slash, follows the id.
func taskOf(path string) (id string, slash bool, err error) {
	rest, ok := strings.CutPrefix(path, Prefix)
	if !ok {
		return "", false, errPath
	}
	id, rest, slash = strings.Cut(rest, "/")
	if !goodID(id) {
		return "", false, errPath
	}
	if dotted(rest) {
		return "", false, errDots
	}
	return id, slash, nil
}

// goodID tells what can be the id of a task: it goes into paths, into the names of
// cookies and hosts, and into pages.
func goodID(id string) bool {
	if id == "" || len(id) > maxID || strings.Contains(id, "..") {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		case (c == '-' || c == '.' || c == '_') && i > 0 && i < len(id)-1:
		default:
			return false
		}
	}
	return true
}

// dotted tells whether some reader of a path could climb in it: a segment of one
// or two dots, however its dots and slashes are written.
func dotted(path string) bool {
	for range 3 { // encoded more often than that, it is a name
		for seg := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			seg, _, _ = strings.Cut(seg, ";")
			if seg == "." || seg == ".." {
				return true
			}
		}
		plain, err := url.PathUnescape(path)
		if err != nil || plain == path {
			return err != nil
		}
		path = plain
	}
	return false
}

// base is the path below which a task lies.
func base(id string) string { return Prefix + id + "/" }
