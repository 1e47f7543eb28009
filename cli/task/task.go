// Package task has the command det task: tasks of all kinds.
package task

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det task.
func New(a *app.App) *cobra.Command {
	return noun.New("task", "list all tasks, print their logs, and run generic tasks", nil, newList(a), newLogs(a), newCreate(a), newFork(a),
		newConfig(a), newKill(a), newPause(a), newUnpause(a), newTunnel(a), newCleanupLogs(a))
}
