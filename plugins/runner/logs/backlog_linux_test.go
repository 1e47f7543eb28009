package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a file system of a few pages.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestAFullDisk(t *testing.T) {
	dir := smallDisk(t, "16k")
	s := backlog(t, filepath.Join(dir, "logs"), Limits{Memory: 64 << 10})
	fill(s, 0, 300)
	s.Append(line("before " + strings.Repeat("x", 8000)))
	s.Append(line("into memory " + strings.Repeat("x", 8000)))
	var told bool
	all := readAll(t, s, 0)
	for i, l := range all {
		if l.Number != int64(i) {
			t.Fatalf("line %d is number %d", i, l.Number)
		}
		told = told || strings.Contains(l.Text, "cannot write log lines to disk")
	}
	if last := all[len(all)-1]; !told || !strings.HasPrefix(last.Text, "into memory") {
		t.Fatalf("reported: %v; the last line is %.40q", told, last.Text)
	}
	expectLines(t, all[:300], 0, 300)

	// Memory has an end too.
	for i := range 100 {
		s.Append(line(fmt.Sprint(i, strings.Repeat("y", 8000))))
	}
	var missing int
	for _, l := range readAll(t, s, s.Next()-99) {
		if strings.Contains(l.Text, "lines of output are missing here") {
			missing++
		}
	}
	if missing != 1 {
		t.Fatalf("%d notices of lost lines", missing)
	}

	// When a master has accepted all lines and the disk has space, the backlog uses the disk again.
	s.Taken(s.Next())
	n := int(s.Next())
	for len(segments(t, s.Dir())) == 0 {
		fill(s, n, n+10)
		n += 10
		s.Taken(s.Next())
		if n > 100_000 {
			t.Fatal("the disk is never used again")
		}
	}
	fill(s, n, n+10)
	expectLines(t, readAll(t, s, int64(n)), n, n+10)
}
