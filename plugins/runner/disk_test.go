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
	for program, unfit := range map[string]bool{
		`dd if=/dev/zero of=$NOMAD_ALLOC_DIR/big bs=64k 2>/dev/null; exit 1`: true,
		`dd if=/dev/zero of=$NOMAD_ALLOC_DIR/big bs=64k 2>/dev/null; exit 0`: false,
		`echo small > $NOMAD_ALLOC_DIR/small; exit 1`:                        false,
	} {
		r := newRig(t, sh(program))
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
