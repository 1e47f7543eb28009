package containers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// A bridge changes the routes and the firewall of its machine. So the tests of bridges run
// in a process with its own network namespace, with all servers of their cluster: a node
// with Docker's default bridge and the bridge that operators create, and a second
// "machine" that simulates a cloud: it answers at the addresses of clouds' metadata servers,
// from which real machines get credentials.

const (
	// Environment variables of that process: that it has its own network, and the folder of
	// Detent's programs.
	ownNetworkVariable = "DETENT_TEST_NETWORK"
	programsVariable   = "DETENT_TEST_PROGRAMS"
	// cloudVariable makes a process simulate the cloud.
	cloudVariable = "DETENT_TEST_CLOUD"

	nodeDevice, cloudDevice = "node0", "cloud0"
	nodeFour, cloudFour     = "10.213.7.1", "10.213.7.2"
	nodeSix, cloudSix       = "fd00:7::1", "fd00:7::2"

	cloudReady    = "the cloud is ready"
	cloudAnswer   = "credentials of the machine"
	neighbourSays = "a port of another task"
	neighbourPort = 7777
)

// metadataServers returns the addresses of clouds' metadata servers.
func metadataServers() []string {
	return []string{"169.254.169.254", "100.100.100.200", "fd00:ec2::254"}
}

// inOwnNetwork reports whether this process has its own network namespace. If not, it runs
// the test in a child process that has, after find has fetched the programs that the node needs.
func inOwnNetwork(t *testing.T, find func(context.Context, *servers.Reporter) error) bool {
	t.Helper()
	if os.Getenv(ownNetworkVariable) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("a network of its own needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip(err)
	}
	// Fetch and build everything first: the new network has no connection to others.
	if err := find(t.Context(), servers.NewReporter(os.Stderr)); errors.Is(err, dockerd.ErrNone) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	rig.PythonOf(t, "notebook")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	if deadline, ok := t.Deadline(); ok {
		cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(deadline).String())
	}
	cmd.Env = append(os.Environ(), ownNetworkVariable+"=1", programsVariable+"="+rig.Programs(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.Output(), t.Output(), time.Minute
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("a network of its own: ", err)
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Error(err)
	}
	return false
}

// findDocker brings Docker, and what it makes a bridge with.
func findDocker(ctx context.Context, report *servers.Reporter) error {
	return dockerd.Find(ctx, true, report)
}

// ip changes the network of this process.
func ip(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// createNetwork creates the node's network interface, and the simulated cloud at its other end,
// which is the default route.
func createNetwork(t *testing.T) {
	t.Helper()
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", nodeDevice, "type", "veth", "peer", "name", cloudDevice)
	ip(t, "address", "add", nodeFour+"/24", "dev", nodeDevice)
	ip(t, "address", "add", nodeSix+"/64", "dev", nodeDevice, "nodad")
	ip(t, "link", "set", nodeDevice, "up")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^TestStandInForACloud$", "-test.v")
	cmd.Env = append(os.Environ(), cloudVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error("the cloud: ", err)
		}
	})
	ip(t, "link", "set", cloudDevice, "netns", strconv.Itoa(cmd.Process.Pid))
	if _, err := io.WriteString(in, "begin\n"); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); !strings.Contains(said, cloudReady); said += lines.Text() + "\n" {
		if !lines.Scan() {
			t.Fatalf("the cloud did not begin: %v\n%s", lines.Err(), said)
		}
	}
	ip(t, "route", "add", "default", "via", cloudFour)
	ip(t, "-6", "route", "add", "default", "via", cloudSix)
}

