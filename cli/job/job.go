// Package job has the command det job: the queue and its order.
package job

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det job.
func New(a *app.App) *cobra.Command {
	return noun.New("job", "show and change the queue", []string{"j"}, newList(a), newUpdate(a), newUpdateBatch(a))
}

type listOptions struct {
	pool    string
	reverse bool
	pages   args.Pages
	format  output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := app.List(a, "list the jobs that run or wait, in the order of the queue", func(ctx context.Context, c *client.Client) error {
		resp, err := client.Send(ctx, c, v1.ListPools, v1.GetListRequest{})
		if err != nil {
			return err
		}
		byPriority, err := usesPriority(resp.ResourcePools, o.pool)
		if err != nil {
			return err
		}
		jobs, err := client.Collect(c.Jobs(ctx, o.pool, o.reverse, o.pages.Page()))
		if err != nil {
			return err
		}
		share := "Weight"
		if byPriority {
			share = "Priority"
		}
		t := table.New("#", "ID", "Type", "Job Name", share, "Submitted", "Slots (acquired/needed)", "State", "User", "Estimated Start", "Expected End")
		now := time.Now()
		for _, j := range jobs {
			t.Row(cells(j, byPriority, now)...)
		}
		return o.format.Print(a.IO, t, listing{Jobs: jobs})
	})
	cmd.Flags().StringVarP(&o.pool, "resource-pool", "p", "", "only this pool")
	cmd.Flags().BoolVar(&o.reverse, "reverse", false, "print in reverse order")
	cmd.Flags().Bool("table", true, "print as a table")
	o.pages.Flags(cmd, 100)
	o.format.Flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("table", "json", "yaml", "csv")
	return cmd
}

type listing struct {
	Jobs []v1.RBACJob `json:"jobs"`
}

// usesPriority reports whether the pool, or the default pool, orders jobs by priority.
func usesPriority(pools []v1.ResourcePool, name string) (bool, error) {
	for _, p := range pools {
		if name == "" && p.DefaultComputePool || name == p.Name {
			return p.SchedulerType == v1.SchedulerTypePriority, nil
		}
	}
	if name == "" {
		return true, nil
	}
	return false, fault.New(fault.NotFound, "there is no resource pool named %q", name)
}

// hidden replaces the data of other users' jobs.
const hidden = "***"

func cells(j v1.RBACJob, byPriority bool, now time.Time) []any {
	full := j.Full
	if full == nil {
		if j.Limited == nil {
			return nil
		}
		l := j.Limited
		full = &v1.Job{JobID: l.JobID, Type: l.Type, Priority: l.Priority, Weight: l.Weight, Summary: l.Summary,
			AllocatedSlots: l.AllocatedSlots, RequestedSlots: l.RequestedSlots, Name: hidden, Username: hidden}
	}
	var ahead, state, start, end any = table.NA, table.NA, table.NA, table.NA
	if s := full.Summary; s != nil {
		state = strings.TrimPrefix(string(s.State), "STATE_")
		if s.JobsAhead >= 0 {
			ahead = s.JobsAhead
		}
	}
	var submitted any = hidden
	name := full.Name
	if j.Full != nil {
		submitted = table.Time(&full.SubmissionTime)
		if full.Type == v1.JobTypeExperiment {
			name = fmt.Sprintf("%s (%s)", full.Name, full.EntityID)
		}
	}
	switch {
	case full.EstimatedStart != nil:
		start = table.Time(full.EstimatedStart)
	case full.StartUnknown != "":
		start = "not known: " + full.StartUnknown
	}
	if full.ExpectedEnd != nil {
		end = endOf(*full.ExpectedEnd, now)
	}
	var share any = full.Weight
	if byPriority {
		share = full.Priority
	}
	return []any{ahead, full.JobID, strings.TrimPrefix(string(full.Type), "TYPE_"), name, share, submitted,
		fmt.Sprintf("%d/%d", full.AllocatedSlots, full.RequestedSlots), state, full.Username, start, end}
}
