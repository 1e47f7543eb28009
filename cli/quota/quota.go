// Package quota has the command det quota, which Determined's det does not have: how many slots, processors and how much memory a
// workspace, a project or a user may hold, and how many slot-hours they may use.
package quota

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New is det quota.
func New(a *app.App) *cobra.Command {
	return noun.New("quota", "manage quotas: slots, processors and memory that may be held, and slot-hours that may be used", nil, newList(a), newSet(a), newUnset(a))
}

// A target is whom a quota is for, by names.
type target struct{ workspace, project, user string }

func (t *target) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&t.workspace, "workspace-name", "w", "", "workspace")
	cmd.Flags().StringVar(&t.project, "project-name", "", "project of the workspace")
	cmd.Flags().StringVar(&t.user, "username", "", "user; in all workspaces, or with -w in this one")
}

// find looks the names up.
func (t *target) find(ctx context.Context, c *client.Client) (q v1.GetQuotasRequest, err error) {
	if t.project != "" && t.workspace == "" {
		return q, &exit.UsageError{Message: "--project-name: name the project's workspace with -w"}
	}
	if t.project != "" && t.user != "" {
		return q, &exit.UsageError{Message: "a quota is for a project or for a user: choose one of --project-name and --username"}
	}
	if t.workspace != "" {
		w, err := c.WorkspaceByName(ctx, t.workspace)
		if err != nil {
			return q, err
		}
		q.WorkspaceID = w.ID
	}
	if t.project != "" {
		p, err := c.ProjectByName(ctx, t.workspace, t.project)
		if err != nil {
			return q, err
		}
		q.ProjectID = p.ID
	}
	if t.user != "" {
		u, err := c.UserByName(ctx, t.user)
		if err != nil {
			return q, err
		}
		q.UserID = u.ID
	}
	return q, nil
}

func newList(a *app.App) *cobra.Command {
	var t target
	var format output.Format
	cmd := app.List(a, "list quotas and how much of each is in use", func(ctx context.Context, c *client.Client) error {
		q, err := t.find(ctx, c)
		if err != nil {
			return err
		}
		list, err := client.List(ctx, c, v1.ListQuotas, client.Page{}, &q)
		if err != nil {
			return err
		}
		return format.Print(a.IO, tableOf(list), list)
	})
	t.flags(cmd)
	format.Flags(cmd)
	return cmd
}

func tableOf(list []v1.Quota) *table.Table {
	t := table.New("ID", "Workspace", "Project", "User", "Pool", "Bounds", "Used", "Soft", "Hard", "State")
	for _, q := range list {
		t.Row(q.ID, q.WorkspaceName, q.ProjectName, q.Username, cmp.Or(q.ResourcePool, "all"), bounds(q), strconv.FormatFloat(q.Used, 'f', decimals(q), 64), q.Soft, q.Hard, state(q))
	}
	return t
}

func decimals(q v1.Quota) int {
	if q.Measure != v1.QuotaMeasureSlots {
		return 1
	}
	return 0
}

// bounds names what a quota bounds.
func bounds(q v1.Quota) string {
	switch {
	case q.Measure == v1.QuotaMeasureMemory:
		return "GiB of memory"
	case q.Period == v1.QuotaPeriodNone:
		return string(q.Measure)
	case q.Period == v1.QuotaPeriodTotal:
		return "slot-hours in total"
	}
	return fmt.Sprintf("slot-hours per %s", q.Period)
}

// state compares what is used with the bounds.
func state(q v1.Quota) string {
	switch {
	case q.Hard != nil && q.Used >= float64(*q.Hard):
		return "used up"
	case q.Soft != nil && q.Used > float64(*q.Soft):
		return "over soft"
	}
	return "within"
}

// A choice says which quota of a target is meant.
type choice struct {
	target
	pool string
	what args.OneOf
	per  args.OneOf
}

func newChoice() choice {
	return choice{what: args.OneOf{Value: "slots", Allowed: []string{"slots", "cpus", "memory"}}, per: args.OneOf{Allowed: []string{"day", "week", "month", "total"}}}
}

