// Package pool has the command det resource-pool: the resource pools.
package pool

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det resource-pool.
func New(a *app.App) *cobra.Command {
	return noun.New("resource-pool", "list resource pools, bind them to workspaces, and reserve slots of them", []string{"rp", "pool"}, newList(a), newBindings(a),
		newReserve(a), newReservations(a), newUnreserve(a),
		noun.Absent("access", "Detent opens a pool to workspaces and not to single users: det resource-pool bindings add POOL WORKSPACE, and with roles "+
			"det rbac assign-role Editor -w WORKSPACE says who may start work there (docs/scheduling.md, pools for some workspaces)"))
}

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.List(a, "list the resource pools", func(ctx context.Context, c *client.Client) error {
		resp, err := client.Send(ctx, c, v1.ListPools, v1.GetListRequest{})
		if err != nil {
			return err
		}
		t := table.New("Name", "Description", "Default For", "Scheduler", "Agents", "Slots Used", "Slots Available", "Slot Type")
		for _, p := range resp.ResourcePools {
			var standard []string
			if p.DefaultComputePool {
				standard = append(standard, "compute")
			}
			if p.DefaultAuxPool {
				standard = append(standard, "aux")
			}
			t.Row(p.Name, p.Description, strings.Join(standard, ", "),
				strings.ToLower(strings.TrimPrefix(string(p.SchedulerType), "SCHEDULER_TYPE_")),
				p.NumAgents, p.SlotsUsed, p.SlotsAvailable, strings.ToLower(strings.TrimPrefix(string(p.SlotType), "TYPE_")))
		}
		return format.Print(a.IO, t, resp.ResourcePools)
	})
	format.Flags(cmd)
	return cmd
}
