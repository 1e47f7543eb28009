//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskIsTheNodesFault: a program that fails where the disk of its task has no space left is no failure of its trial.
func TestAFullDiskIsTheNodesFault(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	const fill = `dd if=/dev/zero of=$NOMAD_ALLOC_DIR/big bs=64k 2>/dev/null; `
	for _, x := range []struct {
		program, kind string
		unfit         bool
	}{
		{fill + "exit 1", "TRIAL", true},
		{fill + "exit 0", "TRIAL", false},
		{`echo small > $NOMAD_ALLOC_DIR/small; exit 1`, "TRIAL", false},
		{fill + "exit 1", "COMMAND", false}, // it is not run again
	} {
		program, unfit, spec := x.program, x.unfit, sh(x.program)
		spec.TaskType = x.kind
		r := newRig(t, spec)
		if err := syscall.Mount("tmpfs", r.path("alloc"), "tmpfs", 0, "size=8m"); err != nil {
			t.Skip("cannot mount a small file system: ", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(r.path("alloc"), syscall.MNT_DETACH) })
		p := r.start("run")
		p.expect(map[bool]int{false: 1, true: 0}[strings.HasSuffix(program, "exit 0")])
		if e := r.exit(); e.Unfit != unfit || strings.Contains(e.Reason, "no space left") != unfit {
			t.Errorf("%s: report %+v", program, e)
		}
	}
}
