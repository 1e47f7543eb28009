//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/fakemaster"
)

// counting is a script that prints lines 1 to n.
func counting(n int) string {
	return fmt.Sprintf(`i=1; while [ $i -le %d ]; do echo line $i; i=$((i+1)); done`, n)
}

func (r *rig) expectCounted(n int) {
	r.t.Helper()
	got := r.printed()
	for i, l := range got {
		if want := fmt.Sprintf("line %d", i+1); l != want {
			r.t.Fatalf("line %d of %d is %q, want %q", i+1, len(got), l, want)
		}
	}
	if len(got) != n {
		r.t.Fatalf("%d lines, want %d", len(got), n)
	}
	if gaps := r.state.Gaps(shipper); len(gaps) != 0 {
		r.t.Fatalf("lines with these numbers did not arrive: %v", gaps)
	}
}

func TestEveryLineOnceOverMasterRestarts(t *testing.T) {
	// The script waits ten times for the gate, so that the master is restarted ten times
	// while the program runs.
	gate := t.TempDir() + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for reading and writing, so that the gate always has a writer.
	open, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	const lines, restarts = 5000, 10
	script := fmt.Sprintf(`i=1; while [ $i -le %d ]; do echo line $i; [ $((i%%%d)) -ne 0 ] || read go < %s; i=$((i+1)); done`,
		lines, lines/restarts, gate)
	r := newRig(t, sh(script))
	r.state.LoseEvery(3)
	p := r.start("run")
	for i := range restarts {
		n := lines / restarts * (i + 1)
		eventually(t, fmt.Sprintf("line %d is printed", n), func() bool {
			return strings.Contains(p.stdout.String(), fmt.Sprintf("line %d\n", n))
		})
		r.master.Stop()
		if _, err := open.WriteString("go\n"); err != nil {
			t.Fatal(err)
		}
		r.master.Listen(t)
	}
	p.expect(0)
	r.expectCounted(lines)
	if !r.state.Done(shipper) {
		t.Fatal("the end of the log was not marked")
	}
}

func TestADatabaseThatIsAwayLosesNothing(t *testing.T) {
	r := newRig(t, sh(counting(2500)+"; sleep 60"))
	p := r.start("run")
	eventually(t, "the claim", func() bool { return len(r.state.Claims()) == 1 })
	r.state.Unready(true)
	eventually(t, "everything is printed", func() bool { return strings.Contains(p.stdout.String(), "line 2500\n") })
	r.state.Unready(false)
	eventually(t, "everything has arrived", func() bool { return len(r.printed()) == 2500 })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
	r.expectCounted(2500)
}

func TestALineArrivesSoon(t *testing.T) {
	r := newRig(t, sh("echo now; sleep 60"))
	p := r.start("run")
	eventually(t, "the line arrives while the program runs", func() bool { return len(r.printed()) == 1 })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(143)
}

