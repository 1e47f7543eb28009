//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/fakemaster"
)

func TestAProgramRunsAndItsEndIsReported(t *testing.T) {
	spec := sh(`echo hello; echo '[rank=3] WARNING: careful' >&2; pwd`)
	spec.Begins = "attempt 2 begins; attempt 1 failed: exit code 3"
	r := newRig(t, spec)
	p := r.run(0)
	if lines := r.state.Wire(shipper); len(lines) == 0 || lines[0].Log != spec.Begins {
		t.Errorf("the log does not begin with why there is a second attempt: %q", r.printed())
	}
	if e := r.exit(); e.ExitCode != 0 || e.Reason != "" || !e.LogsDone {
		t.Fatalf("exit report %+v", e)
	}
	if !r.state.Done(shipper) {
		t.Fatal("the end of the log was not marked")
	}
	var found bool
	for _, l := range r.state.Wire(shipper) {
		if l.Log == "careful" {
			found = true
			if l.RankID == nil || *l.RankID != 3 || l.Level != v1.LogLevelWarning || l.Stdtype != "stderr" || l.Source != "task" {
				t.Fatalf("line %+v", l)
			}
		}
	}
	if !found {
		t.Fatalf("lines: %q", r.printed())
	}
	if got := p.stdout.String(); !strings.Contains(got, "hello\n/run/determined/workdir\n") {
		t.Fatalf("Nomad's copy of stdout: %q", got)
	}
	if got := p.stderr.String(); !strings.Contains(got, "[rank=3] WARNING: careful\n") {
		t.Fatalf("Nomad's copy of stderr: %q", got)
	}
	c := r.state.Claims()
	if len(c) != 1 || c[0].Identity != "header.claims.signature" || c[0].Address != "10.1.2.3" || c[0].Ports["c10d"] != 29123 || c[0].NodeName != "node-7" {
		t.Fatalf("claims %+v", c)
	}
}

func TestExitStatus(t *testing.T) {
	noProgram := sh("")
	noProgram.Shell, noProgram.Entrypoint = false, []string{"no-such-program"}
	noPython := noProgram
	noPython.Entrypoint = []string{"python3", "train.py"}
	noPython.Env = map[string]string{"PATH": "/nowhere"}
	notExecutable := noProgram
	notExecutable.Entrypoint = []string{"/etc/passwd"}
	for _, c := range []struct {
		name   string
		spec   v1.TaskSpec
		code   int
		reason string
	}{
		{"success", sh("exit 0"), 0, ""},
		{"failure", sh("exit 3"), 3, ""},
		{"segfault", sh("kill -SEGV $$"), 139, "ended by signal 11"},
		{"killed", sh("kill -KILL $$"), 137, "killed (signal 9) from outside the task"},
		{"missing", noProgram, 127, "no-such-program was not found on PATH"},
		{"python", noPython, 127, "Install Python 3 on the nodes"},
		{"not executable", notExecutable, 126, "not executable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.spec)
			r.run(c.code)
			e := r.exit()
			if e.ExitCode != c.code || !strings.Contains(e.Reason, c.reason) || (c.reason == "") != (e.Reason == "") {
				t.Fatalf("report %+v, want code %d and reason %q", e, c.code, c.reason)
			}
			if c.reason != "" && !r.said(c.reason) {
				t.Fatalf("the log does not say why: %q", r.state.Lines(shipper, "runner"))
			}
			words := "resources failed with non-zero exit code: " // scripts search for them
			if c.code == 0 {
				words = "resources exited successfully with a zero exit code"
			}
			if !r.said(words) {
				t.Errorf("the log lacks %q: %q", words, r.state.Lines(shipper, "runner"))
			}
		})
	}
}

func TestARefusedClaimStartsNothing(t *testing.T) {
	r := newRig(t, sh("touch "+t.TempDir()+"/started; echo started"))
	r.state.Refuse("run 2 of its task has replaced it")
	p := r.run(75)
	if !strings.Contains(p.stderr.String(), "run 2 of its task has replaced it") {
		t.Fatalf("stderr: %s", p.stderr)
	}
	for _, dir := range []string{"alloc", "main/local"} {
		if left, _ := os.ReadDir(r.path(dir)); len(left) != 0 {
			t.Fatalf("%s holds %v", dir, left)
		}
	}
	if len(r.state.Exits()) != 0 || len(r.state.Wire(shipper)) != 0 {
		t.Fatal("a refused runner reported something")
	}
}

