package proxy

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Prefix is the prefix of the paths of all tasks.
const Prefix = "/proxy/"

// maxID is the maximum length of a task's id in a path.
const maxID = 100

// A service is what a path names: a task, or one of the ports that its configuration declares.
type service struct {
	task string
	port int // 0: what a task of this type offers
}

// base is the prefix of the service's paths.
func (s service) base() string {
	if s.port == 0 {
		return base(s.task)
	}
	return Prefix + s.task + ":" + strconv.Itoa(s.port) + "/"
}

// errPath is the error about a path without a task's id.
var errPath = errors.New("the path is not of the form /proxy/<task id>/… or /proxy/<task id>:<port>/…")

// errDots is the error about a path that a program might resolve to another path.
var errDots = errors.New("the path contains a segment . or .., plain or encoded")

// serviceOf finds the service in an encoded path. The prefix, the id and the port must not be
// encoded, so that all programs that parse the path find the same service. slash reports whether
// a slash follows.
func serviceOf(path string) (s service, slash bool, err error) {
	rest, ok := strings.CutPrefix(path, Prefix)
	if !ok {
		return service{}, false, errPath
	}
	name, rest, slash := strings.Cut(rest, "/")
	id, port, declared := strings.Cut(name, ":")
	if declared {
		s.port = portOf(port)
	}
	if !goodID(id) || declared && s.port == 0 {
		return service{}, false, errPath
	}
	if dotted(rest) {
		return service{}, false, errDots
	}
	s.task = id
	return s, slash, nil
}

// portOf reads a port in its only spelling; 0 for anything else.
func portOf(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0
	}
	return int(n)
}

// goodID reports whether a text can be the id of a task, which is used in paths, in the names of
// cookies and hosts, and in pages.
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

// dotted reports whether a path has a segment . or .., with any encoding of dots and slashes,
// which some programs would resolve.
func dotted(path string) bool {
	for range 3 { // no program decodes a path more often
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

// base returns the prefix of a task's paths.
func base(id string) string { return Prefix + id + "/" }
