package mountinfo

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestParse(t *testing.T) {
	text := "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n" + `37 36 0:1 / /mnt2/a\040b\134c\011 rw - tmpfs tmpfs rw` + "\nodd line\n"
	if got, want := parse(text), []string{"/mnt2", "/mnt2/a b\\c\t"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnmountBelow: nested mounts, also with names that the kernel escapes, are unmounted; mounts beside
// the folder stay.
func TestUnmountBelow(t *testing.T) {
	base := t.TempDir()
	dir, beside := filepath.Join(base, "a"), filepath.Join(base, "ab")
	outer := filepath.Join(dir, "with space\tand tab")
	inner := filepath.Join(outer, `in\side`)
	for _, point := range []string{outer, inner, beside} {
		if err := os.MkdirAll(point, 0o755); err != nil {
			t.Fatal(err)
		}
		err := syscall.Mount("tmpfs", point, "tmpfs", 0, "size=64k")
		if errors.Is(err, syscall.EPERM) {
			t.Skip("this user may mount nothing")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = syscall.Unmount(beside, syscall.MNT_DETACH) })
	points, err := Points()
	if err != nil || !slices.Contains(points, outer) || slices.Index(points, inner) < slices.Index(points, outer) {
		t.Fatalf("%q: %v", points, err)
	}
	if err := UnmountBelow(dir); err != nil {
		t.Fatal(err)
	}
	points, err = Points()
	if err != nil || slices.Contains(points, outer) || slices.Contains(points, inner) || !slices.Contains(points, beside) {
		t.Errorf("%q: %v", points, err)
	}
}
