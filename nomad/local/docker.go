package local

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// partDocker is the folder of the cluster's Docker daemon.
const partDocker = "docker"

// upContainers starts what the nodes run containers with, before they look for it.
func (c *Cluster) upContainers(ctx context.Context, report *servers.Reporter) error {
	if c.state.Docker {
		d, err := dockerd.Start(ctx, dockerd.Options{Dir: c.path(partDocker), Reporter: report})
		if err != nil {
			return err
		}
		report.Say("Docker: %s at %s", d.Version, d.Socket)
	}
	if c.state.Podman {
		d, err := dockerd.Start(ctx, dockerd.Options{Dir: c.path(partPodman), Podman: true, Reporter: report})
		if err != nil {
			return err
		}
		report.Say("Podman: %s at %s", d.Version, d.Socket)
	}
	return nil
}

// Docker is the cluster's own daemon, where it has one.
func (c *Cluster) Docker() *dockerd.Docker { return dockerd.Open(c.path(partDocker)) }

// dockerPlugin is the part of a node's configuration that leads to the daemon. All
// nodes share it, so none may remove what it does not know. Host paths can be
// mounted and some capabilities added: what tasks may do with that, the master says.
func (c *Cluster) dockerPlugin() string {
	if !c.state.Docker {
		return ""
	}
	return fmt.Sprintf(`
plugin "docker" {
  config {
    endpoint = "unix://%s"

    volumes {
      enabled = true
    }

    allow_caps = [
      "audit_write", "chown", "dac_override", "fowner", "fsetid", "kill", "mknod", "net_bind_service",
      "setfcap", "setgid", "setpcap", "setuid", "sys_chroot", "ipc_lock", "sys_ptrace",
    ]

    gc {
      image = false

      dangling_containers {
        enabled = false
      }
    }
  }
}
`, filepath.Join(c.path(partDocker), "docker.sock"))
}
