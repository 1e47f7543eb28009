// Package agent has the command det agent: the nodes of the cluster.
package agent

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det agent.
func New(a *app.App) *cobra.Command {
	return noun.New("agent", "list, disable and enable nodes", []string{"a"}, newList(a), newEnable(a), newDisable(a))
}

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.List(a, "list the nodes", func(ctx context.Context, c *client.Client) error {
		resp, err := client.Send(ctx, c, v1.ListAgents, v1.GetAgentsRequest{})
		if err != nil {
			return err
		}
		slices.SortFunc(resp.Agents, func(x, y v1.Agent) int { return cmp.Compare(x.ID, y.ID) })
		t := table.New("Agent ID", "Version", "Registered Time", "Slots", "Containers", "Resource Pool",
			"Enabled", "Draining", "Addresses", "Lost") // the first columns are Determined's
		for _, n := range resp.Agents {
			t.Row(path.Base(n.ID), n.Version, table.Time(n.RegisteredTime), len(n.Slots), len(n.Containers),
				strings.Join(n.ResourcePools, ", "), n.Enabled, n.Draining, strings.Join(n.Addresses, ", "), n.Lost)
		}
		return format.Print(a.IO, t, resp.Agents)
	})
	format.Flags(cmd)
	return cmd
}
