package jobspecs

import (
	"cmp"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

// network is what the processes of a task are on: what the pool's job says of the group,
// else what it tells the driver. Members on several machines reach each other on ports of
// their own choice, which takes the networks of the nodes, or one of a CNI plugin that the
// operators have laid between their machines. A bridge ends at its machine.
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

// oneMachine tells whether all members are on one: one node, or, for pools whose job
// operators wrote, nodes with the same address.
func (t *Task) oneMachine() bool {
	for _, m := range t.Members[min(1, len(t.Members)):] {
		if t.Pool.Job == nil || m.Address == "" || m.Address != t.Members[0].Address {
			return false
		}
	}
	return true
}

// usesGroupNetwork tells whether Nomad lays the network, and the driver joins it.
func (t *Task) usesGroupNetwork() bool {
	return t.network() != pool.HostNetwork && pool.GroupNetwork(t.base()) != pool.HostNetwork
}

// groupNetwork is the network of a member's group, with the ports that the member wants.
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
