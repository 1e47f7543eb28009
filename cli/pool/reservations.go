package pool

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// reserveOptions are what is reserved, for whom and when.
type reserveOptions struct {
	slots           int
	nodes           []string
	workspace, user string
	from, length    string
	note            string
	format          output.Format
}

func newReserve(a *app.App) *cobra.Command {
	var o reserveOptions
	cmd := &cobra.Command{
		Use:   "reserve POOL",
		Short: "reserve slots for a workspace or a user for a time, or nodes for a maintenance",
		Example: "  det resource-pool reserve gpu --slots 16 --workspace-name vision --from 18:00 --for 4h\n" +
			"  det resource-pool reserve gpu --slots 8 --username ben --from \"2026-12-01 09:00\" --for 2d --note \"paper deadline\"\n" +
			"  det resource-pool reserve gpu --node n3 --node n4 --from +2h --for 90m --note \"new drivers\"",
		Args: args.Exactly("the name of a resource pool"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			return o.reserve(ctx, a, c, given[0])
		}),
	}
	cmd.Flags().IntVar(&o.slots, "slots", 0, "how many slots to reserve")
	cmd.Flags().StringArrayVar(&o.nodes, "node", nil, "a node to take out of use for a maintenance, by its name or id; repeatable")
	cmd.Flags().StringVarP(&o.workspace, "workspace-name", "w", "", "reserve the slots for tasks of this workspace")
	cmd.Flags().StringVar(&o.user, "username", "", "reserve the slots for tasks of this user; in all workspaces, or with -w in this one")
	cmd.Flags().StringVar(&o.from, "from", "now", "when it begins: now, 18:00, \"2026-12-01 18:00\", 2026-12-01T18:00:00Z, or from now: +2h")
	cmd.Flags().StringVar(&o.length, "for", "", "how long it lasts: 90m, 4h, 2d")
	cmd.Flags().StringVar(&o.note, "note", "", "why, for those who see it")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}

// request reads the options, without the names of a workspace and of a user.
func (o *reserveOptions) request(now time.Time) (r v1.PostReservationRequest, err error) {
	switch {
	case (o.slots != 0) == (len(o.nodes) > 0):
		return r, &exit.UsageError{Message: "say what to reserve: --slots N for a workspace or a user, or --node NAME for a maintenance"}
	case o.slots != 0 && o.workspace == "" && o.user == "":
		return r, &exit.UsageError{Message: "say for whom: --workspace-name, --username or both"}
	case o.slots == 0 && (o.workspace != "" || o.user != ""):
		return r, &exit.UsageError{Message: "a maintenance is for nobody: leave --workspace-name and --username out"}
	case o.length == "":
		return r, &exit.UsageError{Message: "say for how long: --for 4h"}
	}
	length, err := parseLength("--for", o.length)
	if err != nil {
		return r, err
	}
	from, err := parseTime(o.from, now)
	if err != nil {
		return r, err
	}
	r = v1.PostReservationRequest{Slots: o.slots, Agents: o.nodes, EndTime: from.Add(length), Note: o.note}
	if o.from != "now" {
		r.StartTime = &from
	}
	return r, nil
}

func (o *reserveOptions) reserve(ctx context.Context, a *app.App, c *client.Client, pool string) error {
	r, err := o.request(time.Now())
	if err != nil {
		return err
	}
	if o.workspace != "" {
		w, err := c.WorkspaceByName(ctx, o.workspace)
		if err != nil {
			return err
		}
		r.WorkspaceID = w.ID
	}
	if o.user != "" {
		u, err := c.UserByName(ctx, o.user)
		if err != nil {
			return err
		}
		r.UserID = u.ID
	}
	made, err := client.Send(ctx, c, v1.CreateReservation, r, pool)
	if err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, made)
	}
	v := *made
	a.Done("Reserved %s of pool %s for %s from %s to %s: reservation %d", whatOf(v), v.ResourcePool, whose(v), table.Time(&v.StartTime), table.Time(&v.EndTime), v.ID)
	return nil
}

// whatOf is what a reservation holds.
func whatOf(v v1.Reservation) string {
	switch {
	case len(v.Agents) == 1:
		return "node " + v.Agents[0]
	case len(v.Agents) > 1:
		return "nodes " + strings.Join(v.Agents, ", ")
	case v.Slots == 1:
		return "1 slot"
	}
	return fmt.Sprintf("%d slots", v.Slots)
}

// whose is for whom it is.
func whose(v v1.Reservation) string {
	switch {
	case len(v.Agents) > 0:
		return "a maintenance"
	case v.WorkspaceName != "" && v.Username != "":
		return fmt.Sprintf("user %s in workspace %s", v.Username, v.WorkspaceName)
	case v.Username != "":
		return "user " + v.Username
	}
	return "workspace " + cmp.Or(v.WorkspaceName, "***")
}

func newReservations(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "reservations [POOL]",
		Short: "list the reservations and maintenances that have not ended",
		Args:  args.Between(0, "the name of a resource pool"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			list, err := client.List(ctx, c, v1.ListReservations, client.Page{}, &v1.GetReservationsRequest{ResourcePool: strings.Join(given, "")})
			if err != nil {
				return err
			}
			t := table.New("ID", "Pool", "Reserved", "For", "From", "To", "State", "By", "Note")
			for _, v := range list {
				t.Row(v.ID, v.ResourcePool, whatOf(v), whose(v), table.Time(&v.StartTime), table.Time(&v.EndTime), map[bool]string{true: "active", false: "coming"}[v.Active], v.CreatedBy, v.Note)
			}
			return format.Print(a.IO, t, list)
		}),
	}
	format.Flags(cmd)
	return cmd
}

func newUnreserve(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "unreserve ID",
		Short: "cancel a reservation, or end it if it has begun",
		Args:  args.Exactly("the id of a reservation"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			id, err := args.ID("a reservation", given[0])
			if err != nil {
				return err
			}
			return a.SayDone(client.Act(ctx, c, v1.CancelReservation, id), "Canceled reservation %d", id)
		}),
	}
}
