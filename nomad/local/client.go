package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/leftover"
)

// Ports that Nomad gives to tasks. Each client on the machine has its own range, because otherwise
// several clients would choose the same free ports: a cluster has a window, and each of its clients a
// part of the window.
const (
	firstTaskPort   = 20000
	portsPerAgent   = 150
	portsPerCluster = maxClients * portsPerAgent
	portWindows     = 13
)

// Client is a Nomad client on the machine: for Nomad, a node. Each cluster has one client without a
// name; AddClient adds others.
type Client struct {
	Name string `json:"name"`
	// Pool is its node pool; "default" by default.
	Pool string `json:"pool,omitempty"`
	// Class is its node class; none by default.
	Class string `json:"class,omitempty"`
	// Slots is the number of CPU slots; the default is that of the cluster's other nodes.
	Slots int `json:"slots,omitempty"`
	// GPUs is the number of simulated GPUs; the default is that of the cluster's other nodes.
	GPUs int `json:"gpus,omitempty"`
	// Chroot is the part of this machine that tasks of the driver exec see; the default is that of the
	// cluster's other nodes.
	Chroot []string `json:"chroot,omitempty"`
	// Volumes are its host volumes, by name: the folders of this machine.
	Volumes map[string]string `json:"volumes,omitempty"`
	// Network is a network namespace for its agents and tasks; nil: that of the cluster. The cluster needs
	// the option Apart.
	Network *Network `json:"network,omitempty"`
	// Index selects the range of ports for its tasks, among the clients of one network. AddClient sets it.
	Index int `json:"index"`
}

// Network is a network namespace of Linux that reaches the cluster's Interface, and that the Interface reaches.
type Network struct {
	File      string `json:"file"`      // of the namespace, such as /proc/7/ns/net
	Interface string `json:"interface"` // for tasks, within the namespace
	Address   string `json:"address"`   // of that interface
}

// address is where the node's agents listen.
func (client Client) address() string {
	if client.Network != nil {
		return client.Network.Address
	}
	return loopback
}

// maxClients is the number of clients that can have a range of ports for tasks, in the cluster's network.
const maxClients = 6

// AddClient starts a further Nomad client, with its own data. From then on it is part of the cluster:
// Up and Down start and stop it too. Its part is named "client-" and its name.
func (c *Cluster) AddClient(ctx context.Context, client Client) error {
	return c.locked(ctx, func() error {
		if !namePattern.MatchString(client.Name) {
			return fmt.Errorf("the client's name %q is invalid: use at most 40 lower-case letters, digits and dashes", client.Name)
		}
		if client.Network != nil && !c.state.Apart {
			return fmt.Errorf("the client %s has a network namespace of its own, and the servers listen on loopback only: start the cluster with the option Apart", client.Name)
		}
		client, err := c.addClientState(client)
		if err != nil {
			return err
		}
		for _, make := range c.agentsOf(client) {
			a, err := make(ctx, nil)
			if err != nil {
				return err
			}
			if err := c.startAgent(ctx, a); err != nil {
				return err
			}
		}
		return c.master().offerRunner(ctx, client)
	})
}

// addClientState finds the client in the cluster's state, or adds it.
func (c *Cluster) addClientState(client Client) (Client, error) {
	taken := map[int]bool{0: true} // the index of the main agent
	for _, have := range c.state.Clients {
		if have.Name == client.Name {
			return have, nil
		}
		taken[have.Index] = taken[have.Index] || have.Network == nil
	}
	if client.Network != nil { // where it is alone, all ports are free
		c.state.Clients = append(c.state.Clients, client)
		return client, nil
	}
	for index := range maxClients {
		if !taken[index] {
			client.Index = index
			c.state.Clients = append(c.state.Clients, client)
			return client, nil
		}
	}
	return client, fmt.Errorf("cannot add the client %s: the cluster already has %d nodes, the maximum", client.Name, maxClients)
}

// RemoveClient stops a further client and removes it, with its data and its tasks. Nomad places no new
// work on it from the beginning, although it notices the end of the client only later.
func (c *Cluster) RemoveClient(ctx context.Context, name string) error {
	return c.locked(ctx, func() error {
		part := clientPart(name)
		if err := c.makeIneligible(ctx, name); err != nil {
			return err
		}
		if err := c.stopAgent(ctx, part); err != nil {
			return err
		}
		if err := leftover.End(ctx, c.allocDir(name)); err != nil {
			return err
		}
		if err := c.consul().leave(ctx, c.client(name)); err != nil {
			return err
		}
		if err := c.stopAgent(ctx, consulPart(name)); err != nil {
			return err
		}
		c.state.Clients = slices.DeleteFunc(c.state.Clients, func(have Client) bool { return have.Name == name })
		delete(c.state.Processes, part)
		delete(c.state.Processes, consulPart(name))
		if err := c.save(); err != nil {
			return err
		}
		return errors.Join(leftover.Remove(c.allocDir(name)), leftover.Remove(c.path(part)), os.RemoveAll(c.path(consulPart(name))))
	})
}