// TestStandInForACloud is not a test: it is the simulated cloud, in a process of its own,
// until its standard input is closed.
func TestStandInForACloud(t *testing.T) {
	if os.Getenv(cloudVariable) == "" {
		t.Skip("it is started by tests of bridges")
	}
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil { // wait until the interface exists
		t.Fatal(err)
	}
	ip(t, "link", "set", "lo", "up")
	ip(t, "address", "add", cloudFour+"/24", "dev", cloudDevice)
	ip(t, "address", "add", cloudSix+"/64", "dev", cloudDevice, "nodad")
	ip(t, "link", "set", cloudDevice, "up")
	for _, address := range metadataServers() {
		ip(t, "address", "add", address, "dev", "lo")
	}
	server := &http.Server{Addr: ":80", ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, cloudAnswer)
	})}
	var ends sync.WaitGroup
	ends.Go(func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	})
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(cloudReady)
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	ends.Wait()
}

// bridgesConfig is the configuration of a master with one pool on the bridge that operators
// create, and one on Docker's default bridge.
const bridgesConfig = `
cluster_name: bridges
blank_passwords: always
checkpoint_storage: {type: shared_fs, host_path: %[1]s/checkpoints}
resource_pools:
  - name: default
    driver: docker
    network_mode: detent
    slots: cpu
    slots_per_node: 4
    memory_mb_per_slot: 128
    task_container_defaults: {image: detent-test/python:1}
    docker: {allowed_host_paths: [%[2]s]}
  - name: open
    driver: docker
    slots: cpu
    slots_per_node: 4
    memory_mb_per_slot: 128
    task_container_defaults: {image: detent-test/python:1}
    docker: {cloud_metadata: true}
`

// onBridges starts a cluster in this process's network. options returns its configuration,
// for the cluster's folder.
func onBridges(t *testing.T, options func(dir string) local.Options) *inContainers {
	t.Helper()
	createNetwork(t)
	dir, err := os.MkdirTemp("", "detent-bridge-")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Join(dir, "checkpoints")} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig.Rig{Root: root, Dir: dir, Bin: os.Getenv(programsVariable)}
	docker, err := dockerd.Start(t.Context(), dockerd.Options{Dir: filepath.Join(dir, "cluster", "docker"), Bridge: true, Reporter: servers.NewReporter(os.Stderr)})
	if err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(dir)))
	}
	d := &inContainers{Rig: r, dir: dir, docker: docker}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), rig.Patience)
		defer cancel()
		if err := docker.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	d.makeNetwork(t)
	o := options(dir)
	o.Docker, o.Interface = &local.Containers{Socket: docker.Socket, Stop: docker.Stop}, nodeDevice
	r.StartCluster(t, dir, o)
	d.images(t)
	return d
}

// makeNetwork creates the bridge with the script for operators, twice as at two boots, and
// checks that the second run accepts the existing bridge.
func (d *inContainers) makeNetwork(t *testing.T) {
	t.Helper()
	run := func(more ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(d.Root, "nomad", "docker", "network.sh"))
		env, err := d.docker.Environment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(env, more...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for range 2 {
		if out, err := run(); err != nil || out != "" {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := run("DETENT_NETWORK=bridge"); err == nil || !strings.Contains(out, "is another network") {
		t.Errorf("the script accepts Docker's own bridge as the tasks' network: %v: %s", err, out)
	}
}

// onNode has the ports of a container on its node, and its address on a bridge.
type onNode struct {
	address string
	ports   map[string]any
}

// placedAt reads the ports and the address of a task's container.
func (d *inContainers) placedAt(t *testing.T, task string) onNode {
	t.Helper()
	list, err := d.docker.Containers(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		raw, err := d.docker.Inspect(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		var seen struct {
			Config          struct{ Env []string }
			NetworkSettings struct {
				Ports    map[string]any
				Networks map[string]struct{ IPAddress string }
			}
		}
		if err := json.Unmarshal(raw, &seen); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(raw, []byte(jobspecs.JobID(task+".1"))) {
			continue
		}
		p := onNode{ports: seen.NetworkSettings.Ports}
		for _, n := range seen.NetworkSettings.Networks {
			p.address = n.IPAddress
		}
		return p
	}
	t.Fatalf("no container of task %s among %v", task, list)
	return onNode{}
}
