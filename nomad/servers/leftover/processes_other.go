//go:build unix && !linux

package leftover

import (
	"errors"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Only Linux shows the environment of a process in a reliable way; on other systems Nomad ends its
// tasks itself.

// Tasks finds no processes on this system.
func Tasks(string) ([]proc.ID, error) { return nil, nil }

// Helpers finds no processes on this system.
func Helpers(string) ([]proc.ID, error) { return nil, nil }

// OfTask returns an error on this system.
func OfTask(string, string) ([]proc.ID, error) {
	return nil, errors.New("finding a task's processes needs Linux")
}
