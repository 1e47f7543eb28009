package jobspecs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

// network is the network mode of a task's processes: the mode that the pool's job sets for
// the group, else the mode that it sets for the driver. Members on several machines connect
// to each other on ports that they choose themselves. That works only on the nodes' own
// networks, or on a network between machines that a CNI plugin makes; a bridge connects the
// containers of one machine only.
func (t *Task) network() string {
	mode := pool.GroupNetwork(t.base())
	if mode == pool.HostNetwork && t.Pool.HasImages() {
		if own, ok := t.base().TaskGroups[0].Tasks[0].Config["network_mode"].(string); ok {
			mode = own
		}
	}
	if !t.oneMachine() && !strings.HasPrefix(mode, pool.CNIPrefix) {
		return pool.HostNetwork
	}
	return cmp.Or(mode, pool.HostNetwork)
}

// oneMachine reports whether all members run on one machine: on one node, or, for pools with
// a job of the operators, on nodes with the same address.
func (t *Task) oneMachine() bool {
	return !slices.ContainsFunc(t.Members[min(1, len(t.Members)):], func(m Member) bool {
		return t.Pool.Job == nil || m.Address == "" || m.Address != t.Members[0].Address
	})
}

// usesGroupNetwork reports whether Nomad creates the network and the driver joins it.
func (t *Task) usesGroupNetwork() bool {
	return t.network() != pool.HostNetwork && pool.GroupNetwork(t.base()) != pool.HostNetwork
}

// groupNetwork is the network block of a member's group, with the ports that the member needs.
func (t *Task) groupNetwork() *api.NetworkResource {
	network := &api.NetworkResource{Mode: pool.HostNetwork, DynamicPorts: []api.Port{{Label: RunnerPort}}}
	if t.usesGroupNetwork() {
		network.Mode = t.network()
	}
	for _, own := range t.base().TaskGroups[0].Networks {
		if own.Mode == network.Mode {
			network.DNS, network.CNI = own.DNS, own.CNI
		}
	}
	for _, label := range t.Ports {
		network.DynamicPorts = append(network.DynamicPorts, api.Port{Label: label})
	}
	return network
}
