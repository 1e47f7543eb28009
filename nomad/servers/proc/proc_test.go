package proc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, script string) (*Process, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Dir: "/", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.ID.Kill(context.Background()) })
	return p, log
}

func TestProcessHasItsOwnSession(t *testing.T) {
	p, _ := start(t, "exec sleep 600")
	if !p.ID.Alive() {
		t.Fatal("the process does not run")
	}
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(p.ID.Pid), 0, 0)
	if errno != 0 || int(sid) != p.ID.Pid {
		t.Errorf("the process is in session %d, %v; expected a session of its own, %d", sid, errno, p.ID.Pid)
	}
}

func TestStopAsksAndThenKills(t *testing.T) {
	for name, script := range map[string]string{
		"ends at SIGTERM": "exec sleep 600",
		"ignores SIGTERM": "trap '' TERM; echo trapped; while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			p, log := start(t, script)
			if strings.Contains(script, "trapped") {
				awaitText(t, log, "trapped")
			}
			if err := p.ID.Stop(t.Context(), syscall.SIGTERM, 50*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if p.ID.Alive() {
				t.Error("the process runs after Stop")
			}
			if err := p.ID.Stop(t.Context(), syscall.SIGTERM, time.Second); err != nil {
				t.Errorf("stopping a process that has ended: %v", err)
			}
			if err := p.ID.Signal(syscall.SIGTERM); !errors.Is(err, ErrGone) {
				t.Errorf("a signal to a process that has ended: %v, expected %v", err, ErrGone)
			}
		})
	}
}

// A recorded pid that another process has by now must never be signalled.
func TestAnotherProcessWithThePidIsLeftAlone(t *testing.T) {
	p, _ := start(t, "exec sleep 600")
	old := ID{Pid: p.ID.Pid, Start: "when somebody else had it"}
	if old.Alive() {
		t.Error("Alive reports that the earlier process is alive")
	}
	if err := old.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if !p.ID.Alive() {
		t.Error("Kill killed another process, which has the pid of an earlier one")
	}
	for _, none := range []ID{{}, {Pid: -1}, {Pid: 1 << 30}} {
		if none.Alive() {
			t.Errorf("Alive reports that %+v is alive", none)
		}
	}
}

// If a process ends before Start returns, Start returns an error; so this script waits for a file.
func TestExitIsSeenByItsStarter(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	p, log := start(t, "while [ ! -e '"+ready+"' ]; do sleep 0.01; done; echo its last words >&2; exit 7")
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if p.ExitState() != "exit status 7" {
		t.Errorf("the process ended with %q", p.ExitState())
	}
	if tail := LogTail(log, 5); !strings.Contains(tail, "its last words") {
		t.Errorf("the process's log ends with %q", tail)
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if tail := LogTail(path, 3); tail != "" {
		t.Errorf("the tail of a log that does not exist: %q", tail)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("line\n", 50000)+"a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tail, want := LogTail(path, 2), "\nthe end of "+path+":\n  b\n  c"; tail != want {
		t.Errorf("%q, expected %q", tail, want)
	}
}

func awaitText(t *testing.T, path, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if text, _ := os.ReadFile(path); strings.Contains(string(text), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not contain %q after 10 seconds", path, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}
