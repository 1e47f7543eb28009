//go:build !linux

package pgtest

const memory = "/dev/shm"

func memoryDir(string, int) string { return "" }
