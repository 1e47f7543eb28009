package server

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
)

// The networks of tasks. A task on one node needs only the port of its runner, so in a
// container it gets its own network, from which it cannot reach ports on the node's loopback.
// In a network that operators have made for tasks, it cannot reach the ports of other tasks
// either. Attempts on several nodes use the nodes' networks, regardless of the pool's setting.

// metadataHosts are the host names of the servers from which machines in a cloud get
// credentials.
func metadataHosts() []string {
	return []string{"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal",
		"metadata.tencentyun.com", "metadata.platformequinix.com"}
}

// hosts are lines for a container's hosts file, so that the names of metadata servers do not resolve to
// these servers, unless the pool allows it.
func (d DockerConfig) hosts() []string {
	if d.CloudMetadata {
		return nil
	}
	return each.Of(metadataHosts(), func(name string) string { return name + ":0.0.0.0" })
}

// network is the network of a pool's tasks on one node: the pool's choice, or else a bridge if
// containers can reach a master from a bridge.
func (p PoolConfig) network(c Config) string {
	switch {
	case p.NetworkMode != "":
		return p.NetworkMode
	case p.docker() && !loopbackOnly(c.TaskURLs):
		return pool.BridgeNetwork
	}
	return pool.HostNetwork
}

// loopbackOnly reports whether no address can be reached from another network.
func loopbackOnly(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool {
		u, err := url.Parse(a)
		return err == nil && u.Hostname() != "localhost" && !loopback(u.Hostname())
	})
}

var networkName = regexp.MustCompile(`^(cni/)?[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// checkNetwork validates the network_mode of a pool.
func (p PoolConfig) checkNetwork(k *checker, at string, taskURLs []string) {
	at += ".network_mode"
	mode := p.NetworkMode
	switch {
	case mode == "" || mode == pool.HostNetwork:
		return
	case !networkName.MatchString(mode):
		k.fail(at, "expected host, bridge or the name of a network, found %q", mode)
	case p.Driver == "raw_exec":
		k.fail(at, "must not be set with driver: raw_exec, whose tasks use the node's network; found %q", mode)
	case p.Driver == "exec" && mode != pool.BridgeNetwork && !strings.HasPrefix(mode, "cni/"):
		k.fail(at, "expected host, bridge or cni/<name> with driver: exec, the last two on nodes with Nomad's CNI plugins; found %q", mode)
	case p.docker() && strings.HasPrefix(mode, "cni/"):
		k.fail(at, "expected host, bridge or the name of a network of %s with driver: %s; found %q", map[string]string{pool.Docker: "Docker's", pool.Podman: "Podman's"}[p.Driver], p.Driver, mode)
	case loopbackOnly(taskURLs):
		k.fail(at, "tasks in this network cannot reach the master at %s; set task_urls to an address that they can reach, or network_mode to host", strings.Join(taskURLs, ", "))
	}
}
