package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

const (
	agentStartTime = 90 * time.Second
	agentStopTime  = 30 * time.Second
	agentPoll      = 50 * time.Millisecond
)

// agent is a server of HashiCorp; all of them start and stop in the same way.
type agent struct {
	name, title string
	binary      servers.Binary
	config      []byte
	configFile  string
	args        func(configFile string) []string
	ports       []string // by name
	network     *Network // nil: the cluster's
	ready       func(context.Context) error
}

// startAgent starts the agent, or finds it running, and waits until it is ready. It restarts an agent
// that runs with another configuration.
func (c *Cluster) startAgent(ctx context.Context, a agent) error {
	if c.state.Processes[a.name].Alive() && !c.configured(a) {
		if err := c.stopAgent(ctx, a.name); err != nil {
			return err
		}
	}
	if !c.state.Processes[a.name].Alive() {
		if err := c.launchAgent(a); err != nil {
			return fmt.Errorf("%s: %w", a.title, err)
		}
	}
	if err := c.state.Processes[a.name].Await(ctx, agentStartTime, c.logFile(a.name), a.ready); err != nil {
		return fmt.Errorf("%s: %w", a.title, err)
	}
	return nil
}

// configured reports whether the agent was started with this configuration.
func (c *Cluster) configured(a agent) bool {
	have, err := os.ReadFile(filepath.Join(c.path(a.name), a.configFile))
	return err == nil && bytes.Equal(have, a.config)
}

// stopAgent stops an agent gracefully. The tasks of a Nomad agent continue to run.
func (c *Cluster) stopAgent(ctx context.Context, name string) error {
	if err := c.state.Processes[name].Stop(ctx, syscall.SIGINT, agentStopTime); err != nil {
		return fmt.Errorf("cannot stop %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) launchAgent(a agent) error {
	for _, name := range a.ports {
		if port := c.state.Ports[name]; !servers.PortFree(port) {
			return servers.PortTaken(a.title, port)
		}
	}
	dir := c.path(a.name)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, a.configFile)
	if err := os.WriteFile(file, a.config, 0o600); err != nil {
		return err
	}
	path, args := a.binary.Path, a.args(file)
	if a.network != nil {
		// It becomes the agent's process.
		path, args = "nsenter", append([]string{"--net=" + a.network.File, path}, args...)
	}
	process, err := proc.Start(proc.Spec{
		Path: path, Args: args, Env: agentEnv(), Dir: dir, Log: c.logFile(a.name),
	})
	if err != nil {
		return err
	}
	c.state.Processes[a.name] = process.ID
	return c.save()
}

// agentEnv is this program's environment without variables that would change the agent: variables for
// another cluster, and AWS_CA_BUNDLE, with which Nomad's AWS client fails at start.
func agentEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "AWS_CA_BUNDLE" || strings.HasPrefix(name, "NOMAD_") ||
			strings.HasPrefix(name, "CONSUL_") || strings.HasPrefix(name, "VAULT_") || strings.HasPrefix(name, "DET")
	})
}