func TestASecondRunnerOfTheSameAllocationIsRefused(t *testing.T) {
	r := newRig(t, sh("read line < "+t.TempDir()+"/never || sleep 60"))
	first := r.start("run")
	eventually(t, "the first has claimed", func() bool { return len(r.state.Claims()) == 1 })
	r.run(75)
	_ = first.cmd.Process.Signal(syscall.SIGTERM)
	first.wait()
}

func TestTheClaimWaitsForAMaster(t *testing.T) {
	r := newRig(t, sh("echo here"))
	r.master.Stop()
	p := r.start("run")
	eventually(t, "the runner says what it waits for", func() bool {
		return strings.Contains(p.stderr.String(), "no master has accepted this attempt")
	})
	r.master.Listen(t)
	p.expect(0)
	r.expectPrinted("here")
	if c := r.state.Claims(); c[0].Identity != identity {
		t.Fatalf("another identity was shown: %+v", c[0])
	}
}

func TestSIGTERMWhileClaiming(t *testing.T) {
	r := newRig(t, sh("echo never"))
	r.master.Stop()
	p := r.start("run")
	eventually(t, "the runner waits", func() bool { return strings.Contains(p.stderr.String(), "no master") })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
}

func TestEnvironment(t *testing.T) {
	spec := sh(`env | sort; ls /proc/self/fd | tr '\n' ' '; echo; cat /run/determined/info/cluster.json`)
	spec.Env["DET_MASTER_CERT_FILE"] = "/etc/ssl/master.crt"
	spec.Env["http_proxy"] = "http://proxy:3128"
	spec.Env["MINE"] = "at {{DET_MASTER}}"
	spec.Files = []v1.TaskFile{{Path: "/run/determined/info/cluster.json", Mode: 0o644, Content: []byte(`{"master_url":"{{DET_MASTER}}"}`)}}
	r := newRig(t, spec)
	leak, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	r.extra = []*os.File{leak, leak}
	r.run(0)
	env := map[string]string{}
	var rest []string
	for _, l := range r.printed() {
		if k, v, ok := strings.Cut(l, "="); ok {
			env[k] = v
		} else {
			rest = append(rest, l)
		}
	}
	master := env["DET_MASTER"]
	for k, want := range map[string]string{
		"DET_MASTER_HOST": "127.0.0.1", "DET_MASTER": "http://127.0.0.1:" + env["DET_MASTER_PORT"], "DET_SESSION_TOKEN": fakemaster.Token,
		"DET_AGENT_ID": "node-7", "DET_CONTAINER_ID": nomadAlloc, "DET_RESOURCES_TYPE": "docker-container", "DET_RUN_DIR": "/run/determined",
		"DET_WORKDIR": "/run/determined/workdir", "DET_CLUSTER_ID": "c1", "MINE": "at " + master, "DET_CHIEF_IP": "10.1.2.3", "C10D_PORT": "29123",
		"no_proxy": "127.0.0.1,localhost", "DET_BACKLOG_DIR": r.path("alloc/det/reports"), "DET_USE_TLS": "false", "NOMAD_ALLOC_ID": nomadAlloc,
	} {
		if env[k] != want {
			t.Errorf("%s is %q, want %q", k, env[k], want)
		}
	}
	for _, k := range []string{"NOMAD_TOKEN", "VAULT_TOKEN", "CONSUL_HTTP_TOKEN", "DET_MASTERS", "DET_MASTER_CERT_FILE", "DET_RANK"} {
		if v, ok := env[k]; ok {
			t.Errorf("the program sees %s=%s", k, v)
		}
	}
	// 3 is the directory that ls itself has open.
	if want := []string{"0 1 2 3 ", fmt.Sprintf(`{"master_url":%q}`, master)}; strings.Join(rest, " ") != strings.Join(want, " ") {
		t.Errorf("descriptors and file: %q, want %q", rest, want)
	}
}

