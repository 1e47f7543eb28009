// Program det-gpu is a Nomad device plugin: NVIDIA's GPUs with their health, or simulated GPUs.
// Nomad finds it in the plugin_dir of its clients and starts it. det-gpu probe prints what the
// plugin would report to Nomad.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/gpu/gpus"
	"github.com/detent-ml/detent/plugins/gpu/nvidia"
	"github.com/detent-ml/detent/plugins/gpu/plugin"
)

const usage = `det-gpu is a device plugin of Nomad. Put it into the plugin_dir of a Nomad client,
which starts it by itself; its configuration is the block plugin "det-gpu" of the agent.

  det-gpu probe     list this machine's GPUs in JSON, with what is wrong with them
  det-gpu version   say which version this is
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0 && os.Getenv(base.Handshake.MagicCookieKey) == base.Handshake.MagicCookieValue:
		serve()
		return 0
	case len(args) == 1 && args[0] == "probe":
		if err := probe(stdout); err != nil {
			fmt.Fprintln(stderr, "det-gpu:", err)
			return 1
		}
		return 0
	case len(args) == 1 && args[0] == "version":
		kind := "with NVIDIA's library"
		if !nvidia.Linked {
			kind = "simulation only"
		}
		fmt.Fprintf(stdout, "det-gpu %s, %s\n", v1.Version, kind)
		return 0
	}
	fmt.Fprint(stderr, usage)
	return 2
}

// orphanLook is the time between two checks whether Nomad still runs.
const orphanLook = time.Second

// serve runs the plugin until Nomad ends it. Nothing else may write to standard output: Nomad reads
// the plugin's address there.
//
// A killed Nomad cannot end its plugins, and starts new ones when it restarts; so this process ends
// with the process that started it.
func serve() {
	log := hclog.New(&hclog.LoggerOptions{Name: plugin.Name, Level: hclog.Trace, JSONFormat: true})
	go func() {
		parent := os.Getppid()
		for tick := time.NewTicker(orphanLook); ; <-tick.C {
			if os.Getppid() != parent {
				os.Exit(0)
			}
		}
	}()
	p := plugin.New(v1.Version, log)
	device.Serve(p, log)
	if err := p.Close(); err != nil {
		log.Warn("could not release the GPUs", "error", err)
	}
}

// found is a device in the output of probe.
type found struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	MemoryMiB  uint64 `json:"memory_mib"`
	BusID      string `json:"bus_id"`
	Capability string `json:"compute_capability"`
	Unfit      string `json:"unfit,omitempty"`
	Group      string `json:"link_group,omitempty"` // the same word for linked devices
}

func probe(w io.Writer) error {
	source, err := nvidia.Open()
	if err != nil {
		return err
	}
	defer source.Close()
	scan, err := source.Scan()
	if err != nil {
		return err
	}
	list := []found{}
	for _, d := range gpus.NewMonitor(gpus.Policy{}).Judge(scan, nil, time.Time{}) {
		list = append(list, found{d.ID, d.Model, d.MemoryMiB, d.BusID, d.Capability, d.Why, d.Group})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"driver": scan.Driver, "cuda": scan.CUDA, "devices": list})
}
