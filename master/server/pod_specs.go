package server

import (
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
)

// PodLabelConfig says what a label of nodes in Kubernetes means in a pool.
type PodLabelConfig struct {
	// Name of the label.
	Label string `yaml:"label"`
	// Its value; empty for any value.
	Value string `yaml:"value"`
	// Model of GPUs, as in resources.gpu.model.
	GPU string `yaml:"gpu"`
	// Attribute of Nomad's nodes, such as ${node.datacenter}.
	Attribute string `yaml:"attribute"`
	// Value of the attribute, if it is not the label's value.
	Is string `yaml:"is"`
}

// PodLimitConfig says for which devices of the node a resource in Kubernetes stands.
type PodLimitConfig struct {
	// Name of the resource, such as rdma/ib.
	Name string `yaml:"name"`
	// Devices, as in resources.devices.
	Devices []string `yaml:"devices"`
}

// maxPodEntries bounds each table of a pool.
const maxPodEntries = 1000

func (p *PoolConfig) checkPodSpecs(k *checker, at string) {
	if len(p.PodLabels) > maxPodEntries || len(p.PodLimits) > maxPodEntries {
		k.fail(at+".pod_labels", "expected at most %d entries in pod_labels and in pod_limits", maxPodEntries)
		return
	}
	for i, l := range p.PodLabels {
		at := fmt.Sprintf("%s.pod_labels[%d]", at, i)
		switch {
		case l.Label == "":
			k.fail(at+".label", "is required")
		case (l.GPU == "") == (l.Attribute == ""):
			k.fail(at, "needs either gpu or attribute")
		case l.GPU != "" && (l.Value == "" || p.Slots != "device"):
			k.fail(at+".gpu", "needs a value of the label, and a pool with slots: device")
		case l.GPU != "" && l.Is != "":
			k.fail(at+".is", "belongs to attribute, not to gpu")
		case l.Attribute != "" && (!strings.HasPrefix(l.Attribute, "${") || !strings.HasSuffix(l.Attribute, "}")):
			k.fail(at+".attribute", "write a name in braces, such as ${node.datacenter} or ${meta.rack}, found %q", l.Attribute)
		}
	}
	for i, l := range p.PodLimits {
		at := fmt.Sprintf("%s.pod_limits[%d]", at, i)
		if l.Name == "" {
			k.fail(at+".name", "is required")
		}
		for j, d := range l.Devices {
			if device := expconf.ParseDevice(d); !strings.HasPrefix(device.HostPath, "/") || !strings.HasPrefix(device.ContainerPath, "/") {
				k.fail(fmt.Sprintf("%s.devices[%d]", at, j), "expected a path such as /dev/infiniband/uverbs0, or host:container:mode, found %q", d)
			}
		}
	}
}

// podLabels and podLimits are the tables as the other parts of the master use them.
func (p *PoolConfig) podLabels() []expconf.PodLabel {
	return each.Of(p.PodLabels, func(l PodLabelConfig) expconf.PodLabel { return expconf.PodLabel(l) })
}

func (p *PoolConfig) podLimits() []expconf.PodLimit {
	return each.Of(p.PodLimits, func(l PodLimitConfig) expconf.PodLimit { return expconf.PodLimit(l) })
}
