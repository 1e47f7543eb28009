package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/nomad/servers/turn"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// program writes a shell script.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "det-gpu")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultGPUs(t *testing.T) {
	for script, want := range map[string]GPUs{
		`[ "$1" = probe ] && echo '{"driver": "550", "devices": [{"id": "GPU-1"}]}'`: {Real: true},
		`echo '{"driver": "550", "devices": []}'`:                                    {Simulated: SimulatedGPUs},
		`echo "no driver" >&2; exit 1`:                                               {Simulated: SimulatedGPUs},
		`echo nonsense`:                                                              {Simulated: SimulatedGPUs},
	} {
		want.Binary = program(t, script)
		if got := DefaultGPUs(t.Context(), want.Binary); got != want {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

// TestGPUsOfNodes: which nodes have which GPUs, in the agents' configuration.
func TestGPUsOfNodes(t *testing.T) {
	c := &Cluster{dir: t.TempDir()}
	main, second, own := Client{}, Client{Name: "second"}, Client{Name: "own", GPUs: 2}
	expect := func(what string, client Client, words string, count int) {
		t.Helper()
		text, err := c.plugins(t.Context(), client, nil)
		if err != nil {
			t.Fatal(err)
		}
		if words == "" && text != "" || !strings.Contains(text, words) {
			t.Errorf("%s: %q", what, text)
		}
		if state, err := simulated.Read(c.GPUState(client.Name)); count > 0 && (err != nil || len(state.GPUs) != count) {
			t.Errorf("%s: %+v, %v", what, state, err)
		}
	}
	expect("without a plugin", own, "", 0)
	c.state.GPUs = GPUs{Binary: program(t, ""), Simulated: 4}
	expect("simulated", main, c.GPUState(""), 4)
	expect("simulated elsewhere", second, c.GPUState("second"), 4)
	expect("a number of its own", own, "simulate {", 2)

	changed, err := simulated.Read(c.GPUState(""))
	if err != nil {
		t.Fatal(err)
	}
	changed.GPUs[1].Unhealthy = "it smells"
	if err := simulated.Write(c.GPUState(""), changed); err != nil {
		t.Fatal(err)
	}
	expect("what was changed stays", main, "plugin_dir", 4)
	if state, _ := simulated.Read(c.GPUState("")); state.GPUs[1].Unhealthy == "" {
		t.Error("a state that somebody changed was written anew")
	}
	c.state.GPUs.Simulated = 3
	expect("another number", main, "plugin_dir", 3)

	c.state.GPUs = GPUs{Binary: c.state.GPUs.Binary, Real: true}
	expect("real", main, `plugin "det-gpu"`, 0)
	if text, _ := c.plugins(t.Context(), main, nil); strings.Contains(text, "simulate") {
		t.Errorf("real: %s", text)
	}
	expect("the machine's GPUs are given once", second, "", 0)
	theirs := filepath.Join(t.TempDir(), "nomad-device-nvidia")
	if err := os.Symlink(program(t, ""), theirs); err != nil {
		t.Fatal(err)
	}
	if c.state.GPUs = DefaultGPUs(t.Context(), theirs); !c.state.GPUs.Real {
		t.Errorf("a plugin of somebody else: %+v", c.state.GPUs)
	}
	expect("a plugin of somebody else", main, `plugin "nomad-device-nvidia"`, 0)
	if _, err := c.plugins(t.Context(), own, nil); err == nil || !strings.Contains(err.Error(), "simulates no GPUs") {
		t.Errorf("simulated GPUs of a plugin of somebody else: %v", err)
	}
	c.state.GPUs = GPUs{Binary: program(t, ""), Real: true}
	if err := os.WriteFile(c.GPUState("own"), []byte("gpus: 7"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.plugins(t.Context(), own, nil); err == nil || !strings.Contains(err.Error(), c.GPUState("own")) {
		t.Errorf("a state that cannot be read: %v", err)
	}
}

// TestPoolsOfTheMaster: the master has a pool of GPUs and one of cores, unless the configuration
// names other pools.
func TestPoolsOfTheMaster(t *testing.T) {
	c := &Cluster{dir: t.TempDir()}
	env := map[string]string{}
	if c.master().pools(nil, env); len(env) > 0 {
		t.Errorf("without GPUs: %v", env)
	}
	c.state.GPUs = GPUs{Binary: "det-gpu", Simulated: 4}
	c.state.Slots = 99
	if c.master().pools(nil, env); env["DETENT_DEFAULT_AUX_RESOURCE_POOL"] != "aux" {
		t.Errorf("%v", env)
	}
	var pools []map[string]any
	if err := yaml.Unmarshal([]byte(env["DETENT_RESOURCE_POOLS"]), &pools); err != nil {
		t.Fatal(err)
	}
	if len(pools) != 2 || pools[0]["device"] != "nvidia/gpu" || pools[0]["description"] != "simulated GPUs" || fmt.Sprint(pools[1]["slots_per_node"]) != "99" {
		t.Errorf("%v", pools)
	}
	clear(env)
	c.state.Master.Config = "resource_pools: [{name: mine}]"
	given, err := c.master().given()
	if err != nil {
		t.Fatal(err)
	}
	if c.master().pools(given, env); len(env) > 0 {
		t.Errorf("with pools in the configuration: %v", env)
	}
}

// TestGPUsInTheCluster: the nodes of a cluster have GPUs when Up returns, and Nomad soon reports changes
// of their state files. This cluster has no Consul.
func TestGPUsInTheCluster(t *testing.T) {
	turn.First(t)
	ctx, opts := t.Context(), testOptions(t)
	opts.GPUs = GPUs{Binary: filepath.Join(t.TempDir(), "det-gpu"), Simulated: 4}
	cmd := exec.Command("go", "build", "-o", opts.GPUs.Binary, "../../plugins/gpu")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	opts.NoConsul = true
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddClient(ctx, Client{Name: "two", GPUs: 2}); err != nil {
		t.Fatal(err)
	}
	d := c.Describe(ctx)
	for _, p := range d.Parts {
		if strings.HasPrefix(p.Name, "consul") || !p.Healthy {
			t.Errorf("%+v", p)
		}
	}
	if d.ConsulURL != "" || c.HasConsul() {
		t.Errorf("a cluster without Consul: %+v", d)
	}
	client, err := c.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	health := func() (map[string][]string, error) {
		nodes, _, err := client.Nodes().List(&api.QueryOptions{Params: map[string]string{"resources": "true"}})
		all := map[string][]string{}
		for _, n := range nodes {
			for _, g := range n.NodeResources.Devices {
				for _, d := range g.Instances {
					all[n.Name] = append(all[n.Name], d.HealthDescription)
				}
			}
		}
		return all, err
	}
	if got, err := health(); err != nil || len(got["test"]) != 4 || len(got["test-two"]) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	state, err := simulated.Read(c.GPUState("two"))
	if err != nil {
		t.Fatal(err)
	}
	state.GPUs[0].Lost = true
	if err := simulated.Write(c.GPUState("two"), state); err != nil {
		t.Fatal(err)
	}
	within(t, agentStartTime, "a lost GPU", func() error {
		got, err := health()
		if err == nil && !strings.Contains(strings.Join(got["test-two"], ""), "fell off the bus") {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
	if got, _ := health(); strings.Join(got["test"], "") != "" {
		t.Errorf("the other node's GPUs: %v", got)
	}
}
