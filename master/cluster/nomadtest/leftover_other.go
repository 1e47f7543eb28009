//go:build !linux

package nomadtest

// executors finds none where processes cannot be looked at.
func executors(string) []int { return nil }

func kill([]int) {}

// unmount has nothing to do where a client mounts nothing.
func unmount(string) {}
