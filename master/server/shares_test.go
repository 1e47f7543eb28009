package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/master/store"
)

// machine is a node of 16 cores at 2.5 GHz with 128 GB and two GPUs.
func machine() cluster.Node {
	gpus := []sched.Slot{{Device: "GPU-a", Healthy: true, Enabled: true}, {Device: "GPU-b", Healthy: true, Enabled: true}}
	return cluster.Node{Cores: 16, FreeCores: 16, MHz: 40000, FreeMHz: 40000, MemoryMB: 128000, FreeMemoryMB: 128000,
		Devices: map[string][]sched.Slot{"nvidia/gpu": gpus}}
}

// TestSlotShare: Nomad is told what a slot takes of its node, and all slots fit.
func TestSlotShare(t *testing.T) {
	gpu := pool.Slots{Kind: pool.DeviceSlots, Device: "nvidia/gpu", CoresPerSlot: 4}
	busy := machine()
	busy.FreeMemoryMB, busy.FreeMHz = 64000, 8000
	busy.Devices["nvidia/gpu"][1].Taken = "somebody else's job"
	own := gpu
	own.MemoryMBPerSlot = 500
	for name, c := range map[string]struct {
		pool        pool.Slots
		node        cluster.Node
		memory, mhz int
	}{
		"GPUs share the node":      {gpu, machine(), 56000, 10000},
		"others hold a part":       {gpu, busy, 56000, 7000},
		"the pool says how much":   {own, machine(), 500, 10000},
		"cores":                    {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 4, MemoryMBPerSlot: 2000}, machine(), 2000, 8750},
		"few cores of many":        {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 32000}, machine(), 32000, 2500},
		"as many as the pool says": {pool.Slots{Kind: pool.CPUSlots, CoresPerSlot: 1, MemoryMBPerSlot: 512, PerNode: 4}, machine(), 512, 100},
		"a node that is not known": {gpu, cluster.Node{}, 1024, 400},
	} {
		t.Run(name, func(t *testing.T) {
			memory, mhz := slotShare(c.pool, c.node)
			if memory != c.memory || mhz != c.mhz {
				t.Errorf("a slot is %d MB and %d MHz, want %d and %d", memory, mhz, c.memory, c.mhz)
			}
		})
	}
}

// TestMemoryThatATaskAsksFor is resources.memory, on each node.
func TestMemoryThatATaskAsksFor(t *testing.T) {
	cfg, err := load(t, "resource_pools: [{name: gpu, slots: device, device: nvidia/gpu}]", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &master{cfg: cfg, pools: poolsOf(t, cfg)}
	node, err := json.Marshal(machine())
	if err != nil {
		t.Fatal(err)
	}
	for more, want := range map[string]int{"": 56000, "resources: {memory: 100GiB}": 100 << 10, "resources: {memory: 67108865}": 65} {
		s := attempt(t, cfg, "gpu", more)
		s.Nodes = map[string]json.RawMessage{"n1": node}
		got, err := m.member(&m.pools[0], s, store.LiveMember{NodeID: "n1", SlotIDs: []int32{0}})
		if err != nil || got.MemoryMB != want {
			t.Errorf("with %q it gets %d MB, want %d: %v", more, got.MemoryMB, want, err)
		}
	}
}

// TestNetworksOfPools: containers get a bridge where they reach a master from it.
func TestNetworksOfPools(t *testing.T) {
	for settings, want := range map[string]string{
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker}]":                        "bridge",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: host}]":    "host",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: fenced}]":  "fenced",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec}]":                          "host",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec, network_mode: cni/tasks}]": "cni/tasks",
		"resource_pools: [{name: a, driver: docker}]":                                                          "host",
	} {
		cfg, err := load(t, settings, []string{"DETENT_DATABASE=postgres://a/b"}, nil)
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		if got := cfg.Pools[0].network(cfg); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
	for settings, says := range map[string]string{
		"resource_pools: [{name: a, driver: docker, network_mode: bridge}]":                                      "cannot reach a master",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: raw_exec, network_mode: bridge}]":  "raw_exec",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: exec, network_mode: fenced}]":      "CNI plugins",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: 'x y'}]":     "name of a network",
		"public_url: http://10.0.0.5:8080\nresource_pools: [{name: a, driver: docker, network_mode: cni/tasks}]": "Docker's",
	} {
		if _, err := load(t, settings, []string{"DETENT_DATABASE=postgres://a/b"}, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// TestTwoRolesOfVault: a task signs in to Vault once. Where its checkpoints take that
// role, the master reads the registry's credentials for the job.
func TestTwoRolesOfVault(t *testing.T) {
	own := pool.Registry{VaultPath: "kv/data/registry", VaultRole: "det-registry"}
	login := func(path string) (secrets.Login, error) { return secrets.Login{Username: "robot", Password: path}, nil }
	for name, c := range map[string]struct {
		credentials *jobspecs.Credentials
		role        string
		variables   bool
	}{
		"no checkpoints in S3":   {nil, "det-registry", false},
		"another role":           {&jobspecs.Credentials{Role: "det-task", Engine: "aws"}, "det-registry", true},
		"the same role":          {&jobspecs.Credentials{Role: "det-task", Engine: "aws"}, "det-task", false},
		"an identity of Nomad's": {&jobspecs.Credentials{Audience: "sts"}, "det-registry", false},
	} {
		t.Run(name, func(t *testing.T) {
			own.VaultRole = c.role
			task := jobspecs.Task{AllocationID: "1.t.1", Credentials: c.credentials, Container: &jobspecs.Container{Image: "x"}}
			if err := registryOf(&task, nil, own, login); err != nil {
				t.Fatal(err)
			}
			r := task.Container.Registry
			if c.variables != (r.Provider == jobspecs.SecretsInNomad) || c.variables != (task.Variables["password"] == "kv/data/registry") {
				t.Errorf("credentials are at %+v, with %v", r, task.Variables)
			}
		})
	}
}

// TestAccountsOutsideDocker: who is linked to an account of the nodes is told that a
// pool cannot use it.
func TestAccountsOutsideDocker(t *testing.T) {
	cfg, err := load(t, "nomad: {datacenters: [north, 'south-*']}\nresource_pools: [{name: a, driver: exec}]", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &master{cfg: cfg, pools: poolsOf(t, cfg)}
	s := attempt(t, cfg, "a", "")
	task, err := m.task(s, &m.pools[0])
	if err != nil || strings.Join(task.Pool.Datacenters, " ") != "north south-*" {
		t.Errorf("datacenters %v: %v", task.Pool.Datacenters, err)
	}
	s.Account, s.Owner = "1234:1235", "alice"
	if _, err := m.task(s, &m.pools[0]); err == nil || !strings.Contains(err.Error(), "alice is linked to the account 1234:1235") {
		t.Errorf("got %v", err)
	}
}
