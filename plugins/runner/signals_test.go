//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// signalled starts a task, waits for its line "ready", and sends SIGTERM.
func signalled(t *testing.T, spec v1.TaskSpec) (*rig, *proc) {
	t.Helper()
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return strings.Contains(p.stdout.String(), "ready\n") })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return r, p
}

func TestAProgramMayEndWellAfterSIGTERM(t *testing.T) {
	r, p := signalled(t, sh(`exec 2>/dev/null; trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.02; done`))
	p.expect(0)
	r.expectPrinted("ready", "saved")
	if e := r.exit(); e.ExitCode != 0 || e.Reason != "" || !e.Stopped {
		t.Fatalf("report %+v", e)
	}
}

func TestTheMasterEndsAnAttemptWhoseAgentIsDead(t *testing.T) {
	r := newRig(t, sh(`echo ready; exec sleep 60`))
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
	r.state.End("ada killed it")
	p.expect(143)
	if e := r.exit(); e.Stopped || e.Reason != "stopped: the master ended this attempt: ada killed it" {
		t.Fatalf("report %+v", e)
	}
}

func TestTwoRequestsToEndSendOneSIGTERM(t *testing.T) {
	r := newRig(t, sh(`exec 2>/dev/null; trap 'echo told; read go < $DET_BACKLOG_DIR/../gate; exit 5' TERM
mkfifo $DET_BACKLOG_DIR/../gate; echo ready; while :; do sleep 0.02; done`))
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
	r.state.End("ada killed it")
	eventually(t, "the program was told", func() bool { return len(r.printed()) == 2 })
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // Nomad's signal arrives a moment later
	if err := os.WriteFile(r.path("alloc/det/gate"), []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.expect(5)
	r.expectPrinted("ready", "told")
}

func TestTheWholeGroupIsTold(t *testing.T) {
	r, p := signalled(t, sh(`exec 2>/dev/null; (trap 'echo child; exit 0' TERM; : > $DET_BACKLOG_DIR/../up; while :; do sleep 0.02; done) & trap 'wait; exit 7' TERM
until [ -e $DET_BACKLOG_DIR/../up ]; do sleep 0.02; done; echo ready; wait`))
	p.expect(7)
	r.expectPrinted("ready", "child")
}

// TestTheShellOfAnEntrypointDiesFirst: an entrypoint that is a text runs in a shell, which dies of SIGTERM at once; the training that it has
// started has the whole grace to store its checkpoint.
func TestTheShellOfAnEntrypointDiesFirst(t *testing.T) {
	r, p := signalled(t, sh(`exec 2>/dev/null; sh -c 'trap "sleep 0.5; echo stored; exit 0" TERM; echo ready; while :; do sleep 0.02; done'; echo never`))
	p.expect(143)
	r.expectPrinted("ready", "stored")
	if r.said("had left running") {
		t.Errorf("the training was killed: %q", r.state.Lines(shipper, "runner"))
	}
	// Without an end within the grace it is killed.
	spec := sh(`sh -c 'trap "" TERM; echo ready; while :; do sleep 0.02; done'; echo never`)
	spec.StopGraceSecs = 1
	r, p = signalled(t, spec)
	p.expect(137)
	if e := r.exit(); !strings.Contains(e.Reason, "did not end within 1s") {
		t.Fatalf("report %+v", e)
	}
}

func TestAProgramThatDoesNotListenIsKilled(t *testing.T) {
	spec := sh(`trap '' TERM; setsid sh -c 'trap "" TERM; sleep 62.5' & echo ready; sleep 62.5; sleep 62.5`)
	spec.StopGraceSecs = 1
	r, p := signalled(t, spec)
	p.expect(137)
	if e := r.exit(); e.ExitCode != 137 || !strings.Contains(e.Reason, "did not end within 1s") {
		t.Fatalf("report %+v", e)
	}
	eventually(t, "all processes have ended", func() bool { return !running("sleep\x0062.5") })
}

func TestASecondSignalKills(t *testing.T) {
	spec := sh(`trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	spec.StopGraceSecs = 3600
	r, p := signalled(t, spec)
	eventually(t, "the first signal was noticed", func() bool { return r.said("Nomad ended the task: sending SIGTERM") })
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	p.expect(137)
}

func TestSIGTERMWithoutAnyHandling(t *testing.T) {
	r, p := signalled(t, sh(`echo ready; exec sleep 60`))
	p.expect(143)
	if e := r.exit(); e.ExitCode != 143 || !strings.Contains(e.Reason, "stopped: Nomad ended the task") || !e.Stopped {
		t.Fatalf("report %+v", e)
	}
}

func TestLeftoversEndWithTheProgram(t *testing.T) {
	r := newRig(t, sh(`setsid sh -c 'sleep 63.5 & sleep 63.5' & (sleep 63.5 &) ; echo out`))
	r.run(0)
	if running("sleep\x0063.5") {
		t.Fatal("processes are left")
	}
	if !r.said("had left running") {
		t.Fatalf("the log does not name the processes: %q", r.state.Lines(shipper, "runner"))
	}
}

// zombies is a shell function that waits until no zombies exist except the sandbox's own.
const zombies = `
exec 2>/dev/null
for i in 1 2 3 4 5 6 7 8; do (sh -c 'sleep 0.01' &) ; done
tries=0
while :; do
	n=0
	for f in /proc/[0-9]*/stat; do
		read line < $f 2>/dev/null || continue
		case "$line" in *"(sleep) Z"*|*"(sh) Z"*) case " $line " in *" $PPID "*) n=$((n+1));; esac;; esac
	done
	[ $n -eq 0 ] && break
	tries=$((tries+1)); [ $tries -gt 500 ] && { echo $n zombies; exit 1; }
	sleep 0.02
done
echo none`

func TestZombiesAreReaped(t *testing.T) {
	r := newRig(t, sh(zombies))
	r.run(0)
	r.expectPrinted("none")
}

func TestTheRunnerSurvivesABrokenLogCollector(t *testing.T) {
	r := newRig(t, sh(counting(20000)))
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = from.Close() // Nomad's log collector has ended
	r.outputs = to
	p := r.start("run")
	_ = to.Close()
	p.expect(0)
	r.expectCounted(20000)
}

func TestTheRunnerDoesNotWaitForALogCollector(t *testing.T) {
	r := newRig(t, sh(counting(20000)))
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close() // the log collector runs, but does not read
	r.outputs = to
	p := r.start("run")
	_ = to.Close()
	eventually(t, "all lines have arrived", func() bool { return len(r.printed()) == 20000 })
	p.expect(0)
}

func TestMisplaced(t *testing.T) {
	r := newRig(t, sh("echo never"))
	r.env = []string{"PATH=" + os.Getenv("PATH"), "DET_RANK=minus"}
	p := r.run(64)
	for _, name := range []string{"DET_ALLOCATION_ID", "NOMAD_ALLOC_DIR", "DET_RANK"} {
		if !strings.Contains(p.stderr.String(), name) {
			t.Errorf("stderr does not name %s: %s", name, p.stderr)
		}
	}
	if got := fmt.Sprint(len(r.state.Claims())); got != "0" {
		t.Errorf("%s claims", got)
	}
}