func (o *choice) flags(cmd *cobra.Command) {
	o.target.flags(cmd)
	cmd.Flags().StringVar(&o.pool, "resource-pool", "", "resource pool; default is all pools together")
	cmd.Flags().Var(&o.what, "bounds", "what may be held at the same time: slots, cpus (processors) or memory (GiB)")
	cmd.Flags().Var(&o.per, "slot-hours-per", "bound the slot-hours that are used in this period, not the slots that are held at the same time")
}

// request is the choice in the words of the API.
func (o *choice) request(q v1.GetQuotasRequest) v1.PutQuotaRequest {
	r := v1.PutQuotaRequest{WorkspaceID: q.WorkspaceID, ProjectID: q.ProjectID, UserID: q.UserID, ResourcePool: o.pool, Measure: v1.QuotaMeasure(o.what.Value)}
	if o.per.Value != "" {
		r.Measure, r.Period = v1.QuotaMeasureSlotHours, v1.QuotaPeriod(o.per.Value)
	}
	return r
}

func (o *choice) check() error {
	if o.workspace == "" && o.user == "" {
		return &exit.UsageError{Message: "say whose quota it is: -w WORKSPACE, with --project-name or --username for a part of it, or --username alone"}
	}
	return nil
}

func newSet(a *app.App) *cobra.Command {
	o := newChoice()
	var soft, hard int
	var format output.Format
	cmd := &cobra.Command{
		Use:   "set",
		Short: "set a quota, or replace it",
		Example: "  det quota set -w vision --hard 16 --soft 8\n" +
			"  det quota set -w vision --username ben --resource-pool gpu --hard 4\n" +
			"  det quota set -w vision --bounds memory --hard 512\n" +
			"  det quota set -w vision --project-name baselines --slot-hours-per month --hard 2000 --soft 1500",
		Args: args.None,
	}
	o.flags(cmd)
	cmd.Flags().IntVar(&soft, "soft", 0, "soft bound: of what is held, more only while others leave it idle; of slot-hours, a warning")
	cmd.Flags().IntVar(&hard, "hard", 0, "hard bound: nothing starts that would exceed it")
	format.FlagsWithoutCSV(cmd)
	cmd.RunE = app.Call(a, func(ctx context.Context, c *client.Client, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if !cmd.Flags().Changed("soft") && !cmd.Flags().Changed("hard") {
			return &exit.UsageError{Message: "set --soft, --hard or both; `det quota unset` removes a quota"}
		}
		q, err := o.find(ctx, c)
		if err != nil {
			return err
		}
		r := o.request(q)
		r.Soft, r.Hard = args.Given(cmd, "soft", soft), args.Given(cmd, "hard", hard)
		set, err := client.Send(ctx, c, v1.PutQuota, r)
		if err != nil {
			return err
		}
		if format.Structured() {
			return format.Messages(a.IO.Out, &set.Quota)
		}
		a.Done("Set quota %d", set.Quota.ID)
		return nil
	})
	return cmd
}

func newUnset(a *app.App) *cobra.Command {
	o := newChoice()
	cmd := &cobra.Command{
		Use:   "unset [ID]",
		Short: "delete a quota",
		Example: "  det quota unset 7\n" +
			"  det quota unset -w vision --username ben --resource-pool gpu",
		Args: args.Between(0, "the id of a quota"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			id, err := o.id(ctx, c, given)
			if err != nil {
				return err
			}
			return a.SayDone(client.Act(ctx, c, v1.DeleteQuota, id), "Deleted quota %d", id)
		}),
	}
	o.flags(cmd)
	return cmd
}

// id is the number of the quota that a user names, by its number or by what it is for.
func (o *choice) id(ctx context.Context, c *client.Client, given []string) (int, error) {
	if len(given) > 0 {
		return args.ID("a quota", given[0])
	}
	if err := o.check(); err != nil {
		return 0, err
	}
	q, err := o.find(ctx, c)
	if err != nil {
		return 0, err
	}
	want := o.request(q)
	list, err := client.List(ctx, c, v1.ListQuotas, client.Page{}, &q)
	if err != nil {
		return 0, err
	}
	for _, x := range list {
		if x.WorkspaceID == want.WorkspaceID && x.ProjectID == want.ProjectID && x.UserID == want.UserID && x.ResourcePool == want.ResourcePool && x.Measure == want.Measure && x.Period == want.Period {
			return x.ID, nil
		}
	}
	return 0, fault.New(fault.NotFound, "there is no such quota; `det quota list` lists them")
}
