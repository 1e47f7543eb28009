package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// leftoverGrace is what a task gets to end by itself when Nomad is not there to end it.
const leftoverGrace = 5 * time.Second

// endLeftovers ends the tasks of agents whose data is below dir, and Nomad's helpers beside them. A
// Nomad agent leaves its tasks running when it ends, because it finds them again when it starts.
func endLeftovers(ctx context.Context, dir string) error {
	var failed []error
	// Tasks before the helpers that hold their output.
	for _, list := range [](func(string) ([]proc.ID, error)){taskProcesses, helperProcesses} {
		found, err := list(dir)
		if err != nil {
			return err
		}
		for _, id := range found {
			if err := id.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
				failed = append(failed, err)
			}
		}
		for _, id := range found {
			if err := id.Stop(ctx, syscall.SIGTERM, leftoverGrace); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// removeTree removes a folder of a cluster that is down. Nomad mounts parts of the machine into its
// tasks' folders, devices among them, and leaves them when it is killed: nothing is removed before
// they are unmounted.
func removeTree(dir string) error {
	if err := unmountBelow(dir); err != nil {
		return fmt.Errorf("%s is kept: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
