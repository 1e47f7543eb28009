package expconf

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/hostpath"
	"github.com/detent-ml/detent/master/optional"
)

// closedHost returns why a pool does not allow tasks to mount a path of the node, and what to do; "" if it does.
func (l *ContainerLimits) closedHost(host string) (why, hint string) {
	host = path.Clean(host)
	top := ""
	for _, entry := range l.HostPaths {
		h := hostpath.Parse(entry)
		if h.Allows(host) {
			return "", ""
		}
		if above := h.Above(host); above != "" {
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
		h := hostpath.Parse(entry)
		return h.Write && h.Allows(path.Clean(host))
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
