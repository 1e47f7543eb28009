//go:build unix && !linux

package leftover

import (
	"errors"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Only Linux tells a process's environment in a way that says for certain whose it is;
// elsewhere Nomad ends its tasks itself.

// Tasks finds none.
func Tasks(string) ([]proc.ID, error) { return nil, nil }

// Helpers finds none.
func Helpers(string) ([]proc.ID, error) { return nil, nil }

// OfTask cannot find them.
func OfTask(string, string) ([]proc.ID, error) {
	return nil, errors.New("finding a task's processes needs Linux")
}
