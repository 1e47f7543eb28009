// Program det-scaler has two plugins of HashiCorp's nomad-autoscaler: gauges, with which its policies
// read a Detent master's figures about pools, and nodes, which lets an operator's program add and
// remove nodes. It is a module of its own because the autoscaler's plugin interface needs other
// versions of its libraries than Nomad's, which det-gpu uses.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad-autoscaler/plugins"
)

const usage = `det-scaler has plugins of nomad-autoscaler, which starts it by itself. Put it into the
plugin_dir of the autoscaler, and name the plugin in the configuration:

  apm "detent"    { driver = "det-scaler" args = ["gauges"] config = { address = "http://master:8080" } }
  target "detent" { driver = "det-scaler" args = ["nodes"]  config = { command = "/etc/detent/nodes" } }
`

func main() {
	started := os.Getenv(plugins.Handshake.MagicCookieKey) == plugins.Handshake.MagicCookieValue
	switch {
	case started && len(os.Args) == 2 && os.Args[1] == "gauges":
		plugins.Serve(func(log hclog.Logger) any { return &gauges{log: log} })
	case started && len(os.Args) == 2 && os.Args[1] == "nodes":
		plugins.Serve(func(log hclog.Logger) any { return &nodes{log: log} })
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}
