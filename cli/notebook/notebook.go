// Package notebook has the command det notebook: JupyterLab on the cluster.
package notebook

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
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
		List:       tasks.List(v1.ListNotebooks, func(r *v1.GetNotebooksResponse) []tasks.Item { return each.Of(r.Notebooks, item) }),
		Get:        tasks.Get(v1.GetNotebook, func(r *v1.GetNotebookResponse) (tasks.Item, v1.Struct) { return item(r.Notebook), r.Config }),
		Kill:       tasks.Kill(v1.KillNotebook),
		Prioritize: tasks.Prioritize(v1.PrioritizeNotebook),
	}
}

func item(m v1.Notebook) tasks.Item {
	return tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Address: m.ServiceAddress, Message: m}
}
