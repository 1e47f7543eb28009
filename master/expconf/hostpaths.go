package expconf

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// A HostPath is an entry of allowed_host_paths: folders of the nodes that tasks may mount.
//
// The driver follows links on the node, as root. A user who can write to a folder of a path can replace the rest
// of the path with a link to any other folder, also after every check and before the mount. So an entry allows
// paths of one level only, and tasks reach what is below through that mount: in a container, a link leads nowhere
// else. Tasks must not be able to write to the folder that contains such a path (InWritable).
type HostPath struct {
	Path  string // clean
	Each  bool   // all paths directly in Path, and not Path itself
	Write bool   // tasks may write
}

const (
	eachSuffix  = "/*"
	writeSuffix = ":rw"
)

// ParseHostPath reads an entry: /data, /data/*, and each with :rw at the end.
func ParseHostPath(entry string) HostPath {
	var h HostPath
	entry, h.Write = strings.CutSuffix(entry, writeSuffix)
	entry, h.Each = strings.CutSuffix(entry, eachSuffix)
	h.Path = path.Clean("/" + entry)
	return h
}

// HostPathProblem returns what is wrong with an entry; "" if nothing is.
func HostPathProblem(entry string) string {
	rest := strings.TrimSuffix(strings.TrimSuffix(entry, writeSuffix), eachSuffix)
	if !path.IsAbs(entry) || strings.ContainsAny(rest, "*:") {
		return "expected absolute paths, with /* at the end for each path directly in a folder, and then :rw if tasks may write"
	}
	return ""
}

func (h HostPath) String() string {
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
func (h HostPath) parent() string {
	switch {
	case h.Each:
		return h.Path
	case h.Path == "/":
		return ""
	}
	return path.Dir(h.Path)
}

// allows reports whether the entry allows a clean path.
func (h HostPath) allows(p string) bool {
	if h.Each {
		return p != "/" && path.Dir(p) == h.Path
	}
	return p == h.Path
}

// above returns the path of the entry that contains a clean path; "" if none does.
func (h HostPath) above(p string) string {
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
func (h HostPath) InWritable(w HostPath) bool {
	parent := h.parent()
	if parent == "" {
		return false
	}
	return w.allows(parent) || w.above(parent) != ""
}

// closedHost returns why a pool does not allow tasks to mount a path of the node, and what to do; "" if it does.
func (l *ContainerLimits) closedHost(host string) (why, hint string) {
	host = path.Clean(host)
	top := ""
	for _, entry := range l.HostPaths {
		h := ParseHostPath(entry)
		if h.allows(host) {
			return "", ""
		}
		if above := h.above(host); above != "" {
			top = above
		}
	}
	if top != "" {
		return fmt.Sprintf("%s is not allowed in this resource pool: it allows %s, and no path below as a mount of its own, because a link in %s could lead to any folder of the node",
				document.Clip(host), document.Clip(top), document.Clip(top)),
			fmt.Sprintf("mount %s, and use %s below it in the task", document.Clip(top), document.Clip(strings.TrimPrefix(strings.TrimPrefix(host, top), "/")))
	}
	return document.Clip(host) + " is not allowed in this resource pool", openOnes(l.HostPaths, "allowed_host_paths")
}

// writable reports whether a pool allows tasks to write to a path of the node.
func (l *ContainerLimits) writable(host string) bool {
	return slices.ContainsFunc(l.HostPaths, func(entry string) bool {
		h := ParseHostPath(entry)
		return h.Write && h.allows(path.Clean(host))
	})
}

// operators reports whether a mount is one of the operators' own.
func (l *ContainerLimits) operators(m BindMount) bool {
	return slices.ContainsFunc(l.Operators.BindMounts, func(o BindMount) bool {
		return path.Clean(o.HostPath) == path.Clean(m.HostPath) && o.ContainerPath == m.ContainerPath && (!optional.Value(o.ReadOnly) || optional.Value(m.ReadOnly))
	})
}

// ReadOnly reports whether tasks may only read through a mount, whatever the mount says.
func (l *ContainerLimits) ReadOnly(m BindMount) bool {
	return l != nil && !l.operators(m) && !l.writable(m.HostPath)
}

// unhonouredMounts warns about mounts through which the task can only read, although it asks to write.
func (l *ContainerLimits) unhonouredMounts(k *checker, e Environment, mounts BindMounts) {
	if l == nil {
		return
	}
	warn := func(at string, m BindMount) {
		why, _ := l.closedHost(m.HostPath)
		k.when(why == "" && !optional.Value(m.ReadOnly) && l.ReadOnly(m), at+".read_only",
			fmt.Sprintf("false has no effect: tasks may only read %s in this resource pool", document.Clip(m.HostPath)),
			"operators let tasks write with :rw at the end of an entry in allowed_host_paths")
	}
	for i, m := range mounts {
		warn(document.Index("bind_mounts", i), m)
	}
	if e.Nomad != nil {
		for i, h := range e.Nomad.HostPaths {
			warn(document.Index("environment.nomad.host_paths", i), BindMount{HostPath: h.HostPath, ContainerPath: h.ContainerPath, ReadOnly: &h.ReadOnly})
		}
	}
}
