// Package nomadtest starts a real Nomad for a test: a server and a client on free ports of
// the loopback interface, with their state in a temporary folder.
//
// Only a real Nomad shows which jobs it accepts, with which texts it rejects others, and
// what it stores. It takes some seconds to start, so a package starts one Nomad and runs
// its tests as subtests of one test.
package nomadtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/leftover"
	"github.com/detent-ml/detent/nomad/servers/mountinfo"
	"github.com/detent-ml/detent/nomad/servers/proc/proctest"
)

// Options configure server and client.
type Options struct {
	ACL    bool   // with it, Agent.Token has all rights
	Region string // "" for global
	// Join is the Serf of a server of another region, with which this one federates.
	Join string
	// HeartbeatGrace is how long the server waits for a late heartbeat of the client, such as while a
	// test has stopped the server; "" for a second.
	HeartbeatGrace string
	ConsulAddress  string // host:port of a Consul; "" for none
	PluginDir      string // folder with further plugins for the client
	// Plugins has the configuration of each plugin, by its name.
	Plugins map[string]map[string]any
	// Chroot has the files of the machine that exec tasks see. The default, all of /usr and
	// more, takes long to copy.
	Chroot []string
	Vault  bool // accept jobs that name a Vault role; no Vault runs
}

// Agent is a running Nomad: a server, and a client beside it.
type Agent struct {
	Address string // http://127.0.0.1:port, of the server
	Serf    string // host:port, for Options.Join of another one
	Token   string // of the management role; "" without ACL
	NodeID  string
	API     *api.Client // with that token
	Server  *Process
	Node    *Process
	Dir     string
}

const (
	readyWithin = 90 * time.Second
	stopWithin  = 30 * time.Second
	endWithin   = 10 * time.Second // for tasks to end after their jobs are stopped
	lookEvery   = 50 * time.Millisecond
)

// Start runs a server and a client until the test ends, and returns when its node is ready.
func Start(t testing.TB, o Options) *Agent {
	t.Helper()
	binary, err := servers.Ensure(t.Context(), "nomad", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Dir: t.TempDir()}
	if err := a.configure(binary.Path, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.end(t) })
	a.Server.Run(t)
	a.API = a.client(t)
	a.waitForServer(t)
	if o.ACL {
		a.bootstrap(t)
	}
	a.Node.Run(t)
	a.waitForNode(t)
	return a
}

// configure writes the configuration files.
func (a *Agent) configure(binary string, o Options) error {
	var ports [4]int
	for i := range ports {
		port, err := servers.FreePort()
		if err != nil {
			return err
		}
		ports[i] = port
	}
	type m = map[string]any
	consul := m{"server_auto_join": false, "client_auto_join": false, "auto_advertise": false}
	if o.ConsulAddress != "" {
		consul["address"] = o.ConsulAddress
	}
	common := func(name string) m {
		return m{
			"name": name, "region": cmp.Or(o.Region, "global"), "datacenter": "dc1", "data_dir": filepath.Join(a.Dir, name),
			"bind_addr": "127.0.0.1", "log_level": "INFO", "disable_update_check": true,
			"advertise": m{"http": "127.0.0.1", "rpc": "127.0.0.1", "serf": "127.0.0.1"},
			"acl":       m{"enabled": o.ACL}, "consul": consul,
		}
	}
	server := common("server")
	server["ports"] = m{"http": ports[0], "rpc": ports[1], "serf": ports[2]}
	server["server"] = m{"enabled": true, "bootstrap_expect": 1, "heartbeat_grace": cmp.Or(o.HeartbeatGrace, "1s"), "min_heartbeat_ttl": "1s", "raft_multiplier": 1}
	if o.Join != "" {
		server["server"].(m)["server_join"] = m{"retry_join": []string{o.Join}, "retry_interval": "1s"}
	}
	if o.Vault {
		server["vault"] = m{"enabled": true, "address": "http://127.0.0.1:1", "default_identity": m{"aud": []string{"vault.io"}, "ttl": "1h"}}
	}
	node := common("node")
	node["ports"] = m{"http": ports[3]}
	node["client"] = m{
		"enabled": true, "servers": []string{fmt.Sprintf("127.0.0.1:%d", ports[1])}, "network_interface": loopback(),
		// Tests read ended allocations, so Nomad must not remove these when the disk is full.
		"gc_interval": "10m", "gc_max_allocs": 500, "gc_disk_usage_threshold": 100, "gc_inode_usage_threshold": 100,
		"cpu_total_compute": 16000, "memory_total_mb": 16384, "disk_total_mb": 100_000, "disk_free_mb": 100_000,
		// The search for a cloud's metadata service would take seconds.
		"options": m{"fingerprint.denylist": "env_aws,env_gce,env_azure,env_digitalocean", "driver.allowlist": strings.Join(append([]string{"raw_exec", "exec"}, slices.Sorted(maps.Keys(o.Plugins))...), ",")},
	}
	plugins := m{"raw_exec": m{"config": m{"enabled": true}}}
	for name, config := range o.Plugins {
		plugins[name] = m{"config": config}
	}
	node["plugin"] = plugins
	if len(o.Chroot) > 0 {
		chroot := m{}
		for _, path := range o.Chroot {
			file, err := filepath.EvalSymlinks(path) // Nomad would copy only the link
			if err != nil {
				return err
			}
			chroot[file] = path
		}
		node["client"].(m)["chroot_env"] = chroot
	}
	if o.PluginDir != "" {
		node["plugin_dir"] = o.PluginDir
	}
	a.Serf = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[2]))
	a.Address = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	a.Server = &Process{binary: binary, config: filepath.Join(a.Dir, "server.json"), log: filepath.Join(a.Dir, "server.log")}
	a.Node = &Process{binary: binary, config: filepath.Join(a.Dir, "node.json"), log: filepath.Join(a.Dir, "node.log")}
	return errors.Join(a.Server.configure(server), a.Node.configure(node))
}