// makeIneligible makes a client ineligible for new work, if Nomad knows its node.
func (c *Cluster) makeIneligible(ctx context.Context, name string) error {
	nomad, err := c.Nomad()
	if err != nil {
		return err
	}
	nodes, _, err := nomad.Nodes().List((&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return fmt.Errorf("cannot ask Nomad for node %s: %w", c.nodeName(name), err)
	}
	for _, n := range nodes {
		if n.Name != c.nodeName(name) || n.Status != api.NodeStatusReady {
			continue
		}
		if _, err := nomad.Nodes().ToggleEligibility(n.ID, false, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
			return fmt.Errorf("cannot make node %s ineligible in Nomad: %w", n.Name, err)
		}
	}
	return nil
}

// client is the client of this name.
func (c *Cluster) client(name string) Client {
	for _, have := range c.state.Clients {
		if have.Name == name {
			return have
		}
	}
	return Client{Name: name}
}

// agentsOf are the functions that make a node's agents, in the order in which they start.
func (c *Cluster) agentsOf(client Client) []func(context.Context, *servers.Reporter) (agent, error) {
	var all []func(context.Context, *servers.Reporter) (agent, error)
	if client.Name != "" && !c.state.NoConsul {
		all = append(all, func(ctx context.Context, report *servers.Reporter) (agent, error) {
			return c.consul().agent(ctx, client, report)
		})
	}
	return append(all, func(ctx context.Context, report *servers.Reporter) (agent, error) {
		return c.clientAgent(ctx, client, report)
	})
}

func (c *Cluster) clientAgent(ctx context.Context, client Client, report *servers.Reporter) (agent, error) {
	part := clientPart(client.Name)
	if err := c.giveFreePorts(part); err != nil {
		return agent{}, err
	}
	a := agent{
		name: part, title: "node " + c.nodeName(client.Name), config: c.clientConfig(client), ports: []string{part}, network: client.Network,
		ready: func(ctx context.Context) error {
			if _, err := c.get(ctx, c.urlAt(client.address(), c.state.Ports[part])+"/v1/agent/health"); err != nil {
				return err
			}
			if err := c.nomad().nodeReady(ctx, c.nodeName(client.Name)); err != nil {
				return err
			}
			return c.gpusReady(ctx, client)
		},
	}
	plugins, err := c.plugins(ctx, client, report)
	if err != nil {
		return agent{}, err
	}
	a.config = append(a.config, plugins...)
	return c.nomad().complete(ctx, a, report)
}

// clientPart is the name of a client's part, and of its port.
func clientPart(name string) string {
	if name == "" {
		return partClient
	}
	return partClient + "-" + name
}

// nodeName is the name of a client in Nomad.
func (c *Cluster) nodeName(client string) string {
	if client == "" {
		return c.state.Name
	}
	return c.state.Name + "-" + client
}

// allocDir is the folder of a client's allocations, near the root of the cluster's folder: each
// allocation has a Unix socket for Nomad's API, whose path may have at most 107 bytes (103 on macOS).
func (c *Cluster) allocDir(client string) string {
	if client == "" {
		return c.path("alloc")
	}
	return c.path("alloc-" + client)
}

func (c *Cluster) clientConfig(client Client) []byte {
	pool, slots := cmp.Or(client.Pool, "default"), cmp.Or(client.Slots, c.state.Slots)
	first := c.state.Ports[portTasks] + client.Index*portsPerAgent
	var b strings.Builder
	c.nomad().writeAgent(&b, nomadSpec{name: c.nodeName(client.Name), part: clientPart(client.Name), consul: consulPart(client.Name), host: client.address(), rpc: client.address()})
	fmt.Fprintf(&b, `
client {
  enabled           = true
  alloc_dir         = %q
  servers           = ["%s:%d"]
  node_pool         = %q
  node_class        = %q
  network_interface = %q
  min_dynamic_port  = %d
  max_dynamic_port  = %d

  # From here on Nomad removes the folders of ended tasks at once. Its own 80 is an ordinary day of a laptop.
  gc_disk_usage_threshold = 95

  options = {
    # Asking the clouds whether this is one of their machines costs seconds where there is no network.
    "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean"
  }

  # Tasks run on while Vault or Consul is away, however long that is.
  template {
    vault_retry {
      attempts = 0
    }

    consul_retry {
      attempts = 0
    }

    nomad_retry {
      attempts = 0
    }
  }

  meta {
    detent_cluster = %q
`, c.allocDir(client.Name), c.serverAddress(), c.state.Ports[portNomadRPC], pool, client.Class, c.taskInterface(client), first, first+portsPerAgent-1, c.state.Name)
	if slots > 0 {
		fmt.Fprintf(&b, "    detent_slots   = \"%d\"\n", slots)
	}
	b.WriteString("  }\n")
	for _, name := range slices.Sorted(maps.Keys(client.Volumes)) {
		fmt.Fprintf(&b, "\n  host_volume %q {\n    path = %q\n  }\n", name, client.Volumes[name])
	}
	chroot := c.state.Chroot
	if client.Chroot != nil {
		chroot = client.Chroot
	}
	if len(chroot) > 0 {
		b.WriteString("\n  chroot_env {\n")
		for _, dir := range chroot {
			fmt.Fprintf(&b, "    %q = %q\n", dir, dir)
		}
		b.WriteString("  }\n")
	}
	b.WriteString(`}

# One person's machine: tasks run as whoever runs the agent. A site uses docker or exec.
plugin "raw_exec" {
  config {
    enabled = true
  }
}
`)
	b.WriteString(c.dockerPlugin())
	return []byte(b.String())
}

// taskInterface is the network interface whose addresses masters and tasks of a node get.
func (c *Cluster) taskInterface(client Client) string {
	switch {
	case client.Network != nil:
		return client.Network.Interface
	case c.state.Interface != "":
		return c.state.Interface
	case runtime.GOOS == "linux":
		return "lo"
	}
	return "lo0"
}

// addressOf is the IPv4 address of a network interface.
func addressOf(name string) (string, error) {
	found, err := net.InterfaceByName(name)
	if err != nil {
		return "", fmt.Errorf("cannot read the network interface %s: %w", name, err)
	}
	list, err := found.Addrs()
	if err != nil {
		return "", fmt.Errorf("cannot read the network interface %s: %w", name, err)
	}
	for _, a := range list {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			return ip.IP.String(), nil
		}
	}
	return "", fmt.Errorf("the network interface %s has no IPv4 address", name)
}
