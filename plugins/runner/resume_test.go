//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// keeps is a task whose folder is kept by a module that stands in for the Python package: it keeps one file.
func keeps(t *testing.T, script, module string) (v1.TaskSpec, string) {
	t.Helper()
	bin, store := t.TempDir(), t.TempDir()
	module = "#!/bin/sh\nstore=" + store + "\n[ \"$1 $2 $PWD\" = '-m determined.exec.resume /' ] || exit 9\n" + module
	if err := os.WriteFile(bin+"/python3", []byte(module), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh(script)
	spec.Resume = "state/out"
	spec.Env["DET_HARNESS"], spec.Env["PATH"] = bin, bin+":"+os.Getenv("PATH")
	return spec, store
}

// keeper restores and saves the file n of the folder.
const keeper = `case $3 in
restore) [ ! -e $store/n ] || { mkdir -p $4; cp $store/n $4/n; } ;;
save) cp $4/n $store/n ;;
esac
echo "$3 $4"`

// counts counts its attempts in the kept folder.
const counts = `mkdir -p state/out; n=$(cat state/out/n 2>/dev/null || echo 0); echo "begins after $n"; echo $((n+1)) > state/out/n; `

// TestAFolderIsKept: the folder is restored before the program and kept after it, whether it completes, fails, or is preempted.
func TestAFolderIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		code   int
	}{"it completes": {counts + "exit 0", 0}, "it fails": {counts + "exit 3", 3}} {
		spec, store := keeps(t, c.script, keeper)
		for n, after := range []string{"0", "1"} {
			r := newRig(t, spec)
			r.run(c.code)
			r.expectPrinted("restore /run/determined/workdir/state/out", "begins after "+after, "save /run/determined/workdir/state/out")
			if kept, err := os.ReadFile(store + "/n"); err != nil || strings.TrimSpace(string(kept)) != []string{"1", "2"}[n] {
				t.Errorf("%s: attempt %d kept %q (%v)", name, n, kept, err)
			}
		}
	}
	spec, store := keeps(t, counts+"exec sleep 60", strings.ReplaceAll(keeper, `echo "$3 $4"`, ""))
	r, p := preempted(t, spec, v1.Preemption{Signal: "SIGTERM", GraceSecs: 60}, false)
	p.expect(143)
	if kept, err := os.ReadFile(store + "/n"); err != nil || string(kept) != "1\n" || r.exit().Preempted != v1.PreemptedExited {
		t.Errorf("preempted, it kept %q (%v), report %+v", kept, err, r.exit())
	}
}

// TestAFolderThatCannotBeRestored: the program does not start without its folder, and its end does not depend on what is kept.
func TestAFolderThatCannotBeRestored(t *testing.T) {
	spec, _ := keeps(t, "echo never", "echo no storage; exit 1")
	r := newRig(t, spec)
	r.run(74)
	r.expectPrinted("no storage")
	if e := r.exit(); !strings.Contains(e.Reason, "the folder state/out of resume.path could not be restored: exit code 1") {
		t.Errorf("report %+v", e)
	}
	spec, _ = keeps(t, counts+"exit 0", "[ $3 = restore ]")
	r = newRig(t, spec)
	r.run(0)
	if !r.said("the folder state/out of resume.path could not be kept, so the next attempt begins from an older state: exit code 1") {
		t.Errorf("the log is %q", r.state.Lines(shipper, "runner"))
	}
	spec, _ = keeps(t, "echo never", keeper)
	spec.Env["DET_SKIP_HARNESS"] = "1"
	r = newRig(t, spec)
	r.run(74)
	if e := r.exit(); !strings.Contains(e.Reason, "needs the Python package of the master") {
		t.Errorf("report %+v", e)
	}
}

// TestNothingWritesWhileAFolderIsKept: processes that the program has left are ended before, and how it ended is stored before.
func TestNothingWritesWhileAFolderIsKept(t *testing.T) {
	left := `(trap '' TERM; while :; do echo more >> state/out/n; sleep 0.02; done) & `
	save := `case $3 in save)
	before=$(cat $4/n); sleep 0.5; [ "$before" = "$(cat $4/n)" ] && echo still
	echo "$PYTHONPATH" > $store/path
	while [ ! -e $store/go ]; do sleep 0.02; done
esac`
	spec, store := keeps(t, `mkdir -p state/out; echo 0 > state/out/n; `+left+`exit 3`, save)
	spec.Env["PYTHONPATH"] = "/mine"
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the folder is being kept", func() bool { return len(r.printed()) == 1 })
	if e := r.recorded(); e.ExitCode != 3 {
		t.Errorf("while the folder is kept, the record is %+v", e)
	}
	if err := os.WriteFile(store+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.expect(3)
	r.expectPrinted("still")
	if path, err := os.ReadFile(store + "/path"); err != nil || strings.TrimSpace(string(path)) != spec.Env["DET_HARNESS"] {
		t.Errorf("the module starts with PYTHONPATH %q (%v)", path, err)
	}
}

// TestTheMasterChoosesTheFolder: the module restores the checkpoint that the master names.
func TestTheMasterChoosesTheFolder(t *testing.T) {
	spec, _ := keeps(t, "exit 0", `echo "$3 $5"`)
	spec.ResumeFrom = "00000000-0000-4000-8000-000000000001"
	r := newRig(t, spec)
	r.run(0)
	r.expectPrinted("restore 00000000-0000-4000-8000-000000000001", "save ")
}

// TestKeepingHasAnEnd: an attempt that Nomad stops has a bounded time to keep its folder.
func TestKeepingHasAnEnd(t *testing.T) {
	spec, _ := keeps(t, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done", "[ $3 = restore ] || { echo saving; exec sleep 61.5; }")
	spec.StopGraceSecs = 1
	r := newRig(t, spec)
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.expect(0)
	if !r.said("could not be kept") || running("sleep\x0061.5") {
		t.Errorf("the log is %q", r.state.Lines(shipper, "runner"))
	}
}
