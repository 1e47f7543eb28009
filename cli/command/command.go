// Package command has the command det command: single programs on the cluster.
package command

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det command.
func New(a *app.App) *cobra.Command {
	k := kind()
	return noun.New("command", "run programs on the cluster", []string{"cmd"}, tasks.NewList(a, k),
		newRun(a), tasks.NewDescribe(a, k), tasks.NewConfig(a, k), tasks.NewLogs(a, k), tasks.NewKill(a, k), tasks.NewSet(a, k))
}

func kind() tasks.Kind {
	return tasks.Kind{
		Noun: "command", Nouns: "commands",
		List:       tasks.List(v1.ListCommands, func(r *v1.GetCommandsResponse) []tasks.Item { return each.Of(r.Commands, item) }),
		Get:        tasks.Get(v1.GetCommand, func(r *v1.GetCommandResponse) (tasks.Item, v1.Struct) { return item(r.Command), r.Config }),
		Kill:       tasks.Kill(v1.KillCommand),
		Prioritize: tasks.Prioritize(v1.PrioritizeCommand),
	}
}

func item(m v1.Command) tasks.Item {
	return tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Message: m}
}
