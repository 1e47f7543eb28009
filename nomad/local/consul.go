package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// consulPart is the name of a node's Consul agent. The first node's agent is the server; each further
// node has its own agent, because Nomad clients that share an agent deregister each other's services.
func consulPart(client string) string {
	if client == "" {
		return partConsul
	}
	return partConsul + "." + client
}

// serfPort is the name of the port with which a Consul agent talks to the others.
func serfPort(client string) string {
	if client == "" {
		return portConsulSerf
	}
	return consulPart(client) + ".serf"
}

// config configures a single server, or an agent that joins it. It is not a development agent,
// which loses all data when it ends.
func (c consulServer) config(client Client) ([]byte, error) {
	ports := map[string]int{
		"http": c.state.Ports[consulPart(client.Name)], "serf_lan": c.state.Ports[serfPort(client.Name)], "serf_wan": -1,
		"dns": -1, "grpc": -1, "grpc_tls": -1, "https": -1,
	}
	config := map[string]any{
		"node_name":               "detent-" + c.nodeName(client.Name),
		"datacenter":              "dc1",
		"data_dir":                c.path(consulPart(client.Name), "data"),
		"bind_addr":               client.address(),
		"client_addr":             client.address(),
		"ports":                   ports,
		"leave_on_terminate":      false,
		"skip_leave_on_interrupt": true,
		// All clients have the same address here, so a limit for each address would be a limit for all
		// of them together.
		"limits":               map[string]int{"http_max_conns_per_client": -1, "rpc_max_conns_per_client": -1},
		"disable_update_check": true,
		"log_level":            "INFO",
		"telemetry":            map[string]any{"prometheus_retention_time": "10m", "disable_hostname": true},
	}
	if client.Name == "" {
		config["bind_addr"] = c.serverAddress()
		ports["server"] = c.state.Ports[portConsulRPC]
		config["server"], config["bootstrap_expect"] = true, 1
		config["performance"] = map[string]int{"raft_multiplier": 1}
		config["ui_config"] = map[string]bool{"enabled": true}
	} else {
		config["retry_join"], config["retry_interval"] = []string{fmt.Sprintf("%s:%d", c.serverAddress(), c.state.Ports[portConsulSerf])}, "1s"
	}
	c.access(config)
	c.tls(config, ports)
	return json.MarshalIndent(config, "", "  ")
}

// agent is the Consul agent of a node; that of the first node is the server.
func (c consulServer) agent(ctx context.Context, client Client, report *servers.Reporter) (agent, error) {
	binary, err := c.program(ctx, "consul", report)
	if err != nil {
		return agent{}, err
	}
	a := agent{
		name: consulPart(client.Name), title: "Consul", binary: binary, configFile: "agent.json", network: client.Network,
		args:  func(file string) []string { return []string{"agent", "-config-file=" + file} },
		ports: []string{portConsul, portConsulRPC, portConsulSerf},
		ready: func(ctx context.Context) error { return c.ready(ctx, client) },
	}
	if client.Name != "" {
		a.title, a.ports = "Consul of node "+c.nodeName(client.Name), []string{consulPart(client.Name), serfPort(client.Name)}
		if err := c.giveFreePorts(a.ports...); err != nil {
			return agent{}, err
		}
	}
	a.config, err = c.config(client)
	return a, err
}

// ready reports whether a Consul agent knows a leader. The server is the leader itself after it
// has read its state.
func (c consulServer) ready(ctx context.Context, client Client) error {
	body, err := c.get(ctx, c.urlAt(client.address(), c.state.Ports[consulPart(client.Name)])+"/v1/status/leader")
	if err != nil {
		return err
	}
	if strings.Trim(strings.TrimSpace(body), `"`) == "" {
		return errors.New("no leader of Consul yet")
	}
	if c.state.ConsulACL != nil && client.Name == "" {
		return c.bootstrap(ctx)
	}
	return nil
}

// leave removes the agent of a node, with the node's services, from Consul.
func (c consulServer) leave(ctx context.Context, client Client) error {
	part := consulPart(client.Name)
	if !c.state.Processes[part].Alive() {
		return nil
	}
	management, _ := c.ConsulTokens()
	_, err := c.exchange(ctx, http.MethodPut, c.urlAt(client.address(), c.state.Ports[part])+"/v1/agent/leave", "X-Consul-Token", management, nil)
	return err
}

// url is its address; "" for a cluster without Consul.
func (c consulServer) url() string {
	if c.state.NoConsul {
		return ""
	}
	return c.localURL(c.state.Ports[portConsul])
}

func localURL(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// get reads a small response from one of the servers.
func (c *Cluster) get(ctx context.Context, url string) (string, error) {
	got, err := c.exchange(ctx, http.MethodGet, url, "", "", nil)
	if err != nil {
		return "", err
	}
	if got.code != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, got.status, strings.TrimSpace(got.body))
	}
	return got.body, nil
}

// A reply is the answer of a server.
type reply struct {
	code   int
	status string // such as "403 Forbidden"
	body   string // of which the first part is read
}

// exchange sends a request to one of the servers, with in as JSON unless it is nil and with a token in a header unless the token is
// empty.
func (c *Cluster) exchange(ctx context.Context, method, url, header, token string, in any) (got reply, err error) {
	var sent []byte
	if in != nil {
		if sent, err = json.Marshal(in); err != nil {
			return got, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(sent))
	if err != nil {
		return got, err
	}
	if token != "" {
		req.Header.Set(header, token)
	}
	resp, err := c.do(req)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return reply{resp.StatusCode, resp.Status, string(text)}, err
}