// loopback is the name of the loopback interface.
func loopback() string {
	interfaces, err := net.Interfaces()
	if err == nil {
		for _, i := range interfaces {
			if i.Flags&net.FlagLoopback != 0 {
				return i.Name
			}
		}
	}
	return "lo"
}

// waitForServer returns when the server accepts registrations of clients. A client that
// registers earlier is rejected, and tries again only after half a minute.
func (a *Agent) waitForServer(t testing.TB) {
	t.Helper()
	a.Until(t, readyWithin, "a leader with keys", func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Address+"/.well-known/jwks.json", nil)
		if err != nil {
			return err
		}
		keys, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer keys.Body.Close()
		var set struct{ Keys []any }
		if err := json.NewDecoder(keys.Body).Decode(&set); err != nil {
			return fmt.Errorf("%s: %w", keys.Status, err)
		}
		if len(set.Keys) == 0 {
			return errors.New("no keys")
		}
		return nil
	})
}

func (a *Agent) client(t testing.TB) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: a.Address, SecretID: a.Token})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bootstrap creates the first ACL token, once the server accepts this.
func (a *Agent) bootstrap(t testing.TB) {
	t.Helper()
	a.Until(t, readyWithin, "the first ACL token", func() error {
		token, _, err := a.API.ACLTokens().Bootstrap(nil)
		if err == nil {
			a.Token = token.SecretID
		}
		return err
	})
	a.API = a.client(t)
}

func (a *Agent) waitForNode(t testing.TB) {
	t.Helper()
	a.Until(t, readyWithin, "a node with a driver", func() error {
		nodes, _, err := a.API.Nodes().List(nil)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if driver := n.Drivers["raw_exec"]; n.Status == "ready" && driver != nil && driver.Healthy {
				a.NodeID = n.ID
				return nil
			}
		}
		return fmt.Errorf("%d nodes, none of them ready", len(nodes))
	})
}

// Until repeats a check until it passes, and fails the test if it does not pass in time.
func (a *Agent) Until(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	proctest.Until(t, limit, what, check)
}

// end stops all jobs, so that no task outlives the test, then the processes.
func (a *Agent) end(t testing.TB) {
	if a.Server.id.Alive() && a.Node.id.Alive() && a.API != nil {
		a.stopJobs(t)
	}
	a.Node.end(t)
	a.Server.end(t)
	// A client that exits leaves its tasks running, also those of jobs that the server does
	// not know any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopWithin)
	defer cancel()
	if err := errors.Join(leftover.End(ctx, a.Dir), mountinfo.UnmountBelow(a.Dir)); err != nil {
		t.Logf("what the node has left is not all gone: %v", err)
	}
	if t.Failed() {
		t.Logf("the server's log:%s\nthe node's log:%s", a.Server.logTail(), a.Node.logTail())
	}
}

func (a *Agent) stopJobs(t testing.TB) {
	all := &api.QueryOptions{Namespace: "*"}
	jobs, _, err := a.API.Jobs().List(all)
	if err != nil {
		t.Logf("jobs are left running: %v", err)
		return
	}
	for _, j := range jobs {
		if _, _, err := a.API.Jobs().Deregister(j.ID, true, &api.WriteOptions{Namespace: j.Namespace}); err != nil {
			t.Logf("job %s is left running: %v", j.ID, err)
		}
	}
	deadline := time.Now().Add(endWithin)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		allocs, _, err := a.API.Allocations().List(all)
		running := 0
		for _, alloc := range allocs {
			if alloc.ClientStatus == "running" || alloc.ClientStatus == "pending" {
				running++
			}
		}
		if left, lerr := leftover.Helpers(a.Dir); errors.Join(err, lerr) == nil && running == 0 && len(left) == 0 {
			return
		}
		<-tick.C
	}
	t.Log("tasks did not end in time and are killed")
}
