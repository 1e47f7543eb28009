package command

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/publish"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const runLong = `Runs a program on the cluster and follows its log.

The first argument that is not a flag is the program, and all further arguments are
passed to the program. The exit status is 1 if the program failed.`

func newRun(a *app.App) *cobra.Command {
	var o tasks.Launch
	var published []string
	cmd := &cobra.Command{
		Use:   "run [flags] PROGRAM [ARGUMENT...]",
		Short: "run a program",
		Long:  runLong,
		Example: `  det command run nvidia-smi
  det command run --config resources.slots=2 --context . python train.py --epochs 3`,
		RunE: func(cmd *cobra.Command, given []string) error { return run(cmd.Context(), a, o, published, given) },
	}
	cmd.Flags().SetInterspersed(false)
	o.Flags(cmd, "command")
	cmd.Flags().StringArrayVarP(&published, "publish", "p", nil, "make PORT or LOCAL_PORT:PORT of the command reachable on this machine while its log is followed (may be repeated)")
	return cmd
}

func run(ctx context.Context, a *app.App, o tasks.Launch, published, program []string) error {
	ports, err := publish.Parse(published)
	if err != nil {
		return err
	}
	c, r, err := o.Request(ctx, a, program)
	if err != nil {
		return err
	}
	config, err := r.Config.Map()
	if err != nil {
		return err
	}
	if config["entrypoint"] == nil {
		return &exit.UsageError{Message: "det command run needs a program to run", Hint: "See `det command run --help`."}
	}
	resp, err := client.Send(ctx, c, v1.CreateCommand, v1.LaunchCommandRequest{Config: r.Config, Files: r.Files, TemplateName: r.Template, WorkspaceID: r.WorkspaceID})
	if err != nil {
		return err
	}
	id := resp.Command.ID
	if o.Launched(a, "command", id, resp.Command.Description, resp.Warnings, resp.Remarks) {
		return nil
	}
	end, err := publish.Open(ctx, a, c, publish.Task(id), ports)
	if err != nil {
		return err
	}
	defer end()
	if err := follow(ctx, a, c, id); err != nil {
		if ctx.Err() != nil {
			fmt.Fprintf(a.IO.Err, "Command %s continues in the cluster.\nFollow it again with `det command logs -f %s`; end it with `det command kill %s`.\n", id, id, id)
		}
		return err
	}
	return verdict(ctx, a, c, id)
}

// follow prints why the command waits, and its log until its end.
func follow(ctx context.Context, a *app.App, c *client.Client, id string) error {
	waiting, stop := context.WithCancel(ctx)
	var queue sync.WaitGroup
	queue.Go(func() { tasks.SayQueue(waiting, a, c, id) })
	defer queue.Wait()
	defer stop()
	lo := logs.Options{Follow: true}
	return lo.Print(ctx, a.IO, c.TaskLogs(ctx, id, client.LogQuery{Follow: true}), logs.OfTask(id))
}

// verdict returns an error if the program failed.
func verdict(ctx context.Context, a *app.App, c *client.Client, id string) error {
	task, err := c.Task(ctx, id)
	if err != nil || len(task.Allocations) == 0 {
		return err
	}
	last := task.Allocations[0]
	if last.StatusCode == nil || *last.StatusCode == 0 {
		return nil
	}
	text := fmt.Sprintf("Command %s ended with status %d", id, *last.StatusCode)
	if why := last.ExitReason; why != nil && *why != "" && *why != fmt.Sprintf("exit code %d", *last.StatusCode) {
		text += ": " + *why
	}
	fmt.Fprintln(a.IO.Err, a.IO.ErrStyle().Red(text))
	return exit.Status(exit.Failed)
}
