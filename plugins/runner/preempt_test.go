//go:build linux

package main

import (
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// saver saves when it gets a signal and exits with a code.
const saver = `exec 2>/dev/null; trap 'echo saved; exit %code' %signal; echo ready; while :; do sleep 0.02; done`

// torchrunOf notes an error as torchrun does, at SIGTERM.
func torchrunOf(message string) v1.TaskSpec {
	return sh(`trap 'echo "{\"message\": {\"message\": \"` + message + `\", \"extraInfo\": {}}}" > $TORCHELASTIC_ERROR_FILE; exit 1' TERM; exec 2>/dev/null; echo ready; while :; do sleep 0.02; done`)
}

func saverOf(signal, code string) v1.TaskSpec {
	spec := sh(strings.NewReplacer("%signal", signal, "%code", code).Replace(saver))
	spec.TaskType = "TRIAL"
	return spec
}

// preempted starts a task, waits for its line "ready", and preempts it.
func preempted(t *testing.T, spec v1.TaskSpec, by v1.Preemption, asked bool) (*rig, *proc) {
	t.Helper()
	spec.Preemption = &by
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
	r.state.Decide(!asked)
	r.state.PreemptFor("its experiment was paused")
	return r, p
}

// TestASignalPreempts: how programs end after the signal of their preemption, and what their runner reports.
func TestASignalPreempts(t *testing.T) {
	for name, c := range map[string]struct {
		spec    v1.TaskSpec
		by      v1.Preemption
		exit    int
		printed []string
		how     string
		reason  string
	}{
		"it saves and exits well": {saverOf("USR1", "0"), v1.Preemption{Signal: "SIGUSR1", GraceSecs: 60}, 0, []string{"ready", "saved"},
			v1.PreemptedExited, "it was preempted by SIGUSR1, and exited with exit code 0"},
		"it ends by the signal": {sh(`echo ready; exec sleep 60`), v1.Preemption{Signal: "SIGHUP", GraceSecs: 60}, 129, []string{"ready"},
			v1.PreemptedExited, "it was preempted by SIGHUP, and exited with exit code 129"},
		"it fails while it saves": {saverOf("TERM", "3"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, 3, []string{"ready", "saved"}, "", ""},
		"it is torchrun, which ends by the signal": {torchrunOf("SignalException: Process 7 got signal: 15"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, 1, []string{"ready"},
			v1.PreemptedExited, "it was preempted by SIGTERM, and exited with exit code 1"},
		"it is torchrun, and ended by another signal": {torchrunOf("SignalException: Process 7 got signal: 2"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, 1, []string{"ready"}, "", ""},
		"it is torchrun, and a worker failed":         {torchrunOf("RuntimeError: no space left"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, 1, []string{"ready"}, "", ""},
		"it never asked, and fails at a signal that it does not know": {saverOf("TERM", "1"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 60, UnlessAsked: true, AnyExit: true}, 1,
			[]string{"ready", "saved"}, v1.PreemptedExited, "it was preempted by SIGTERM, and exited with exit code 1"},
		"it ignores the signal": {sh(`trap '' INT; echo ready; while :; do sleep 0.02; done`), v1.Preemption{Signal: "SIGINT", GraceSecs: 1}, 137, []string{"ready"},
			v1.PreemptedKilled, "the program did not exit within 1s of SIGINT, which preempted it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, p := preempted(t, c.spec, c.by, false)
			p.expect(c.exit)
			r.expectPrinted(c.printed...)
			if e := r.exit(); e.ExitCode != c.exit || e.Preempted != c.how || e.Reason != c.reason || e.Stopped {
				t.Fatalf("report %+v", e)
			}
			if want := "preempted (its experiment was paused): sending " + c.by.Signal + " to the program"; !r.said(want) {
				t.Fatalf("the log does not say %q: %q", want, r.state.Lines(shipper, "runner"))
			}
		})
	}
}

// TestWhoAsksGetsNoSignal: a program that asks the preemption API gets a signal only if its configuration names one.
func TestWhoAsksGetsNoSignal(t *testing.T) {
	r, p := preempted(t, saverOf("TERM", "0"), v1.Preemption{Signal: "SIGTERM", GraceSecs: 1, UnlessAsked: true}, true)
	r.state.End("ada killed it") // the next watch answers this: the preemption has been seen before
	p.expect(0)
	if e := r.exit(); e.Preempted != "" || r.said("preempted") || !r.said("ada killed it: sending SIGTERM") {
		t.Fatalf("report %+v, log %q", e, r.state.Lines(shipper, "runner"))
	}
	r, p = preempted(t, saverOf("USR2", "0"), v1.Preemption{Signal: "SIGUSR2", GraceSecs: 60}, true)
	p.expect(0)
	if e := r.exit(); e.Preempted != v1.PreemptedExited {
		t.Fatalf("report %+v", e)
	}
}

// TestTheRunnerWaitsForTheDecision: while the master has not decided whether a signal preempts the program, the program runs on.
func TestTheRunnerWaitsForTheDecision(t *testing.T) {
	for _, signal := range []bool{true, false} {
		spec := saverOf("TERM", "0")
		spec.Preemption = &v1.Preemption{Signal: "SIGTERM", GraceSecs: 60, UnlessAsked: true}
		r := newRig(t, spec)
		p := r.start("run")
		eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
		asked := r.state.Watches()
		r.state.PreemptFor("its experiment was paused")
		eventually(t, "the runner asks again, undecided", func() bool { return r.state.Watches() >= asked+2 })
		if r.said("preempted") {
			t.Fatal("a signal was sent before the decision")
		}
		r.state.Decide(signal)
		if !signal {
			eventually(t, "the runner knows of the decision", r.state.Settled)
			r.state.End("ada killed it")
		}
		p.expect(0)
		if e := r.exit(); (e.Preempted != "") != signal || r.said("preempted") != signal {
			t.Fatalf("report %+v, log %q", e, r.state.Lines(shipper, "runner"))
		}
	}
}

// TestTheTrainingBehindAShellHasItsGrace: the shell of an entrypoint dies by the signal, and its training still saves.
func TestTheTrainingBehindAShellHasItsGrace(t *testing.T) {
	spec := sh(`exec 2>/dev/null; sh -c 'trap "sleep 0.3; echo stored; exit 0" USR1; echo ready; while :; do sleep 0.02; done'; echo never`)
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGUSR1", GraceSecs: 60}, false)
	p.expect(138)
	r.expectPrinted("ready", "stored")
	if e := r.exit(); e.Preempted != v1.PreemptedExited {
		t.Fatalf("report %+v", e)
	}
}

// TestPreemptedBeforeTheProgram: an attempt that is preempted while its startup hook runs ends without its program.
func TestPreemptedBeforeTheProgram(t *testing.T) {
	spec := sh(`echo never`)
	spec.TaskType = "TRIAL"
	spec.Files = append(spec.Files, v1.TaskFile{Path: "/run/determined/workdir/startup-hook.sh", Mode: 0o700, Content: []byte("echo ready; exec sleep 60")})
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, false)
	p.expect(143)
	r.expectPrinted("ready")
	if e := r.exit(); e.Preempted != v1.PreemptedExited || e.Reason != "preempted before the program was started" {
		t.Fatalf("report %+v", e)
	}
}

// TestAKillDuringTheGrace: the end of the attempt is ordered while the program has its grace, so it has the shorter time.
func TestAKillDuringTheGrace(t *testing.T) {
	spec := sh(`exec 2>/dev/null; trap '' USR1; trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.02; done`)
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGUSR1", GraceSecs: 3600}, false)
	eventually(t, "the first signal was sent", func() bool { return r.said("sending SIGUSR1") })
	r.state.End("ada killed it")
	p.expect(0)
	r.expectPrinted("ready", "told")
}

// TestASaverBehindAShellFails: the shell of an entrypoint ends by the signal, and the training that it started fails to save.
func TestASaverBehindAShellFails(t *testing.T) {
	spec := sh(`exec 2>/dev/null; sh -c 'trap "sleep 0.3; echo failed; exit 9" TERM; echo ready; while :; do sleep 0.02; done'; exit $?`)
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, false)
	p.expect(9)
	r.expectPrinted("ready", "failed")
	if e := r.exit(); e.Preempted != "" || e.ExitCode != 9 {
		t.Fatalf("report %+v", e)
	}
}

// TestALaterSignalReachesTheTrainingBehindAShell: after the shell has ended by the signal, a kill still tells the training.
func TestALaterSignalReachesTheTrainingBehindAShell(t *testing.T) {
	spec := sh(`exec 2>/dev/null; sh -c 'trap "echo saving" USR1; trap "echo told; exit 0" TERM; echo ready; while :; do sleep 0.02; done'; exit $?`)
	spec.StopGraceSecs = 600
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGUSR1", GraceSecs: 3600}, false)
	eventually(t, "it saves", func() bool { return len(r.printed()) == 2 })
	r.state.End("ada killed it")
	p.expect(138)
	r.expectPrinted("ready", "saving", "told")
}

// TestTheReasonOfAHookThatFails: a startup hook that fails at the preemption is named.
func TestTheReasonOfAHookThatFails(t *testing.T) {
	spec := sh(`echo never`)
	spec.TaskType = "TRIAL"
	spec.Files = append(spec.Files, v1.TaskFile{Path: "/run/determined/workdir/startup-hook.sh", Mode: 0o700, Content: []byte("echo ready; trap 'exit 7' USR1; while :; do sleep 0.02; done")})
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGUSR1", GraceSecs: 60}, false)
	p.expect(143)
	if e := r.exit(); e.Preempted != v1.PreemptedExited || e.Reason != "preempted before the program was started: startup-hook.sh failed with exit code 7; the program was not started" {
		t.Fatalf("report %+v", e)
	}
}
