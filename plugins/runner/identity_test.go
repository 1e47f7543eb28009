//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheIdentityIsGone: the workload identity opens Nomad's API, so the runner does not have it any more when its
// program runs: neither the environment nor the memory of any process of the task contains it.
func TestTheIdentityIsGone(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "started")
	spec := sh("env >" + marker + ".env; : >" + marker + "; exec sleep 60")
	r := newRig(t, spec)
	long := "eyJhbGciOiJSUzI1NiJ9." + strings.Repeat("claims", 40) + ".signature" // a text that nothing else contains
	p := r.start("run", "NOMAD_TOKEN_det="+long)
	eventually(t, "the program runs", func() bool { _, err := os.Stat(marker); return err == nil })
	if c := r.state.Claims(); len(c) != 1 || c[0].Identity != long {
		t.Fatalf("the claim did not show the identity: %+v", c)
	}
	for _, pid := range family(t, p.cmd.Process.Pid) {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(environ, []byte("claimsclaims")) {
			t.Errorf("the environment of process %d has the identity", pid)
		}
		if inMemory(t, pid, []byte("claimsclaimsclaims")) {
			t.Errorf("the memory of process %d has the identity", pid)
		}
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait()
}

// TestInMemory tests that the search of the test above finds what is there.
func TestInMemory(t *testing.T) {
	there := bytes.Repeat([]byte("0here1"), 7)
	if !inMemory(t, os.Getpid(), there) {
		t.Error("the search does not find a text in this process")
	}
}

// family lists a process and all that it has started.
func family(t *testing.T, pid int) []int {
	t.Helper()
	list := []int{pid}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tasks {
		children, _ := os.ReadFile(file) // a thread that has ended
		for field := range strings.FieldsSeq(string(children)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, family(t, child)...)
		}
	}
	return list
}

// inMemory searches the writable memory of a process.
func inMemory(t *testing.T, pid int, text []byte) bool {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("the memory of processes cannot be read here: %v", err)
	}
	defer mem.Close()
	const piece = 1 << 20
	buffer := make([]byte, piece+len(text))
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var rights string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); err != nil || !strings.HasPrefix(rights, "rw") {
			continue
		}
		for at := from; at < to; at += piece {
			n, _ := mem.ReadAt(buffer[:min(int64(len(buffer)), to-at)], at) // pages that were never used are not there
			if bytes.Contains(buffer[:n], text) {
				return true
			}
		}
	}
	return false
}

// TestASignalDuringTheHandover: SIGTERM that arrives while the runner executes itself anew ends the attempt with a report,
// and the program's own signals are not blocked.
func TestASignalDuringTheHandover(t *testing.T) {
	for n := range 20 {
		r := newRig(t, sh("exec sleep 60"))
		p := r.start("run")
		eventually(t, "the runner has claimed", func() bool { return len(r.state.Claims()) == 1 })
		<-time.After(time.Duration(n) * time.Millisecond) // spread over the handover
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		p.expect(143) // by itself; -1: killed by the signal
		exits := r.state.Exits()
		unanswered := strings.Contains(p.stderr.String(), "stopped before the program was started") && len(exits) == 0
		if !unanswered && (len(exits) != 1 || !exits[0].Stopped) {
			t.Fatalf("run %d: the end was not reported as a stop: %+v", n, exits)
		}
	}
	r := newRig(t, sh("grep SigBlk /proc/self/status"))
	r.run(0)
	r.expectPrinted("SigBlk:\t0000000000000000")
}

// TestNomadsSocketIsRemoved: programs do not see the socket of Nomad's API, nor one that a new client of Nomad makes later.
func TestNomadsSocketIsRemoved(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, sh(`ls "$NOMAD_SECRETS_DIR"; : >`+dir+`/started; until [ -e `+dir+`/end ]; do sleep 0.05; done; ls "$NOMAD_SECRETS_DIR"`))
	socket := r.path("main/secrets/api.sock")
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	listen()
	p := r.start("run")
	eventually(t, "the program runs", func() bool { _, err := os.Stat(dir + "/started"); return err == nil })
	listen() // fails while the first is there
	eventually(t, "the second socket is removed", func() bool { _, err := os.Lstat(socket); return os.IsNotExist(err) })
	if err := os.WriteFile(dir+"/end", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.expect(0)
	if out := p.stdout.String(); strings.Contains(out, "api.sock") {
		t.Errorf("the program saw the socket:\n%s", out)
	}
}
