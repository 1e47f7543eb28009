package local

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

const (
	// partPodman is the folder of the cluster's Podman service.
	partPodman = "podman"
	// podmanDriver is Nomad's plugin for it, a server of package servers.
	podmanDriver = "nomad-driver-podman"
)

// Podman is the cluster's own service, where it has one.
func (c *Cluster) Podman() *dockerd.Docker { return dockerd.OpenPodman(c.path(partPodman)) }

// podmanPlugin is the nodes' plugin for the service; nil for a cluster without Podman. The
// plugin does not start an ended container again when the node's agent restarts, because an
// attempt runs once. It waits an hour for Podman's answers: stopping a container may take
// the whole kill timeout.
func (c *Cluster) podmanPlugin(ctx context.Context, report *servers.Reporter) (*nomadPlugin, error) {
	if !c.state.Podman {
		return nil, nil
	}
	binary, err := servers.Ensure(ctx, podmanDriver, report)
	if err != nil {
		return nil, err
	}
	kept, err := c.copyBinary(binary.Path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", podmanDriver, err)
	}
	return &nomadPlugin{binary: kept, config: fmt.Sprintf(`
plugin %q {
  config {
    socket_path         = "unix://%s"
    recover_stopped     = false
    client_http_timeout = "1h"

    volumes {
      enabled = true
    }
  }
}
`, podmanDriver, c.Podman().Socket)}, nil
}
