package task

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/publish"
)

const tunnelLong = `Makes ports of a running task reachable on this machine, until you press Ctrl-C.

The ports must be in environment.proxy_ports of the task's configuration. PORT is
reached at the same port of 127.0.0.1; LOCAL_PORT:PORT chooses another one, and
0:PORT any free one. All bytes pass through the master, with your session. The
task of a trial is shown by det trial describe.`

func newTunnel(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tunnel TASK_ID [LOCAL_PORT:]PORT...",
		Short: "make ports of a task reachable on this machine",
		Long:  tunnelLong,
		Example: `  det task tunnel 2fb1c3e0-4d0f-4b4e-9f0c-1f1f6a0d9f55 8265
  det task tunnel 2fb1c3e0-4d0f-4b4e-9f0c-1f1f6a0d9f55 9000:8265 6006`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) < 2 {
				return args.Wrong(cmd, "%s needs the ID of a task and a port", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			ports, err := publish.Parse(given[1:])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if _, err := c.Task(ctx, given[0]); err != nil {
				return err
			}
			end, err := publish.Open(ctx, a, c, publish.Task(given[0]), ports)
			if err != nil {
				return err
			}
			defer end()
			<-ctx.Done()
			return nil
		},
	}
}
