package server

import (
	"strings"
	"testing"
	"time"
)

func TestMachinesThatComeAndGo(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	cfg, err := load(t, `
resource_pools:
  - name: spot
    spot: true
    max_idle_agent_period: 3m
    slots: device
    device: nvidia/gpu
    node_classes:
      - {class: g5, slots: 1, model: NVIDIA A10G, device: {memory: 23028 MiB}, attributes: {attr.cpu.arch: amd64, node.datacenter: east}, max: 20}
      - {class: p4d, slots: 8, model: NVIDIA A100-SXM4-40GB}
  - {name: steady}
`, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := poolsOf(t, cfg)
	p := set.Named("spot")
	if !p.Spot || p.AuxOnSpot || p.MaxIdle != 3*time.Minute || !p.Compute || p.Aux || len(p.Classes) != 2 || p.Classes[0].Device["memory"] != "23028 MiB" || p.Classes[0].Max != 20 {
		t.Errorf("%+v", p)
	}
	if p := set.Named("steady"); p.Spot || p.MaxIdle != 20*time.Minute || !p.Aux {
		t.Errorf("%+v", p)
	}
}

func TestWrongMachinesThatComeAndGo(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	for pools, want := range map[string]string{
		"[{name: a, spot: true}]":                                                          "default_aux_resource_pool: the machines of pool a can go away at any time",
		"[{name: a, aux_on_spot: true}]":                                                   "resource_pools[0].aux_on_spot: requires spot: true",
		"[{name: a, max_idle_agent_period: soon}]":                                         "is not a duration",
		"[{name: a, node_classes: [{slots: 2}]}]":                                          "resource_pools[0].node_classes[0].class: expected the name of a node class",
		"[{name: a, node_classes: [{class: c, slots: 2}, {class: c}]}]":                    "resource_pools[0].node_classes[1].class: expected the name of a node class",
		"[{name: a, node_classes: [{class: c}]}]":                                          "node_classes[0].slots: expected the number of slots of a node, 1 to 1024, found 0",
		"[{name: a, node_classes: [{class: c, slots: 1, max: 1001}]}]":                     "node_classes[0].max: expected 0 to 1000, found 1001",
		"[{name: a, node_classes: [{class: c, slots: 1, model: x}]}]":                      "a pool with slots: cpu has no devices",
		"[{name: a, slots: device, device: x/y, node_classes: [{class: c, slots: 1}]}]":    "node_classes[0].model: expected the model of the devices",
		"[{name: a, node_classes: [{class: c, slots: 1, attributes: {rack: r7}}]}]":        `node_classes[0].attributes: expected attr.<name>, meta.<name> or node.datacenter`,
		"[{name: a, node_classes: [" + strings.Repeat("{class: c, slots: 1},", 17) + "]}]": "expected at most 16 classes, found 17",
	} {
		if _, err := load(t, "resource_pools: "+pools, env, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", pools, err, want)
		}
	}
}
