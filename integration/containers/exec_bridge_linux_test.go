package containers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/dockerd"
)

// execBridgeConfig is of a master whose tasks run under exec, on the bridge that Nomad
// makes with CNI plugins.
const execBridgeConfig = `
cluster_name: jails
blank_passwords: always
checkpoint_storage: {type: directory, container_path: /tmp}
resource_pools:
  - {name: default, driver: exec, network_mode: bridge, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 128}
task_container_defaults: {environment_variables: ["PATH=/usr/bin:/bin"]}
`

// TestExecOnABridge: tasks under exec, on the bridge that Nomad makes.
func TestExecOnABridge(t *testing.T) {
	rig.Long(t)
	var cni dockerd.CNI
	find := func(ctx context.Context, report *servers.Reporter) (err error) {
		cni, err = dockerd.FindCNI(ctx, report)
		return err
	}
	if !inOwnNetwork(t, find) {
		return
	}
	system, err := rig.FindSystemPython(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if err := find(t.Context(), servers.NewReporter(os.Stderr)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", cni.Path)
	createNetwork(t)
	root, err := rig.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "detent-jails-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig.Rig{Root: root, Dir: dir, Bin: os.Getenv(programsVariable)}
	r.StartCluster(t, dir, local.Options{Name: "jails", Interface: nodeDevice, Chroot: system.Chroot,
		ExtraNomad: fmt.Sprintf("client {\n  cni_path = %q\n}", cni.Plugins), Master: local.Master{Config: execBridgeConfig}})
	t.Run("reaches", func(t *testing.T) { execReaches(t, r) })
	t.Run("members", func(t *testing.T) { execMembers(t, r) })
	t.Run("shell", func(t *testing.T) { execShell(t, r) })
}

// execReaches runs a training beside another task, and checks which addresses the training reaches,
// before and after the operators block the metadata servers of clouds.
func execReaches(t *testing.T, r *rig.Rig) {
	host, port := neighbourUnderExec(t, r)
	nomad, err := url.Parse(r.NomadURL)
	if err != nil {
		t.Fatal(err)
	}
	const shut = "unreachable: "
	gateway := fmt.Sprintf("http://%s:%d/lab", host, port)
	want := map[string]string{
		gateway: "403 closed",
		fmt.Sprintf("http://%s:%d/", nodeFour, neighbourPort):    shut,
		"http://127.0.0.1:" + nomad.Port() + "/v1/status/leader": shut,
		"http://[" + metadataServers()[2] + "]/":                 shut,
		"http://" + metadataServers()[0] + "/":                   cloudAnswer,
	}
	reached := reachedUnderExec(t, r, want)
	for a, w := range want {
		if !strings.HasPrefix(reached[a], w) {
			t.Errorf("%s: %q, want %q", a, reached[a], w)
		}
	}
	if t.Failed() {
		return
	}
	refuse := exec.CommandContext(t.Context(), "sh", filepath.Join(r.Root, "nomad", "cni", "refuse.sh"))
	for range 2 { // as at two boots
		if out, err := refuse.CombinedOutput(); err != nil || len(out) != 0 {
			t.Fatalf("%v: %s", err, out)
		}
		refuse = exec.CommandContext(t.Context(), refuse.Path, refuse.Args[1:]...)
	}
	metadata := "http://" + metadataServers()[0] + "/"
	again := map[string]string{metadata: shut, gateway: "403 closed"}
	for a, answer := range reachedUnderExec(t, r, again) {
		if !strings.HasPrefix(answer, again[a]) {
			t.Errorf("after refuse.sh, %s: %q, want %q", a, answer, again[a])
		}
	}
}

// neighbourUnderExec starts a task that listens, and returns where its gateway is.
func neighbourUnderExec(t *testing.T, r *rig.Rig) (host string, port int) {
	t.Helper()
	program := t.TempDir()
	if err := os.WriteFile(filepath.Join(program, "neighbour.py"), []byte(listening), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := r.Det(t, "command", "run", "--detach", "--config", "resources.slots=0", "-c", program,
		"python3", "neighbour.py", strconv.Itoa(neighbourPort), neighbourSays)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := strings.TrimSpace(out)
	rig.Eventually(t, "the other task listens", func() (bool, error) {
		out, err := r.Det(t, "command", "logs", id)
		return strings.Contains(out, "the neighbour listens"), fmt.Errorf("%w: %s", err, out)
	})
	return r.ServiceOf(t, id)
}

// reachedUnderExec runs a training that tries these addresses, and returns what each answered.
func reachedUnderExec(t *testing.T, r *rig.Rig, addresses map[string]string) map[string]string {
	t.Helper()
	var all []string
	for a := range addresses {
		all = append(all, a)
	}
	program := strings.Replace(reaching, "first = context.info.latest_checkpoint is None", "first = True", 1)
	id := r.Submit(t, rig.Config(fmt.Sprintf("environment: {environment_variables: [\"ADDRESSES=%s\"]}", strings.Join(all, " "))), rig.Script(strings.Replace(program, "sys.exit(9)", "context.train.report_validation_metrics(1, {\"loss\": 1.0})", 1)))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	var found struct{ Addresses map[string]string }
	jsonAfter(t, r.Log(t, id), "REACHED ", &found)
	return found.Addresses
}

// execMembers: the members of one attempt on two nodes of one machine are not bridged without
// a job of the operators, and find each other on the network of the node.
func execMembers(t *testing.T, r *rig.Rig) {
	if err := r.AddClient(t.Context(), local.Client{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	id := r.Submit(t, rig.Config("resources: {slots_per_trial: 8}"), rig.Script(`
import os
import determined
from determined import core

info = determined.get_cluster_info()
rank, size = info.container_rank, len(info.container_addrs)
distributed = core.DistributedContext(
    rank=rank, size=size, local_rank=0, local_size=1, cross_rank=rank, cross_size=size, chief_ip=info.container_addrs[0])
with core.init(distributed=distributed) as ctx:
    everybody = sorted(distributed.allgather((rank, os.environ.get("DET_NETWORK", "host"))))
    print("rank", rank, "hears", everybody, flush=True)
    if rank == 0:
        ctx.train.report_validation_metrics(1, {"loss": float(len(everybody))})
`))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", r.Log(t, id), "rank 0 hears [(0, 'host'), (1, 'host')]", "rank 1 hears")
}

// execShell: ssh into a task's own network, through the gateway.
func execShell(t *testing.T, r *rig.Rig) {
	out, err := r.Det(t, "shell", "start", "--config", "resources.slots=0", "--", `echo "in $DET_TASK_TYPE"; grep -q node0: /proc/net/dev || echo "without the interface of the node"; exit 7`)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "what it says", out, "in SHELL", "without the interface of the node")
	id := rig.Started(t, out)
	if out, err := r.Det(t, "shell", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.Ends(t, "shell", id)
}
