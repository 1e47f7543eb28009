// Package leftover kills and removes what Nomad's agents leave on a machine: an agent that ends leaves
// its tasks and their helper processes running, and a killed agent leaves its mounts.
package leftover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/detent-ml/detent/nomad/servers/mountinfo"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// grace is how long a task may take to end if Nomad does not run.
const grace = 5 * time.Second

// End kills the tasks of agents whose data is below dir, and Nomad's helper processes. A Nomad agent
// leaves its tasks running when it ends, because it finds them again when it starts.
func End(ctx context.Context, dir string) error {
	var failed []error
	// Tasks end before the helpers that collect their output.
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

// Remove removes a folder of agents that have ended. Nomad mounts folders of the machine, such as
// devices, into its tasks' folders, and a killed Nomad leaves these mounts: nothing is removed before
// they are unmounted.
func Remove(dir string) error {
	if err := mountinfo.UnmountBelow(dir); err != nil {
		return fmt.Errorf("%s is kept: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
