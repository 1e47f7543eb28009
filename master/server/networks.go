package server

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/master/pool"
)

// The networks of tasks. A task on one node needs no port of the node but that of its
// runner, so in a container it gets a network of its own, in which it does not reach
// what listens on the node's loopback; on one that operators have made for tasks, it does
// not reach other tasks' ports either. Attempts of several nodes use the nodes' networks,
// whatever the pool says.

// metadataHosts are the names under which clouds tell a machine its credentials.
func metadataHosts() []string {
	return []string{"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal",
		"metadata.tencentyun.com", "metadata.platformequinix.com"}
}

// hosts makes those names lead nowhere in a container, unless the pool allows them.
func (d DockerConfig) hosts() []string {
	if d.CloudMetadata {
		return nil
	}
	var list []string
	for _, name := range metadataHosts() {
		list = append(list, name+":0.0.0.0")
	}
	return list
}

// network is that of tasks of a pool that are on one node: the pool's choice, else a
// bridge for containers that reach a master from there.
func (p PoolConfig) network(c Config) string {
	switch {
	case p.NetworkMode != "":
		return p.NetworkMode
	case p.docker() && !loopbackOnly(c.TaskURLs):
		return pool.BridgeNetwork
	}
	return pool.HostNetwork
}

// loopbackOnly tells whether no address can be reached from another network.
func loopbackOnly(addresses []string) bool {
	for _, a := range addresses {
		u, err := url.Parse(a)
		if err != nil {
			continue
		}
		ip := net.ParseIP(u.Hostname())
		if u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

var networkName = regexp.MustCompile(`^(cni/)?[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// checkNetwork finds what is wrong with a pool's choice.
func (p PoolConfig) checkNetwork(k *checker, at string, taskURLs []string) {
	at += ".network_mode"
	mode := p.NetworkMode
	switch {
	case mode == "" || mode == pool.HostNetwork:
		return
	case !networkName.MatchString(mode):
		k.fail(at, "expected host, bridge or the name of a network, found %q", mode)
	case p.Driver == "raw_exec":
		k.fail(at, "with driver: raw_exec tasks use the network of their node; found %q", mode)
	case p.Driver == "exec" && mode != pool.BridgeNetwork && !strings.HasPrefix(mode, "cni/"):
		k.fail(at, "with driver: exec expected host, bridge or cni/<name>, the last two on nodes with Nomad's CNI plugins; found %q", mode)
	case p.docker() && strings.HasPrefix(mode, "cni/"):
		k.fail(at, "with driver: %s expected host, bridge or the name of a network of %s; found %q", p.Driver, map[string]string{pool.Docker: "Docker's", pool.Podman: "Podman's"}[p.Driver], mode)
	case loopbackOnly(taskURLs):
		k.fail(at, "tasks in a network of their own cannot reach a master at %s; give task_urls an address of this machine that they reach, or choose host", strings.Join(taskURLs, ", "))
	}
}
