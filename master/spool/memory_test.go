package spool

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestInMemory asks about every tmpfs and every disk that the kernel lists.
func TestInMemory(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Skip("no list of mounts: ", err)
	}
	kinds := map[string]string{} // what is mounted last at a path is seen
	for line := range strings.Lines(string(mounts)) {
		if words := strings.Fields(line); len(words) > 2 {
			kinds[words[1]] = words[2]
		}
	}
	asked := map[string]int{}
	for path, kind := range kinds {
		want := kind == "tmpfs" || kind == "ramfs"
		if !want && kind != "ext4" && kind != "xfs" && kind != "overlay" && kind != "btrfs" {
			continue
		}
		got, err := InMemory(path)
		if err != nil {
			continue // not ours to look at
		}
		asked[kind]++
		if got != want {
			t.Errorf("%s is of type %s, and InMemory returns %v", path, kind, got)
		}
	}
	t.Log(asked)
	if len(asked) == 0 {
		t.Skip("no file system to ask about")
	}
	if _, err := InMemory(t.TempDir() + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
