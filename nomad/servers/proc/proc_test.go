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
		t.Fatal("it does not run")
	}
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(p.ID.Pid), 0, 0)
	if errno != 0 || int(sid) != p.ID.Pid {
		t.Errorf("its session is %d, %v; expected its own, %d", sid, errno, p.ID.Pid)
	}
}

func TestStopAsksAndThenKills(t *testing.T) {
	for name, script := range map[string]string{
		"one that obeys": "exec sleep 600",
		"one that not":   "trap '' TERM; echo trapped; while :; do sleep 1; done",
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
				t.Error("it runs on")
			}
			if err := p.ID.Stop(t.Context(), syscall.SIGTERM, time.Second); err != nil {
				t.Errorf("stopping what is gone: %v", err)
			}
			if err := p.ID.Signal(syscall.SIGTERM); !errors.Is(err, ErrGone) {
				t.Errorf("a signal to what is gone: %v, expected %v", err, ErrGone)
			}
		})
	}
}

// A recorded pid that another process has by now must never be signalled.
func TestAnotherProcessWithThePidIsLeftAlone(t *testing.T) {
	p, _ := start(t, "exec sleep 600")
	old := ID{Pid: p.ID.Pid, Start: "when somebody else had it"}
	if old.Alive() {
		t.Error("the earlier process is said to be alive")
	}
	if err := old.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if !p.ID.Alive() {
		t.Error("a process was killed for one that had its pid earlier")
	}
	for _, none := range []ID{{}, {Pid: -1}, {Pid: 1 << 30}} {
		if none.Alive() {
			t.Errorf("%+v is said to be alive", none)
		}
	}
}

// One that ends before Start returns is an error of Start's, so this one waits to be told.
func TestExitIsSeenByItsStarter(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	p, log := start(t, "while [ ! -e '"+ready+"' ]; do sleep 0.01; done; echo its last words >&2; exit 7")
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if p.ExitState() != "exit status 7" {
		t.Errorf("it ended with %q", p.ExitState())
	}
	if tail := LogTail(log, 5); !strings.Contains(tail, "its last words") {
		t.Errorf("its log ends with %q", tail)
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if tail := LogTail(path, 3); tail != "" {
		t.Errorf("of no log: %q", tail)
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
			t.Fatalf("%s never had %q", path, want)
		}
		<-time.After(5 * time.Millisecond)
	}
}
