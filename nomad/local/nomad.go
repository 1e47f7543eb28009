package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	files "github.com/detent-ml/detent/nomad"
	"github.com/detent-ml/detent/nomad/servers"
)

// config configures a single server. It is not a development agent, which loses its jobs and stops
// its tasks when it ends.
//
// The node is a separate agent (client.go). In one agent the client would start before the server has
// read its keys, would be rejected, and would try again only after up to half a minute.
func (c nomadServer) config() []byte {
	var b strings.Builder
	c.writeAgent(&b, nomadSpec{name: "server", part: partNomad, consul: partConsul, host: loopback, rpc: c.serverAddress(),
		ports: fmt.Sprintf("  rpc  = %d\n  serf = %d\n", c.state.Ports[portNomadRPC], c.state.Ports[portNomadSerf])})
	b.WriteString(`
server {
  enabled          = true
  bootstrap_expect = 1
  raft_multiplier  = 1
`)
	if c.state.Vault != nil { // the object store verifies identities with this issuer
		fmt.Fprintf(&b, "  oidc_issuer      = %q\n", c.url())
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// A nomadSpec has what differs between Nomad's agents.
type nomadSpec struct {
	name, part string
	consul     string // the name of its Consul agent
	host       string // the address at which it and its Consul agent listen
	rpc        string // the address for other agents
	ports      string // further ports
}

// discardPort is a port on which nothing answers.
const discardPort = 9

// consulPort is the port of a node's Consul agent. A cluster without Consul must not use the Consul of somebody else, which Nomad would
// find on its usual port.
func (c nomadServer) consulPort(part string) int {
	if c.state.NoConsul {
		return discardPort
	}
	return c.state.Ports[part]
}

// writeAgent writes the common configuration of the agents.
func (c nomadServer) writeAgent(b *strings.Builder, s nomadSpec) {
	tls, consulTLS, _ := c.tls()
	fmt.Fprintf(b, `# Written by every start of the cluster.
name      = %q
region    = "global"
data_dir  = %q
bind_addr = %q
log_level = "INFO"

disable_update_check = true
leave_on_interrupt   = false
leave_on_terminate   = false

ports {
  http = %d
%s}

advertise {
  http = %q
  rpc  = %q
  serf = %q
}

# Here every caller has the same address, so a limit per address is one on all of them together.
limits {
  http_max_conns_per_client = 0
  rpc_max_conns_per_client  = 0
}

consul {
  address          = "%s:%d"
  token            = %q
  auto_advertise   = %t
  server_auto_join = false
  client_auto_join = false
%s}

telemetry {
  prometheus_metrics         = true
  publish_allocation_metrics = true
  publish_node_metrics       = true
  disable_hostname           = true
}

# A task on the network of its node reaches this agent, and without access control it could do anything.
acl {
  enabled = true
}
`, s.name, c.path(s.part, "data"), s.host, c.state.Ports[s.part], s.ports, s.host, s.rpc, s.rpc, s.host, c.consulPort(s.consul),
		c.state.ConsulACL.nomad(), !c.state.NoConsul, consulTLS)
	if s.rpc != s.host {
		fmt.Fprintf(b, "\naddresses {\n  rpc  = %q\n  serf = %q\n}\n", s.rpc, s.rpc)
	}
	b.WriteString(tls)
	b.WriteString(c.vault().block())
}

func (c nomadServer) agent(ctx context.Context, report *servers.Reporter) (agent, error) {
	a := agent{
		name: partNomad, title: "Nomad", config: c.config(),
		ports: []string{portNomad, portNomadRPC, portNomadSerf}, ready: c.ready,
	}
	return c.complete(ctx, a, report)
}

// complete adds what all Nomad agents have, of servers and clients.
func (c nomadServer) complete(ctx context.Context, a agent, report *servers.Reporter) (agent, error) {
	binary, err := c.program(ctx, "nomad", report)
	if err != nil {
		return agent{}, err
	}
	if c.state.ExtraNomad != "" {
		a.config = append(a.config, "\n"+c.state.ExtraNomad+"\n"...)
	}
	a.binary, a.configFile = binary, "agent.hcl"
	a.args = func(file string) []string { return []string{"agent", "-config=" + file} }
	return a, nil
}

// ready reports whether Nomad has a leader that has read its keys: before that it rejects its
// nodes.
func (c nomadServer) ready(ctx context.Context) error {
	if _, err := c.get(ctx, c.url()+"/v1/agent/health"); err != nil {
		return err
	}
	if leader, err := c.get(ctx, c.url()+"/v1/status/leader"); err != nil {
		return err
	} else if strings.Trim(strings.TrimSpace(leader), `"`) == "" {
		return errors.New("no leader of Nomad yet")
	}
	if keys, err := c.get(ctx, c.url()+"/.well-known/jwks.json"); err != nil {
		return err
	} else if !strings.Contains(keys, `"kid"`) {
		return errors.New("Nomad serves no keys of workload identities yet")
	}
	return c.bootstrapACL(ctx)
}

// nodeReady reports whether a node is ready and can run raw_exec tasks.
func (c nomadServer) nodeReady(ctx context.Context, name string) error {
	client, err := c.Nomad()
	if err != nil {
		return err
	}
	nodes, _, err := client.Nodes().List((&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Name != name {
			continue
		}
		if node.Status != api.NodeStatusReady {
			return fmt.Errorf("the node %s is %s", name, node.Status)
		}
		if driver := node.Drivers["raw_exec"]; driver == nil || !driver.Healthy {
			return fmt.Errorf("the node %s cannot run raw_exec tasks", name)
		}
		if driver := node.Drivers["docker"]; c.state.DockerSocket != "" && (driver == nil || !driver.Healthy) {
			return fmt.Errorf("the node %s cannot run containers", name)
		}
		if driver := node.Drivers["podman"]; c.state.PodmanSocket != "" && (driver == nil || !driver.Healthy) {
			return fmt.Errorf("the node %s cannot run containers with Podman", name)
		}
		return nil
	}
	return fmt.Errorf("the node %s has not registered yet", name)
}

// bootstrapACL creates the management token, once, and attaches the policy to the master's job. The token is in the cluster's folder.
func (c nomadServer) bootstrapACL(ctx context.Context) error {
	client, err := c.Nomad()
	if err != nil {
		return err
	}
	write := (&api.WriteOptions{}).WithContext(ctx)
	if c.state.Token == "" {
		token, _, err := client.ACLTokens().Bootstrap(write)
		if err != nil && strings.Contains(err.Error(), "ACL support disabled") {
			return errors.New("this Nomad was started by an earlier det, without access control: run `det deploy local cluster-down`, and then cluster-up")
		}
		if err != nil {
			return fmt.Errorf("cannot create Nomad's management token: %w", err)
		}
		c.state.Token = token.SecretID
		if err := c.save(); err != nil {
			return err
		}
		client.SetSecretID(token.SecretID)
	}
	_, err = client.ACLPolicies().Upsert(&api.ACLPolicy{
		Name: masterJob, Rules: files.MasterPolicy,
		Description: "What the master of a Detent cluster may do.",
		JobACL:      &api.JobACL{Namespace: api.DefaultNamespace, JobID: masterJob},
	}, write)
	return err
}

func (c nomadServer) url() string { return c.localURL(c.state.Ports[portNomad]) }

// Nomad is a client of the cluster's Nomad, with all rights.
func (c *Cluster) Nomad() (*api.Client, error) {
	// It ignores the environment, where NOMAD_ADDR or NOMAD_TOKEN may belong to another cluster. The
	// HTTP client is shared, because each one keeps connections open.
	web, err := c.web()
	if err != nil {
		return nil, err
	}
	return api.NewClient(&api.Config{
		Address: c.nomad().url(), SecretID: c.state.Token, Region: "global",
		Namespace: api.DefaultNamespace, HttpClient: web,
	})
}

// NomadUI returns the address of Nomad's UI with a token that signs a browser in, once, within the next minutes.
func (c *Cluster) NomadUI(ctx context.Context) (string, error) {
	client, err := c.Nomad()
	if err != nil {
		return "", err
	}
	token, _, err := client.ACLTokens().UpsertOneTimeToken((&api.WriteOptions{}).WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("Nomad creates no token for its UI: %w; is the cluster up? (det deploy local status)", err)
	}
	return c.nomad().url() + "/ui/?ott=" + token.OneTimeSecretID, nil
}