func TestTheProgramTalksToAMasterThroughLoopback(t *testing.T) {
	spec := sh("")
	self, _ := os.Executable()
	spec.Shell, spec.Entrypoint = false, []string{self, "program:get", "POST /api/v1/trials/7/metrics {\"x\":1}", "GET /api/v1/me"}
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("200 {}", "200 {}")
	seen := r.state.Seen()
	if len(seen) != 2 || seen[0].Body != `{"x":1}` || seen[0].Token != fakemaster.Token {
		t.Fatalf("the master saw %+v", seen)
	}
}

func TestTheProgramSurvivesAnOutage(t *testing.T) {
	self, _ := os.Executable()
	gate := t.TempDir() + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh("")
	spec.Entrypoint = []string{"read line < " + gate + "; " + self + " program:get 'POST /api/v1/trials/7/metrics during' 'GET /api/v1/allocations/a/signals/preemption?timeout_seconds=0'"}
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the program reads from the gate", func() bool { // the answer to the claim has arrived
		f, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return false
		}
		r.master.Stop()
		_, err = f.WriteString("go\n")
		return errors.Join(err, f.Close()) == nil
	})
	select {
	case <-p.done:
		t.Fatal("the program ended although its report could not be delivered")
	default:
	}
	r.master.Listen(t)
	p.expect(0)
	r.expectPrinted("200 {}", `200 {"preempt":false,"deadline":null}`)
}

func TestAnotherMasterTakesOver(t *testing.T) {
	gate := t.TempDir() + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, sh("echo before; read line < "+gate+"; echo after"))
	second := fakemaster.New(t, r.state)
	p := r.start("run", "DET_MASTERS="+r.master.URL()+","+second.URL())
	eventually(t, "the first line", func() bool { return len(r.printed()) == 1 })
	r.master.Stop()
	second.Listen(t)
	if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.expect(0)
	r.expectPrinted("before", "after")
	if !r.exit().LogsDone {
		t.Fatal("the log was not complete")
	}
}

func TestRendezvous(t *testing.T) {
	spec := sh(`cat /run/determined/info/rendezvous.json; echo; echo $DET_CHIEF_IP $C10D_PORT $DTRAIN_SSH_PORT`)
	spec.Members = 2
	r := newRig(t, spec)
	one := r.start("run", "NOMAD_HOST_PORT_dtrain_ssh_port=22001")
	eventually(t, "the first claim", func() bool { return len(r.state.Claims()) == 1 })
	other := newRig(t, spec)
	const otherAlloc = "6f1d3c2a-0000-4000-8000-000000000002"
	two := other.start("run", "DET_MASTERS="+r.master.URL(), "DET_RANK=1", "NOMAD_ALLOC_ID="+otherAlloc,
		"NOMAD_HOST_IP_runner=10.1.2.4", "NOMAD_HOST_PORT_c10d=30000")
	one.expect(0)
	two.expect(0)
	r.expectPrinted(`{"container_addrs":["10.1.2.3","10.1.2.4"],"container_rank":0,"container_slot_counts":[1,1]}`, "10.1.2.3 29123 22001")
	got := r.state.Lines(otherAlloc+"/1", "task")
	if len(got) != 2 || !strings.Contains(got[0], `"container_rank":1`) || got[1] != "10.1.2.3 29123 22001" {
		t.Fatalf("the second member: %q", got)
	}
}

func TestSIGTERMInTheRendezvous(t *testing.T) {
	spec := sh("echo never")
	spec.Members = 2
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the rendezvous", func() bool { return r.said("waiting for the other members") })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
	if e := r.exit(); e.ExitCode != 143 || !strings.Contains(e.Reason, "stopped before") {
		t.Fatalf("report %+v", e)
	}
}

func TestHealth(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	r := newRig(t, sh("sleep 60"))
	p := r.start("run", "NOMAD_PORT_runner="+strconv.Itoa(port))
	eventually(t, "the health check", func() bool {
		resp, err := http.Get("http://127.0.0.1:" + strconv.Itoa(port) + "/health")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
}
