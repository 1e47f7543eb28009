package local

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/nomad/servers"
)

// podmanDriver is Nomad's plugin for Podman's service, one of the servers in package servers.
const podmanDriver = "nomad-driver-podman"

// podmanPlugin is the nodes' plugin for the service; nil for a cluster without Podman. The plugin does
// not restart an ended container when the node's agent restarts, because an attempt runs once. It waits
// an hour for Podman's answers: stopping a container may take the whole kill timeout.
func (c *Cluster) podmanPlugin(ctx context.Context, report *servers.Reporter) (*nomadPlugin, error) {
	if c.state.PodmanSocket == "" {
		return nil, nil
	}
	binary, err := c.program(ctx, podmanDriver, report)
	if err != nil {
		return nil, err
	}
	kept, err := c.master().copyBinary(binary.Path)
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
`, podmanDriver, c.state.PodmanSocket)}, nil
}
