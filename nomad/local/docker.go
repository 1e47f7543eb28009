package local

import (
	"context"
	"fmt"
)

// Containers is a daemon with which nodes run containers: Docker's, or Podman's service. The caller
// starts it; only tests do.
type Containers struct {
	Socket string                          // path of its Unix socket
	Stop   func(ctx context.Context) error // stops it when the cluster goes down
	// Logins is the path of a Docker configuration with credentials of registries for the nodes; "" for none.
	Logins string
}

// setDaemons stores the container daemons of the options, for the configuration of the nodes and for Down.
func (c *Cluster) setDaemons(opts Options) {
	c.daemons = nil
	if opts.Docker != nil {
		c.state.DockerLogins = opts.Docker.Logins
	}
	for _, d := range []struct {
		title  string
		socket *string
		given  *Containers
	}{{"Podman", &c.state.PodmanSocket, opts.Podman}, {"Docker", &c.state.DockerSocket, opts.Docker}} {
		if d.given != nil {
			*d.socket = d.given.Socket
			c.daemons = append(c.daemons, daemon{d.title, d.given.Stop})
		}
	}
}

// A daemon is a container daemon of the cluster.
type daemon struct {
	title string
	stop  func(ctx context.Context) error
}

// dockerPlugin is the part of a node's configuration with the daemon. All nodes share the daemon, so
// none may remove containers that it does not know. Tasks may mount host paths and add some
// capabilities; the master limits both.
func (c *Cluster) dockerPlugin() string {
	if c.state.DockerSocket == "" {
		return ""
	}
	logins := ""
	if c.state.DockerLogins != "" {
		logins = fmt.Sprintf("\n    auth {\n      config = %q\n    }\n", c.state.DockerLogins)
	}
	return fmt.Sprintf(`
plugin "docker" {
  config {
    endpoint = "unix://%s"
%s
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
`, c.state.DockerSocket, logins)
}
