package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// GPUs are the GPUs of the cluster's nodes.
type GPUs struct {
	// Binary is the path of det-gpu, Nomad's device plugin; "": no GPUs.
	Binary string `json:"binary,omitempty"`
	// Real gives the machine's GPUs to the first node.
	Real bool `json:"real,omitempty"`
	// Simulated is the number of simulated GPUs of each node; a Client may have its own number.
	Simulated int `json:"simulated,omitempty"`
	// None removes the GPUs that the cluster had before.
	None bool `json:"-"`
}

// SimulatedGPUs is the number of simulated GPUs of a node if the machine has none.
const SimulatedGPUs = 4

// probeTimeout limits the search for the machine's GPUs: a defective one can make the driver hang.
const probeTimeout = 20 * time.Second

// ownPlugin is the name of our device plugin. A plugin of somebody else has the machine's GPUs, and simulates none.
const ownPlugin = "det-gpu"

// own reports whether the plugin is ours. Nomad knows a plugin by the name of its program too.
func (g GPUs) own() bool { return filepath.Base(g.Binary) == ownPlugin }

// DefaultGPUs are the machine's GPUs, as the plugin finds them, or else a few simulated ones.
func DefaultGPUs(ctx context.Context, binary string) GPUs {
	if theirs := (GPUs{Binary: binary, Real: true}); !theirs.own() {
		return theirs
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "probe").Output()
	var found struct{ Devices []any }
	if err == nil && json.Unmarshal(out, &found) == nil && len(found.Devices) > 0 {
		return GPUs{Binary: binary, Real: true}
	}
	return GPUs{Binary: binary, Simulated: SimulatedGPUs}
}

// any reports whether a node of the cluster has GPUs.
func (g GPUs) any() bool { return g.Binary != "" && (g.Real || g.Simulated > 0) }

// simulatedOn is the number of simulated GPUs of a node.
func (c *Cluster) simulatedOn(client Client) int {
	switch {
	case c.state.GPUs.Binary == "":
		return 0
	case client.GPUs > 0:
		return client.GPUs
	}
	return c.state.GPUs.Simulated
}

// hasReal reports whether a node has the machine's GPUs. Only one node has, because two would assign
// each GPU twice.
func (c *Cluster) hasReal(client Client) bool {
	return c.state.GPUs.Binary != "" && c.state.GPUs.Real && client.Name == "" && client.GPUs == 0
}

// GPUState is the file with the state of a client's simulated GPUs, "" for the first client. Changes of
// the file take effect within a moment.
func (c *Cluster) GPUState(client string) string { return c.path(clientPart(client), "gpus.yaml") }

// gpuPlugin is the GPU plugin of a client; nil for none.
func (c *Cluster) gpuPlugin(client Client) (*nomadPlugin, error) {
	count := c.simulatedOn(client)
	if count == 0 && !c.hasReal(client) {
		return nil, nil
	}
	binary, err := c.master().copyBinary(c.state.GPUs.Binary)
	if err != nil {
		return nil, fmt.Errorf("the plugin of GPUs: %w", err)
	}
	if count > 0 && !c.state.GPUs.own() {
		return nil, fmt.Errorf("%s simulates no GPUs; only %s does", c.state.GPUs.Binary, ownPlugin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nplugin %q {\n  config {\n", filepath.Base(binary))
	if count > 0 {
		if err := c.writeGPUs(client, count); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "    # Simulated GPUs: the file has their number and health.\n    simulate {\n      state = %q\n    }\n", c.GPUState(client.Name))
	}
	b.WriteString("  }\n}\n")
	return &nomadPlugin{binary: binary, config: b.String()}, nil
}

// writeGPUs writes the state of a client's simulated GPUs, unless the file already has as many.
func (c *Cluster) writeGPUs(client Client, count int) error {
	file := c.GPUState(client.Name)
	have, err := simulated.Read(file)
	if err == nil && len(have.GPUs) == count {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return simulated.Write(file, simulated.Of(count, "", 0).Expand(file))
}

// gpusReady reports whether Nomad has listed the GPUs of a node.
func (c *Cluster) gpusReady(ctx context.Context, client Client) error {
	want := c.simulatedOn(client)
	if c.hasReal(client) {
		want = 1
	}
	if want == 0 {
		return nil
	}
	nomad, err := c.Nomad()
	if err != nil {
		return err
	}
	query := (&api.QueryOptions{Params: map[string]string{"resources": "true"}}).WithContext(ctx)
	nodes, _, err := nomad.Nodes().List(query)
	if err != nil {
		return err
	}
	count := 0
	for _, n := range nodes {
		if n.Name != c.nodeName(client.Name) || n.NodeResources == nil {
			continue
		}
		for _, group := range n.NodeResources.Devices {
			count += len(group.Instances)
		}
	}
	if count < want {
		return fmt.Errorf("the node %s has registered %d of %d GPUs", c.nodeName(client.Name), count, want)
	}
	return nil
}

// pools adds a pool of the GPUs, and one for work without GPUs, if the master's configuration names no
// pools.
func (c masterServer) pools(given map[string]any, env map[string]string) {
	if _, named := given["resource_pools"]; named || !c.state.GPUs.any() {
		return
	}
	kind := "GPUs of this machine"
	if !c.state.GPUs.Real {
		kind = "simulated GPUs"
	}
	env["DETENT_RESOURCE_POOLS"] = fmt.Sprintf(`[{name: default, description: %q, slots: device, device: nvidia/gpu, driver: raw_exec},`+
		` {name: aux, description: %q, slots: cpu, driver: raw_exec, slots_per_node: %d, memory_mb_per_slot: 256}]`,
		kind, "cores, for work without GPUs", max(c.state.Slots, runtime.NumCPU()))
	env["DETENT_DEFAULT_AUX_RESOURCE_POOL"] = "aux"
}
