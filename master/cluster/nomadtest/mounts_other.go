//go:build !linux

package nomadtest

// unmount has nothing to do where a client mounts nothing.
func unmount(string) {}
