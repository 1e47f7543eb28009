// Package task has the command det task: tasks of all kinds.
package task

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// New returns the command det task.
func New(a *app.App) *cobra.Command {
	return noun.New("task", "list all tasks, print their logs, and run generic tasks", nil, newList(a), newLogs(a), newCreate(a), newFork(a),
		newConfig(a), newKill(a), newPause(a), newUnpause(a), newTunnel(a), newCleanupLogs(a))
}

// shortest is the number of characters from which on an ID may be the beginning of one. Tables show eight.
const shortest = 4

// expand completes the ID of an attempt's task that runs or waits, if only its beginning was given. Any other ID is the master's to find.
func expand(c *client.Client, ctx context.Context, id string) (string, error) {
	if len(id) < shortest || len(id) >= len(uuid.Nil.String()) {
		return id, nil
	}
	live, err := c.Tasks(ctx)
	if err != nil {
		return "", err
	}
	found := id
	for _, t := range live {
		switch {
		case t.TaskID == id, !strings.HasPrefix(t.TaskID, id), t.TaskID == found:
		case found != id:
			return "", fault.New(fault.Invalid, "the IDs of several tasks begin with %q; give more characters", id)
		default:
			found = t.TaskID
		}
	}
	return found, nil
}
