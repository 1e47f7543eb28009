package server

import (
	"path"
	"strings"

	"github.com/detent-ml/detent/master/expconf/hostpath"
	"github.com/detent-ml/detent/master/pool"
)

// checkHomes validates the folder of a pool's homes: no task may be allowed to mount it, or a folder
// above or below it, because then it could read what other users keep there.
func (c *Config) checkHomes(k *checker, at string, p PoolConfig) {
	if p.Homes == "" {
		return
	}
	at += ".homes"
	homes := path.Clean(p.Homes)
	switch {
	case !path.IsAbs(homes) || homes == "/" || strings.Contains(homes, ":"):
		k.fail(at, "expected the absolute path of a folder of the nodes, without a colon, found %q", p.Homes)
		return
	case p.Driver == pool.Exec:
		k.fail(at, "tasks of driver exec see only the root that Nomad makes for them; use docker or podman")
	}
	for _, other := range c.Pools {
		for _, open := range other.Docker.HostPaths {
			if overlaps(hostpath.Parse(open).Path, homes) {
				k.fail(at, "%q in allowed_host_paths of pool %s lets tasks mount the folders of all users", open, other.Name)
			}
		}
	}
	if storage, err := c.storage(); err == nil && storage.HostPath != "" && overlaps(storage.HostPath, homes) {
		k.fail(at, "checkpoint_storage.host_path %q lets tasks mount the folders of all users", storage.HostPath)
	}
}

// overlaps reports whether one of two folders contains the other.
func overlaps(a, b string) bool {
	a, b = strings.TrimSuffix(path.Clean("/"+a), "/")+"/", strings.TrimSuffix(path.Clean("/"+b), "/")+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
