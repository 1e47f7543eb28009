package dockerd

import (
	"context"
	"path/filepath"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/debian"
)

// CNI has the programs that a Nomad node needs for the network mode bridge.
type CNI struct {
	Plugins string // the folder of the plugins, for Nomad's client.cni_path
	Path    string // a PATH with the firewall's programs, which the plugins and Nomad call
}

// FindCNI finds the plugins and the firewall's programs on this machine, or fetches them.
func FindCNI(ctx context.Context, report *servers.Reporter) (CNI, error) {
	wall, err := firewall().Find(ctx, debian.MachinePath(), report)
	if err != nil {
		return CNI{}, orNone(err)
	}
	set := debian.Set{Name: "cni", Title: "CNI plugins", Programs: []string{"bridge", "firewall", "host-local", "loopback", "portmap"},
		Packages: []string{"containernetworking-plugins"}, Folders: []string{"usr/lib/cni"}}
	plugins, err := set.Find(ctx, "/opt/cni/bin:/usr/lib/cni", report)
	if err != nil {
		return CNI{}, orNone(err)
	}
	return CNI{Plugins: filepath.Dir(plugins.Programs["bridge"]), Path: wall.Path}, nil
}
