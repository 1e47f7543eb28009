package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/nomad/local"
)

// A Switch connects network namespaces, one for each node of a cluster, with each other and with this machine.
// It is a bridge in a namespace of its own, whose traffic the machine's firewall does not see.
type Switch struct {
	Device string // of this machine
	hub    int    // the process that holds the namespace
	subnet string // the first three bytes of all addresses
	nodes  map[string]int
}

// NewSwitch creates a switch, which ends with the test. It skips the test where that is impossible.
func NewSwitch(t testing.TB) *Switch {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	s := &Switch{hub: holdNetwork(t), nodes: map[string]int{}}
	s.Device, s.subnet = fmt.Sprintf("dt%d", s.hub), freeSubnet(t, s.hub)
	ipIn(t, s.hub, "link", "add", "switch", "type", "bridge")
	ipIn(t, s.hub, "link", "set", "switch", "up")
	ipIn(t, os.Getpid(), "link", "add", s.Device, "type", "veth", "peer", "name", "port0", "netns", strconv.Itoa(s.hub))
	ipIn(t, s.hub, "link", "set", "port0", "master", "switch", "up")
	ipIn(t, os.Getpid(), "address", "add", s.subnet+"1/24", "dev", s.Device)
	ipIn(t, os.Getpid(), "link", "set", s.Device, "up")
	return s
}

// Connect creates a network namespace for a node, with an address of its own.
func (s *Switch) Connect(t testing.TB, node string) *local.Network {
	t.Helper()
	pid, port := holdNetwork(t), len(s.nodes)+1
	s.nodes[node] = port
	const inside = "eth0"
	address := s.subnet + strconv.Itoa(port+1)
	ipIn(t, s.hub, "link", "add", portName(port), "type", "veth", "peer", "name", inside, "netns", strconv.Itoa(pid))
	ipIn(t, s.hub, "link", "set", portName(port), "master", "switch", "up")
	ipIn(t, pid, "link", "set", "lo", "up")
	ipIn(t, pid, "address", "add", address+"/24", "dev", inside)
	ipIn(t, pid, "link", "set", inside, "up")
	return &local.Network{File: networkOf(pid), Interface: inside, Address: address}
}

// Cut takes a node's network away.
func (s *Switch) Cut(t testing.TB, node string) {
	t.Helper()
	ipIn(t, s.hub, "link", "set", portName(s.nodes[node]), "down")
}

// Restore gives a node its network back.
func (s *Switch) Restore(t testing.TB, node string) {
	t.Helper()
	ipIn(t, s.hub, "link", "set", portName(s.nodes[node]), "up")
}

func portName(port int) string { return fmt.Sprint("port", port) }

func networkOf(pid int) string { return fmt.Sprintf("/proc/%d/ns/net", pid) }

// holdNetwork starts a process in a new network namespace. It holds the namespace until the test ends or dies.
func holdNetwork(t testing.TB) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("network namespaces: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	return cmd.Process.Pid
}

// freeSubnet returns the first three bytes of addresses that this machine does not use.
func freeSubnet(t testing.TB, first int) string {
	t.Helper()
	used, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		subnet := fmt.Sprintf("10.231.%d.", (first+i)%256)
		taken := false
		for _, a := range used {
			taken = taken || strings.HasPrefix(a.String(), subnet)
		}
		if !taken {
			return subnet
		}
	}
	t.Fatal("no free subnet of 10.231.0.0/16")
	return ""
}

// ipIn changes the network of a process.
func ipIn(t testing.TB, pid int, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + networkOf(pid), "ip"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}
