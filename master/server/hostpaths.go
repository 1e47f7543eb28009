package server

import (
	"fmt"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/expconf/hostpath"
)

// A mountable is a folder or file of the nodes that containers mount, and the key that names it.
type mountable struct {
	hostpath.Entry
	key string
}

// checkMounts validates that no task can write to a folder that contains what another container mounts: the
// task could put a link to any other folder of the node there, which the driver would follow as root. Pools may share
// nodes and storage, so it compares the paths of all pools.
func (c *Config) checkMounts(k *checker) {
	all := c.mountables()
	for _, m := range all {
		for _, w := range all {
			if w.Write && m.InWritable(w.Entry) {
				k.fail(m.key, "%q is in a folder to which tasks may write, by %q of %s: a task could put a link to any folder of the node in its place; "+
					"remove one of both, or let tasks only read the outer one", m.Entry, w.Entry, w.key)
			}
		}
	}
}

// mountables lists what containers of all pools mount. Mounts of a pool's own job are the operators' concern.
func (c *Config) mountables() (all []mountable) {
	images := false
	for i, p := range c.Pools {
		if !p.docker() {
			continue
		}
		images = true
		at := fmt.Sprintf("resource_pools[%d]", i)
		for _, entry := range p.Docker.HostPaths {
			all = append(all, mountable{hostpath.Parse(entry), at + ".docker.allowed_host_paths"})
		}
		for _, entry := range p.Docker.Devices {
			dir, each := strings.CutSuffix(entry, "/*")
			all = append(all, mountable{hostpath.Entry{Path: path.Clean("/" + dir), Each: each}, at + ".docker.allowed_devices"})
		}
		if p.Homes != "" {
			all = append(all, mountable{hostpath.Entry{Path: path.Clean("/" + p.Homes), Each: true, Write: true}, at + ".homes"})
		}
		all = append(all, defaultMounts(p.TaskContainerDefaults, at+".task_container_defaults.bind_mounts")...)
	}
	if !images {
		return nil
	}
	if storage, err := c.storage(); err == nil && storage.HostPath != "" {
		all = append(all, mountable{hostpath.Entry{Path: path.Clean("/" + storage.HostPath), Write: true}, "checkpoint_storage.host_path"})
	}
	return append(all, defaultMounts(c.TaskContainerDefaults, "task_container_defaults.bind_mounts")...)
}

// defaultMounts are the mounts that operators give all tasks. Another check reports a section that cannot be read.
func defaultMounts(section any, key string) (all []mountable) {
	d, err := parseTaskDefaults(section)
	if err != nil {
		return nil
	}
	for _, m := range d.BindMounts {
		all = append(all, mountable{hostpath.Entry{Path: path.Clean("/" + m.HostPath), Write: m.ReadOnly == nil || !*m.ReadOnly}, key})
	}
	return all
}
