// Package consultest gives tests a Consul of their own: an agent in memory, on
// free ports of the loopback interface.
package consultest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/proc"
	"github.com/detent-ml/detent/nomad/servers/proc/proctest"
)

const (
	readyWithin = 60 * time.Second
	stopWithin  = 20 * time.Second
)

// Agent is a running Consul.
type Agent struct {
	Address string // host:port
	API     *api.Client

	id proc.ID
}

// Management is the token with all rights of an agent with access control.
const Management = "11111111-2222-4333-8444-555555555555"

// WithACL is the configuration for access control, with what callers without a token may do: "deny" or "allow".
func WithACL(policy string) string {
	return fmt.Sprintf(`acl { enabled = true default_policy = %q tokens { initial_management = %q } }`, policy, Management)
}

// Start runs an agent until the test ends, and returns when it has a leader. Further configuration is in HCL.
func Start(t testing.TB, further ...string) *Agent {
	t.Helper()
	binary, err := servers.Ensure(t.Context(), "consul", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	var ports [3]int
	for i := range ports {
		if ports[i], err = servers.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	args := []string{"agent", "-dev", "-node=test", "-bind=127.0.0.1", "-client=127.0.0.1",
		fmt.Sprintf("-http-port=%d", ports[0]), fmt.Sprintf("-server-port=%d", ports[1]), fmt.Sprintf("-serf-lan-port=%d", ports[2]),
		"-serf-wan-port=-1", "-dns-port=-1", "-grpc-port=-1", "-grpc-tls-port=-1", "-hcl=disable_update_check = true"}
	for _, text := range further {
		args = append(args, "-hcl="+text)
	}
	process, err := proc.Start(proc.Spec{Path: binary.Path, Env: os.Environ(), Dir: dir, Log: filepath.Join(dir, "consul.log"), Args: args})
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])), id: process.ID}
	t.Cleanup(a.Stop)
	if a.API, err = api.NewClient(&api.Config{Address: a.Address, Token: Management}); err != nil { // without ACLs Consul ignores the token
		t.Fatal(err)
	}
	proctest.Until(t, readyWithin, "Consul to have a leader", func() error {
		leader, err := a.API.Status().Leader()
		if err == nil && leader == "" {
			err = errors.New("no leader")
		}
		if err == nil {
			_, _, err = a.API.Catalog().Node("test", nil)
		}
		return err
	})
	return a
}

// Stop ends the agent; it may be called more than once.
func (a *Agent) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*stopWithin)
	defer cancel()
	_ = a.id.Stop(ctx, syscall.SIGTERM, stopWithin)
}