// TestAKilledRunnerLosesNothing: what a killed runner had not sent lies in the allocation's folder, with a record that says so,
// and no file there has the token.
func TestAKilledRunnerLosesNothing(t *testing.T) {
	r := newRig(t, sh(counting(3000)+"; sleep 61.5"))
	p := r.start("run")
	eventually(t, "the claim", func() bool { return len(r.state.Claims()) == 1 })
	r.master.Stop()
	eventually(t, "everything is printed", func() bool { return strings.Contains(p.stdout.String(), "line 3000\n") })
	_ = p.cmd.Process.Kill()
	<-p.done
	eventually(t, "the program is gone", func() bool { return !running("sleep\x0061.5") })
	if len(r.state.Exits()) != 0 {
		t.Fatal("the killed runner reported an exit")
	}
	r.leftLines()
	r.expectCounted(3000)
	if e := r.left(); e.ExitCode != 137 || e.Reason != leftover.KilledReason || e.Stopped || e.LogsDone {
		t.Fatalf("the record is %+v", e)
	}
	err := filepath.WalkDir(r.path("alloc"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(fakemaster.Token)) {
			t.Errorf("%s has the token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// gated is a task that prints a line, waits for the returned function, prints the others, and exits with 4.
func gated(t *testing.T, n int) (v1.TaskSpec, func()) {
	gate := t.TempDir() + "/gate"
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh("echo line 0; read go < " + gate + ";" + counting(n) + "; exit 4")
	return spec, func() {
		t.Helper()
		if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheEndWaitsForAMaster: a runner whose program ends while no master answers reports the end to the next master that does.
func TestTheEndWaitsForAMaster(t *testing.T) {
	spec, open := gated(t, 1500)
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the first line", func() bool { return len(r.printed()) == 1 })
	r.master.Stop()
	open()
	eventually(t, "the program has ended", func() bool { return r.recorded().ExitCode == 4 })
	r.master.Listen(t)
	p.expect(4)
	if got := r.printed(); len(got) != 1501 || got[0] != "line 0" || got[1500] != "line 1500" {
		t.Fatalf("%d lines", len(got))
	}
	if e := r.exit(); e.ExitCode != 4 || e.Reason != "" {
		t.Fatalf("report %+v", e)
	}
	if !r.state.Done(shipper) {
		t.Fatal("the end of the log is not marked")
	}
	if left, _ := filepath.Glob(r.path("alloc/det/logs/*")); len(left) != 1 {
		t.Fatalf("the backlog still holds %v", left)
	}
}

// TestWhatTheRunnerCannotDeliverIsLeft: a runner that Nomad stops while it waits for a master, or whose DET_LOG_WAIT_TIME has passed,
// leaves the lines and the end for a master to read.
func TestWhatTheRunnerCannotDeliverIsLeft(t *testing.T) {
	for name, wait := range map[string]string{"stopped": "", "time": "1"} {
		t.Run(name, func(t *testing.T) {
			spec, open := gated(t, 1500)
			if wait != "" {
				spec.Env["DET_LOG_WAIT_TIME"] = wait
			}
			r := newRig(t, spec)
			p := r.start("run")
			eventually(t, "the first line", func() bool { return len(r.printed()) == 1 })
			r.master.Stop()
			open()
			eventually(t, "the program has ended", func() bool { return r.recorded().ExitCode == 4 })
			if wait == "" {
				_ = p.cmd.Process.Signal(syscall.SIGTERM)
			}
			p.expect(4)
			r.leftLines()
			if got := r.printed(); len(got) != 1501 || got[0] != "line 0" || got[1500] != "line 1500" {
				t.Fatalf("%d lines", len(got))
			}
			if e := r.left(); e.ExitCode != 4 || e.Reason != "" || e.Stopped {
				t.Fatalf("the record is %+v", e)
			}
			if !strings.Contains(p.stderr.String(), "a master will read") {
				t.Errorf("Nomad's log says %s", p.stderr)
			}
		})
	}
}

func TestEchoCanBeTurnedOff(t *testing.T) {
	spec := sh("echo secret")
	spec.Env["DET_SHIPPER_EMIT_STDOUT_LOGS"] = "0"
	r := newRig(t, spec)
	p := r.run(0)
	r.expectPrinted("secret")
	if strings.Contains(p.stdout.String(), "secret") {
		t.Fatalf("the runner printed %q for Nomad's log", p.stdout)
	}
}

// running reports whether a process with such a command line exists.
func running(cmdline string) bool {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), cmdline) {
			return true
		}
	}
	return false
}

// BenchmarkOverhead measures the time from the start of det-runner to the start of the
// program, with a master that answers at once.
func BenchmarkOverhead(b *testing.B) {
	var total time.Duration
	for b.Loop() {
		r := newRig(b, sh("date +%s%N"))
		began := time.Now()
		p := r.start("run")
		p.expect(0)
		var nanos int64
		if _, err := fmt.Sscan(r.printed()[0], &nanos); err != nil {
			b.Fatal(err)
		}
		total += time.Unix(0, nanos).Sub(began)
		r.master.Stop()
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N)/1000, "ms-to-program")
}
