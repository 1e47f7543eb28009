package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
)

// NodeClassConfig describes nodes that an autoscaler can add to a pool.
type NodeClassConfig struct {
	Name       string            `yaml:"class"`
	Slots      int               `yaml:"slots"`
	Model      string            `yaml:"model"`
	Device     map[string]string `yaml:"device"`
	Attributes map[string]string `yaml:"attributes"`
	Max        int               `yaml:"max"`
}

const (
	maxIdle         = Duration(20 * time.Minute) // as in Determined
	maxNodeClasses  = 16
	maxClassSlots   = 1_024
	maxClassNodes   = 1_000
	maxClassDetails = 100
	maxClassText    = 256
)

// checkElastic finds what is wrong with what a pool says of machines that come and go.
func (p *PoolConfig) checkElastic(k *checker, at string) {
	if p.AuxOnSpot && !p.Spot {
		k.fail(at+".aux_on_spot", "requires spot: true; this pool has no spot machines")
	}
	if len(p.Classes) > maxNodeClasses {
		k.fail(at+".node_classes", "expected at most %d classes, found %d", maxNodeClasses, len(p.Classes))
		return
	}
	known := map[string]bool{}
	for i, c := range p.Classes {
		at := fmt.Sprintf("%s.node_classes[%d]", at, i)
		if c.Name == "" || len(c.Name) > 128 || known[c.Name] {
			k.fail(at+".class", "expected the name of a node class in Nomad, up to 128 characters, each class once; found %q", c.Name)
		}
		known[c.Name] = true
		if c.Slots < 1 || c.Slots > maxClassSlots {
			k.fail(at+".slots", "expected the number of slots of a node, 1 to %d, found %d", maxClassSlots, c.Slots)
		}
		if c.Max < 0 || c.Max > maxClassNodes {
			k.fail(at+".max", "expected 0 to %d, found %d", maxClassNodes, c.Max)
		}
		if p.Slots == "cpu" && (c.Model != "" || len(c.Device) > 0) {
			k.fail(at+".model", "a pool with slots: cpu has no devices; remove model and device")
		}
		if p.Slots == "device" && c.Model == "" {
			k.fail(at+".model", "expected the model of the devices as Nomad reports it, such as NVIDIA A100-SXM4-40GB")
		}
		if len(c.Device)+len(c.Attributes) > maxClassDetails {
			k.fail(at, "expected at most %d attributes, found %d", maxClassDetails, len(c.Device)+len(c.Attributes))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Attributes)) {
			if !strings.HasPrefix(name, "attr.") && !strings.HasPrefix(name, "meta.") && name != "node.datacenter" || len(name)+len(c.Attributes[name]) > maxClassText {
				k.fail(at+".attributes", "expected attr.<name>, meta.<name> or node.datacenter, with its value up to %d characters; found %q", maxClassText, name)
			}
		}
	}
}

// lastingPool is the pool for tasks without slots if the configuration names none: the pool for tasks
// with slots, or else the first one, whose machines do not go away; "" if there is none.
func (c *Config) lastingPool() string {
	first := ""
	for _, p := range c.Pools {
		switch {
		case p.Spot && !p.AuxOnSpot:
		case p.Name == c.DefaultComputePool:
			return p.Name
		case first == "":
			first = p.Name
		}
	}
	return first
}

// checkAuxPool: the default pool for tasks without slots must run them.
func (c *Config) checkAuxPool(k *checker) {
	for _, p := range c.Pools {
		if p.Name == c.DefaultAuxPool && p.Spot && !p.AuxOnSpot {
			k.fail("default_aux_resource_pool", "the machines of pool %s can go away at any time (spot: true), so it runs no tasks without slots; name another pool, or set aux_on_spot: true for this one", p.Name)
		}
	}
}

func (p *PoolConfig) classes() []pool.Class {
	return each.Of(p.Classes, func(c NodeClassConfig) pool.Class { return pool.Class(c) })
}
