package tasks

import (
	"context"
	"io/fs"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB    *database.DB
	Nodes nodes.Inventory
	Code  *contexts.Sender
	Trail *audit.Trail
	Proxy *proxy.Proxy // forwards users to notebooks, TensorBoards and shells; nil if the proxy is disabled
	Pages fs.FS        // the pages in the browser; without index.html there are none
	// Identify says who sends a request that the router has not admitted.
	Identify func(ctx context.Context, s rest.Credential) (auth.Who, error)
	// Start checks a request for a task and creates the task, unless the request is a preview. StartGeneric does the same for a generic task.
	Start        func(ctx context.Context, c *rest.Call, of Kind, req Request) (*Launched, error)
	StartGeneric func(ctx context.Context, c *rest.Call, req *v1.CreateGenericTaskRequest) (*Launched, error)
	// Experiments lists the experiments that match filters, of those that the caller may view.
	Experiments func(ctx context.Context, c *rest.Call, filters *v1.BulkExperimentFilters) ([]int, error)
	// AllowPriority fails if a task in a workspace may not have a priority.
	AllowPriority func(ctx context.Context, workspace, priority int) error
	Secrets       task.Secrets // that operators offer to users
	// Changed wakes the control loop.
	Changed func()

	terminals *rest.Places // of users who have terminals open; Routes makes them
}

// Routes adds the endpoints of tasks. Those of their attempts and logs are elsewhere.
func Routes(r *rest.Router, d Deps) {
	d.terminals = rest.NewPlaces("terminals", maxTerminals, MaxTerminalsOfUser)
	task, opened, own := On(d.DB), d.onOpened(), onIdle()
	command, notebook, shell, tensorboard := onKind(d.DB, Command()), onKind(d.DB, Notebook()), onKind(d.DB, Shell()), onKind(d.DB, Tensorboard())

	rest.Serve(r, v1.ListUserSecrets, d.listSecrets)

	rest.Serve(r, v1.ListCommands, list(d, Command(), listedCommands))
	rest.Serve(r, v1.CreateCommand, create(d, Command(), asksCommand, startedCommand))
	rest.ServeOn(r, v1.GetCommand, command, get(d, Command(), oneCommand))
	rest.ServeOn(r, v1.KillCommand, command, kill(d, Command(), changedCommand))
	rest.ServeOn(r, v1.PrioritizeCommand, command, prioritize(d, Command(), changedCommand))

	rest.Serve(r, v1.ListNotebooks, list(d, Notebook(), listedNotebooks))
	rest.Serve(r, v1.CreateNotebook, create(d, Notebook(), asksNotebook, startedNotebook))
	rest.ServeOn(r, v1.GetNotebook, notebook, get(d, Notebook(), oneNotebook))
	rest.ServeOn(r, v1.KillNotebook, notebook, kill(d, Notebook(), changedNotebook))
	rest.ServeOn(r, v1.PrioritizeNotebook, notebook, prioritize(d, Notebook(), changedNotebook))
	rest.ServeOn(r, v1.ReportNotebookIdle, own, d.reportIdle)

	rest.Serve(r, v1.ListShells, list(d, Shell(), listedShells))
	rest.Serve(r, v1.CreateShell, create(d, Shell(), asksShell, startedShell))
	rest.ServeOn(r, v1.GetShell, shell, get(d, Shell(), oneShell))
	rest.ServeOn(r, v1.KillShell, shell, kill(d, Shell(), changedShell))
	rest.ServeOn(r, v1.PrioritizeShell, shell, prioritize(d, Shell(), changedShell))
	rest.ServeOn(r, v1.ReportShellIdle, own, d.reportIdle)
	rest.RawQueryOn(r, v1.OpenTerminal, refusedByProxy(shell), d.openTerminal)

	rest.Serve(r, v1.ListTensorboards, list(d, Tensorboard(), listedTensorboards))
	rest.Serve(r, v1.CreateTensorboard, create(d, Tensorboard(), d.asksTensorboard, startedTensorboard))
	rest.ServeOn(r, v1.GetTensorboard, tensorboard, get(d, Tensorboard(), oneTensorboard))
	rest.ServeOn(r, v1.KillTensorboard, tensorboard, kill(d, Tensorboard(), changedTensorboard))
	rest.ServeOn(r, v1.PrioritizeTensorboard, tensorboard, prioritize(d, Tensorboard(), changedTensorboard))
	rest.ServeOn(r, v1.ReportTensorboardIdle, own, d.reportIdle)

	rest.Serve(r, v1.ListGenericTasks, d.listGeneric)
	rest.Serve(r, v1.CreateGenericTask, d.createGeneric)
	rest.ServeOn(r, v1.GetGenericTaskConfig, task, generic(d.genericConfig))
	rest.ServeOn(r, v1.KillGenericTask, task, generic(d.killGeneric))
	rest.ServeOn(r, v1.PauseGenericTask, task, generic(d.pauseGeneric))
	rest.ServeOn(r, v1.UnpauseGenericTask, task, generic(d.unpauseGeneric))

	rest.Serve(r, v1.ListTasks, d.liveTasks)
	rest.Serve(r, v1.ListOldTasks, d.oldTasks)
	rest.Serve(r, v1.CountTasks, d.count)
	rest.ServeOn(r, v1.GetTask, task, d.task)
	rest.ServeOn(r, v1.GetAllocation, onAttempt(d.DB), d.attempt)
	rest.RawOn(r, v1.GetTaskContext, task, d.contextDirectory)
	rest.RawOn(r, v1.DownloadTaskContext, task, d.contextFile)
	rest.ServeOn(r, v1.LinkTask, opened, d.link)
	rest.ServeOn(r, v1.AddressTask, opened, d.programAddress)
	d.forward(r)
}
