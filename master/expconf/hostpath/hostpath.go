// Package hostpath reads the entries of allowed_host_paths, and compares them with paths and with each other. It is pure.
//
// Package server checks the entries of the configuration, and package expconf what users want to mount.
package hostpath

import (
	"path"
	"strings"
)

// An Entry of allowed_host_paths names folders of the nodes that tasks may mount.
//
// The driver follows links on the node, as root. A user who can write to a folder of a path can replace the rest
// of the path with a link to any other folder, also after every check and before the mount. So an entry allows
// paths of one level only, and tasks reach what is below through that mount: in a container, a link leads nowhere
// else. Tasks must not be able to write to the folder that contains such a path (InWritable).
type Entry struct {
	Path  string // clean
	Each  bool   // all paths directly in Path, and not Path itself
	Write bool   // tasks may write
}

const (
	eachSuffix  = "/*"
	writeSuffix = ":rw"
)

// Parse reads an entry: /data, /data/*, and each with :rw at the end.
func Parse(entry string) Entry {
	var h Entry
	entry, h.Write = strings.CutSuffix(entry, writeSuffix)
	entry, h.Each = strings.CutSuffix(entry, eachSuffix)
	h.Path = path.Clean("/" + entry)
	return h
}

// Problem returns what is wrong with an entry; "" if nothing is.
func Problem(entry string) string {
	rest := strings.TrimSuffix(strings.TrimSuffix(entry, writeSuffix), eachSuffix)
	if !path.IsAbs(entry) || strings.ContainsAny(rest, "*:") {
		return "expected absolute paths, with /* at the end for each path directly in a folder, and then :rw if tasks may write"
	}
	return ""
}

func (h Entry) String() string {
	s := h.Path
	if h.Each {
		s = strings.TrimSuffix(s, "/") + eachSuffix
	}
	if h.Write {
		s += writeSuffix
	}
	return s
}

// parent is the folder that contains the paths of the entry; "" for none.
func (h Entry) parent() string {
	switch {
	case h.Each:
		return h.Path
	case h.Path == "/":
		return ""
	}
	return path.Dir(h.Path)
}

// Allows reports whether the entry allows a clean path.
func (h Entry) Allows(p string) bool {
	if h.Each {
		return p != "/" && path.Dir(p) == h.Path
	}
	return p == h.Path
}

// Above returns the path of the entry that contains a clean path; "" if none does.
func (h Entry) Above(p string) string {
	rest, below := strings.CutPrefix(p, strings.TrimSuffix(h.Path, "/")+"/")
	switch {
	case !below || rest == "":
		return ""
	case !h.Each:
		return h.Path
	}
	first, _, deeper := strings.Cut(rest, "/")
	if !deeper {
		return ""
	}
	return path.Join(h.Path, first)
}

// InWritable reports whether a task that writes to paths of the entry w could put a link in place of a path of
// the entry h: w has a path in which h has one.
func (h Entry) InWritable(w Entry) bool {
	parent := h.parent()
	if parent == "" {
		return false
	}
	return w.Allows(parent) || w.Above(parent) != ""
}
