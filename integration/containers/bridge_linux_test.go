package containers

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// TestTasksOnBridges tests what tasks with the docker driver can reach on the bridge network
// that nomad/docker/network.sh creates, and on Docker's default bridge.
func TestTasksOnBridges(t *testing.T) {
	if !inOwnNetwork(t, findDocker) {
		return
	}
	d := onBridges(t, func(dir string) local.Options {
		return local.Options{Name: "bridges", Master: local.Master{Config: fmt.Sprintf(bridgesConfig, dir, filepath.Dir(rig.PythonOf(t, "notebook")))}}
	})
	t.Run("made for tasks", func(t *testing.T) { d.onBridge(t, "default", true) })
	t.Run("Docker's own", func(t *testing.T) { d.onBridge(t, "open", false) })
	t.Run("notebook", d.notebook)
	t.Run("shell", func(t *testing.T) { d.shellOnBridge(t, "default") })
	t.Run("shell on Docker's own", func(t *testing.T) { d.shellOnBridge(t, "open") })
}

// listening is a program that listens on all addresses of its container.
const listening = `
import http.server, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[2].encode())

server = http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Answer)
print("the neighbour listens", flush=True)
server.serve_forever()
`

// reaching is a training that prints which addresses it can reach, and whose first attempt fails.
const reaching = `
import json, os, socket, sys, urllib.request
from determined import core

def reached(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as r:
            return r.read(100).decode()
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.read(100).decode().strip())
    except OSError as e:
        return "unreachable: %s" % e

def names(host):
    try:
        return socket.gethostbyname(host)
    except OSError:
        return "no address"

with core.init() as context:
    first = context.info.latest_checkpoint is None
    if first:
        reaches = {a: reached(a) for a in os.environ["ADDRESSES"].split()}
        with open("/proc/net/if_inet6") as f:
            six = [l.split()[-1] for l in f if l.split()[-1] != "lo"]
        print("REACHED " + json.dumps({"addresses": reaches, "metadata": names("metadata.google.internal"), "six": six}), flush=True)
    context.train.report_training_metrics(steps_completed=1 if first else 2, metrics={"loss": 2.0})
    with context.checkpoint.store_path({"steps_completed": 1 if first else 2}) as (path, uuid):
        (path / "state").write_text("one")
    if first:
        sys.exit(9)
    context.train.report_validation_metrics(steps_completed=2, metrics={"loss": 1.0})
    print("the second attempt is through", flush=True)
`

// onBridge runs a training with two attempts next to another task, and checks which addresses
// it reaches; on a closed network it must reach neither the other task nor the simulated
// cloud's metadata server.
func (d *inContainers) onBridge(t *testing.T, pool string, closed bool) {
	other := d.beside(t, pool)
	at := d.placedAt(t, other)
	host, port := d.ServiceOf(t, other)
	for published := range at.ports { // as 1234/tcp and 1234/udp
		if number, _, _ := strings.Cut(published, "/"); host != nodeFour || number != strconv.Itoa(port) {
			t.Errorf("the other task is registered at %s:%d, and has these ports on its node: %v", host, port, at.ports)
		}
	}
	nomad, err := url.Parse(d.NomadURL)
	if err != nil {
		t.Fatal(err)
	}
	const shut, open = "unreachable: ", ""
	want := map[string]string{
		// The gateway of another task rejects requests that do not come from the master.
		fmt.Sprintf("http://%s:%d/lab", nodeFour, port):                      "403 closed",
		fmt.Sprintf("http://%s:%d/lab", at.address, port):                    pick(closed, shut, "403 closed"),
		fmt.Sprintf("http://%s:%d/", at.address, neighbourPort):              pick(closed, shut, neighbourSays),
		fmt.Sprintf("http://%s:%d/", nodeFour, neighbourPort):                shut,
		"http://127.0.0.1:" + nomad.Port() + "/v1/status/leader":             shut,
		fmt.Sprintf("http://%s:%s/v1/status/leader", nodeFour, nomad.Port()): shut,
		"http://[" + metadataServers()[2] + "]/":                             shut, // neither network has IPv6
		d.MasterURL + "/health":                                              open,
	}
	for _, address := range metadataServers()[:2] {
		want["http://"+address+"/"] = pick(closed, shut, cloudAnswer)
	}
	var addresses []string
	for a := range want {
		addresses = append(addresses, a)
	}
	id := d.Submit(t, fmt.Sprintf(`
name: reaching %s
entrypoint: [python3, train.py]
searcher: {name: single, metric: loss, max_length: {batches: 2}}
max_restarts: 1
resources: {resource_pool: %s}
environment: {environment_variables: ["ADDRESSES=%s"]}
`, pool, pool, strings.Join(addresses, " ")), rig.Script(reaching))
	d.WaitState(t, id, v1.ExperimentStateCompleted)
	log := d.Log(t, id)
	rig.Holds(t, "its log", log, "the second attempt is through")
	var found struct {
		Addresses map[string]string
		Metadata  string
		Six       []string
	}
	jsonAfter(t, log, "REACHED ", &found)
	for a, w := range want {
		if got := found.Addresses[a]; got == "" || !strings.HasPrefix(got, w) || w == open && strings.HasPrefix(got, shut) {
			t.Errorf("%s: %q, want %q", a, got, w)
		}
	}
	if name := pick(closed, "0.0.0.0", "no address"); found.Metadata != name || len(found.Six) != 0 {
		t.Errorf("metadata.google.internal is %s, want %s; with IPv6: %v", found.Metadata, name, found.Six)
	}
	if n := d.Trial(t, id).Restarts; n != 1 {
		t.Errorf("the trial has restarted %d times", n)
	}
	if out, err := d.Det(t, "command", "kill", other); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.Ends(t, "command", other)
	d.waitUntilEmpty(t)
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// beside starts a command that listens on a port, and waits until it does.
func (d *inContainers) beside(t *testing.T, pool string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "neighbour.py"), []byte(listening), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := d.Det(t, "command", "run", "--detach", "--config", "resources.slots=0", "--config", "resources.resource_pool="+pool, "-c", dir,
		"python3", "neighbour.py", strconv.Itoa(neighbourPort), neighbourSays)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := strings.TrimSpace(out)
	rig.Eventually(t, "the other task listens", func() (bool, error) {
		out, err := d.Det(t, "command", "logs", id)
		return strings.Contains(out, "the neighbour listens"), fmt.Errorf("%w: %s", err, out)
	})
	return id
}

// shellOnBridge tests ssh into a container, through the gateway.
func (d *inContainers) shellOnBridge(t *testing.T, pool string) {
	out, err := d.Det(t, "shell", "start", "--config", "resources.slots=0", "--config", "resources.resource_pool="+pool, "--", `echo "in $DET_TASK_TYPE on $DET_NETWORK"; ls /det-*; exit 7`)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "what it says", out, "in SHELL", "det-runner")
	id := rig.Started(t, out)
	if out, err := d.Det(t, "shell", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.Ends(t, "shell", id)
	d.waitUntilEmpty(t)
}
