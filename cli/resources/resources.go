// Package resources has the command det resources: which users and workspaces used how many slots, and how much disk.
package resources

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// New is det resources.
func New(a *app.App) *cobra.Command {
	return noun.New("resources", "show what was used: slot-seconds by user, workspace, label and pool, and disk by workspace", []string{"res"}, nil,
		newAllocations(a), newRaw(a), newAggregated(a), newDisk(a))
}

func newAllocations(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "allocations TIMESTAMP_AFTER TIMESTAMP_BEFORE",
		Aliases: []string{"alloc"},
		Short:   "list the attempts in a period with their slot hours, as CSV",
		Example: "  det resources allocations 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z",
		Args:    args.Exactly("the time after which", "the time before which"),
		RunE: func(cmd *cobra.Command, given []string) error {
			request, err := window(given)
			if err != nil {
				return err
			}
			return printCSV(cmd.Context(), a, v1.GetAllocationsCSV, request)
		},
	}
}

// window parses the arguments of a verb about a time.
func window(given []string) (*v1.GetUsageRequest, error) {
	request := &v1.GetUsageRequest{}
	texts := map[string][]string{"timestampAfter": {given[0]}, "timestampBefore": {given[1]}}
	return request, v1.ParseQuery(request, func(name string) []string { return texts[name] })
}

func newRaw(a *app.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "raw TIMESTAMP_AFTER TIMESTAMP_BEFORE",
		Short:   "list what attempts held within a time",
		Example: "  det resources raw 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z",
		Args:    args.Exactly("the time after which", "the time before which"),
		RunE: func(cmd *cobra.Command, given []string) error {
			request, err := window(given)
			if err != nil {
				return err
			}
			if !asJSON {
				return printCSV(cmd.Context(), a, v1.GetRawUsageCSV, request)
			}
			return printJSON(cmd.Context(), a, v1.GetRawUsage, *request)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON in place of CSV")
	return cmd
}

func newAggregated(a *app.App) *cobra.Command {
	var asJSON, monthly bool
	cmd := &cobra.Command{
		Use:     "aggregated START_DATE END_DATE",
		Aliases: []string{"agg"},
		Short:   "print the slot-seconds of each day or month",
		Example: "  det resources aggregated 2026-01-01 2026-01-31\n  det resources aggregated 2026-01 2026-12 --monthly",
		Args:    args.Exactly("the first date", "the last date"),
		RunE: func(cmd *cobra.Command, given []string) error {
			period := v1.ResourceAllocationAggregationPeriodDaily
			if monthly {
				period = v1.ResourceAllocationAggregationPeriodMonthly
			}
			request := v1.GetAggregatedUsageRequest{StartDate: given[0], EndDate: given[1], Period: period}
			if !asJSON {
				return printCSV(cmd.Context(), a, v1.GetAggregatedUsageCSV, &request)
			}
			return printJSON(cmd.Context(), a, v1.GetAggregatedUsage, request)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON in place of CSV")
	cmd.Flags().BoolVar(&monthly, "monthly", false, "add up months in place of days; dates are such as 2026-01")
	return cmd
}

func printCSV[Req any](ctx context.Context, a *app.App, e v1.Endpoint[Req, v1.None], request *Req) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	body, err := client.UsageCSV(ctx, c, e, request)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(a.IO.Out, body)
	return err
}

func printJSON[Req, Resp any](ctx context.Context, a *app.App, e v1.Endpoint[Req, Resp], request Req) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	found, err := client.Send(ctx, c, e, request)
	if err != nil {
		return err
	}
	return output.Format{JSON: true}.Messages(a.IO.Out, found)
}
