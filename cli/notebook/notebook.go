// Package notebook has the command det notebook: JupyterLab on the cluster.
package notebook

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det notebook.
func New(a *app.App) *cobra.Command {
	k := kind()
	return noun.New("notebook", "run JupyterLab on the cluster", nil, tasks.NewList(a, k), newStart(a), tasks.NewOpen(a, k, running), newAddress(a, k),
		tasks.NewDescribe(a, k), tasks.NewConfig(a, k), tasks.NewLogs(a, k), tasks.NewKill(a, k), tasks.NewSet(a, k))
}

// running is the message for a notebook that is ready.
const running = "Jupyter Notebook is running at"

func kind() tasks.Kind {
	return tasks.Kind{
		Noun: "notebook", Nouns: "notebooks",
		List: func(ctx context.Context, c *client.Client, q v1.GetCommandsRequest) ([]tasks.Item, error) {
			resp, err := client.Send(ctx, c, v1.ListNotebooks, q)
			return each.Of(resp.Notebooks, item), err
		},
		Get: func(ctx context.Context, c *client.Client, id string) (tasks.Item, v1.Struct, error) {
			resp, err := client.Call(ctx, c, v1.GetNotebook, id)
			return item(resp.Notebook), resp.Config, err
		},
		Kill:       tasks.Kill(v1.KillNotebook),
		Prioritize: tasks.Prioritize(v1.PrioritizeNotebook),
	}
}

func item(m v1.Notebook) tasks.Item {
	i := tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Message: m}
	i.Address = m.ServiceAddress
	return i
}
