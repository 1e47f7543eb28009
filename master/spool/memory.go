package spool

import (
	"fmt"
	"syscall"
)

// File systems whose files lie in memory, by the numbers that statfs(2) gives them.
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// InMemory tells whether what is stored in a directory lies in memory.
func InMemory(path string) (bool, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return false, fmt.Errorf("the file system of %s: %w", path, err)
	}
	kind := uint32(fs.Type)
	return kind == tmpfs || kind == ramfs, nil
}
