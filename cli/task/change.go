package task

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// Texts of Determined's client, which scripts may read; the first has a letter less than
// the word.
const (
	killed   = "Sucessfully killed task: " //nolint:misspell // as Determined's client writes it
	paused   = "Paused task: "
	unpaused = "Unpaused task: "
)

func newKill(a *app.App) *cobra.Command {
	var root bool
	cmd := newChange(a, "kill", "end a generic task with the tasks below it", killed, func(ctx context.Context, c *client.Client, id string) error {
		_, err := client.Send(ctx, c, v1.KillGenericTask, v1.KillGenericTaskRequest{TaskID: id, KillFromRoot: root}, id)
		return err
	})
	cmd.Flags().BoolVar(&root, "root", false, "end the whole tree that the task belongs to")
	return cmd
}

func newPause(a *app.App) *cobra.Command {
	return newChange(a, "pause", "pause a generic task with the tasks below it", paused, func(ctx context.Context, c *client.Client, id string) error {
		return client.Act(ctx, c, v1.PauseGenericTask, id)
	})
}

func newUnpause(a *app.App) *cobra.Command {
	return newChange(a, "unpause", "end the pause of a generic task and of the tasks below it", unpaused, func(ctx context.Context, c *client.Client, id string) error {
		return client.Act(ctx, c, v1.UnpauseGenericTask, id)
	})
}

// newChange is a verb that changes one task.
func newChange(a *app.App, verb, short, done string, change func(context.Context, *client.Client, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " TASK_ID",
		Short: short,
		Args:  args.Exactly("the ID of a task"),
		RunE: app.Find(a, expand, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			return a.Say(change(ctx, c, id), "%s%s\n", done, id)
		}),
	}
}

func newConfig(a *app.App) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "config TASK_ID",
		Short: "print the configuration of a generic task as it was submitted",
		Args:  args.Exactly("the ID of a task"),
		RunE: app.Find(a, expand, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			resp, err := client.Call(ctx, c, v1.GetGenericTaskConfig, id)
			if err != nil {
				return err
			}
			if json {
				return output.JSON(a.IO.Out, []byte(resp.Config))
			}
			return output.YAML(a.IO.Out, []byte(resp.Config))
		}),
	}
	cmd.Flags().BoolVar(&json, "json", false, "print as JSON")
	return cmd
}
