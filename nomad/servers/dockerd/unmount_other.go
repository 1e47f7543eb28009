//go:build !linux

package dockerd

func unmountBelow(string) error { return nil }
