//go:build unix && !linux

package local

import (
	"errors"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Only Linux tells a process's environment and mounts in a way that says for certain whose they are;
// elsewhere Nomad ends its tasks itself, and it mounts nothing.

func taskProcesses(string) ([]proc.ID, error)   { return nil, nil }
func helperProcesses(string) ([]proc.ID, error) { return nil, nil }
func unmountBelow(string) error                 { return nil }

func processOfTask(string, string) ([]proc.ID, error) {
	return nil, errors.New("finding a task's processes needs Linux")
}
