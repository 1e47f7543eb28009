package spool

import (
	"fmt"
	"syscall"
)

// Numbers of file systems in memory, from statfs(2).
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// InMemory reports whether files in a directory are stored in memory.
func InMemory(path string) (bool, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return false, fmt.Errorf("cannot read the file system of %s: %w", path, err)
	}
	kind := uint32(fs.Type)
	return kind == tmpfs || kind == ramfs, nil
}
