package agent

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/task"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

type changeOptions struct {
	enable, all, drain bool
	format             output.Format
}

func newEnable(a *app.App) *cobra.Command {
	o := changeOptions{enable: true}
	cmd := change(a, &o)
	cmd.Use, cmd.Short = "enable [AGENT_ID]", "allow new work on a node again"
	return cmd
}

func newDisable(a *app.App) *cobra.Command {
	var o changeOptions
	cmd := change(a, &o)
	cmd.Use, cmd.Short = "disable [AGENT_ID]", "place no new work on a node, and kill its tasks"
	cmd.Long = "Trials continue on another node from their last checkpoint. With --drain all tasks run to\n" +
		"their end. Other Nomad jobs on the node are not affected."
	cmd.Flags().BoolVar(&o.drain, "drain", false, "let running tasks run to their end, and list them")
	o.format.Flags(cmd)
	return cmd
}

func change(a *app.App, o *changeOptions) *cobra.Command {
	cmd := &cobra.Command{
		Args: args.Between(0, "the ID of a node"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if (len(given) > 0) == o.all {
				return args.Wrong(cmd, "name a node, or give --all")
			}
			return runChange(cmd.Context(), a, o, given)
		},
		ValidArgsFunction: complete.Listed(a, func(ctx context.Context, c *client.Client) ([]string, error) { return names(ctx, c) }),
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all nodes")
	return cmd
}

func names(ctx context.Context, c *client.Client) ([]string, error) {
	resp, err := client.Send(ctx, c, v1.ListAgents, v1.GetAgentsRequest{})
	list := each.Of(resp.Agents, func(n v1.Agent) string { return path.Base(n.ID) })
	slices.Sort(list)
	return list, err
}

func runChange(ctx context.Context, a *app.App, o *changeOptions, ids []string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if o.all {
		if ids, err = names(ctx, c); err != nil {
			return err
		}
	}
	for _, id := range ids {
		done := "Enabled"
		if o.enable {
			err = client.Act(ctx, c, v1.EnableAgent, id)
		} else {
			done = "Disabled"
			_, err = client.Send(ctx, c, v1.DisableAgent, v1.DisableRequest{Drain: o.drain}, id)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.IO.Err, "%s agent %s.\n", done, id)
	}
	if !o.drain {
		return nil
	}
	return stillThere(ctx, a, c, o, ids)
}

// stillThere lists the tasks on draining nodes.
func stillThere(ctx context.Context, a *app.App, c *client.Client, o *changeOptions, ids []string) error {
	tasks, err := c.Tasks(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(tasks, func(_ string, s v1.AllocationSummary) bool { return !on(s, ids) })
	if !o.format.Structured() && !o.format.CSV {
		if len(tasks) == 0 {
			a.Printf("No tasks in progress on draining nodes.\n")
			return nil
		}
		a.Printf("Tasks still in progress on draining nodes.\n")
	}
	return task.Print(a, tasks, o.format)
}

func on(s v1.AllocationSummary, ids []string) bool {
	for _, r := range s.Resources {
		for node := range r.AgentDevices {
			if slices.Contains(ids, path.Base(node)) {
				return true
			}
		}
	}
	return false
}
