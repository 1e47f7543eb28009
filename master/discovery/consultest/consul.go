// Package consultest gives tests a Consul of their own: an agent in memory, on
// free ports of the loopback interface.
package consultest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/nomad/servers"
)

const (
	readyWithin = 60 * time.Second
	stopWithin  = 20 * time.Second
	lookEvery   = 50 * time.Millisecond
)

// Agent is a running Consul.
type Agent struct {
	Address string // host:port
	API     *api.Client

	cmd    *exec.Cmd
	exited chan struct{}
}

// Start runs an agent until the test ends, and returns when it has a leader.
func Start(t testing.TB) *Agent {
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
	log, err := os.Create(filepath.Join(t.TempDir(), "consul.log"))
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])), exited: make(chan struct{})}
	// The test's context ends before its cleanups, which end the agent in order.
	a.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary.Path, "agent", "-dev", "-node=test", "-bind=127.0.0.1", "-client=127.0.0.1",
		fmt.Sprintf("-http-port=%d", ports[0]), fmt.Sprintf("-server-port=%d", ports[1]), fmt.Sprintf("-serf-lan-port=%d", ports[2]),
		"-serf-wan-port=-1", "-dns-port=-1", "-grpc-port=-1", "-grpc-tls-port=-1", "-hcl=disable_update_check = true")
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait()
		log.Close()
		close(a.exited)
	}()
	t.Cleanup(a.Stop)
	if a.API, err = api.NewClient(&api.Config{Address: a.Address}); err != nil {
		t.Fatal(err)
	}
	Until(t, readyWithin, "Consul to have a leader", func() error {
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
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.exited:
	case <-time.After(stopWithin):
		_ = a.cmd.Process.Kill()
		<-a.exited
	}
}

// Until looks until a check passes, and fails the test when it does not in time.
func Until(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v after %v", what, err, limit)
		}
	}
}
