// Package task has the command det task: tasks of all kinds.
package task

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det task.
func New(a *app.App) *cobra.Command {
	return noun.New("task", "list all tasks and print their logs", nil, newList(a), newLogs(a))
}
