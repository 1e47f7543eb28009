// Package leftover ends and removes what Nomad's agents leave on a machine: an agent that ends leaves
// its tasks running, with helpers that hold on to them, and one that is killed its mounts.
package leftover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/mountinfo"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// grace is what a task gets to end by itself when Nomad is not there to end it.
const grace = 5 * time.Second

// End ends the tasks of agents whose data is below dir, and Nomad's helpers beside them. A
// Nomad agent leaves its tasks running when it ends, because it finds them again when it starts.
func End(ctx context.Context, dir string) error {
	var failed []error
	// Tasks before the helpers that hold their output.
	for _, list := range [](func(string) ([]proc.ID, error)){Tasks, Helpers} {
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
			if err := id.Stop(ctx, syscall.SIGTERM, grace); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// Remove removes a folder of agents that have ended. Nomad mounts parts of the machine into its
// tasks' folders, devices among them, and leaves them when it is killed: nothing is removed before
// they are unmounted.
func Remove(dir string) error {
	if err := mountinfo.UnmountBelow(dir); err != nil {
		return fmt.Errorf("%s is kept: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
