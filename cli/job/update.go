package job

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const updateLong = `Changes the priority, the pool or the queue position of a job.

When a job moves to another pool, tasks that wait are queued there; running trials
store a checkpoint and resume there. --ahead-of and --behind-of move a job next to
another job that waits in the same pool, and give it the priority of that job.`

func newUpdate(a *app.App) *cobra.Command {
	var priority int
	var weight float64
	var pool, ahead, behind string
	cmd := &cobra.Command{
		Use:     "update JOB_ID",
		Aliases: []string{"u"},
		Short:   "change the priority, the weight, the pool or the queue position of a job",
		Long:    updateLong,
		Args:    args.Exactly("the ID of a job"),
		RunE: func(cmd *cobra.Command, given []string) error {
			u := v1.QueueControl{JobID: given[0], Priority: args.Given(cmd, "priority", priority), Weight: args.Given(cmd, "weight", weight),
				ResourcePool: args.Given(cmd, "resource-pool", pool), AheadOf: args.Given(cmd, "ahead-of", ahead), BehindOf: args.Given(cmd, "behind-of", behind)}
			if u == (v1.QueueControl{JobID: u.JobID}) {
				return args.Wrong(cmd, "nothing to change: give --priority, --weight, --resource-pool, --ahead-of or --behind-of")
			}
			return runUpdate(cmd.Context(), a, u)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&priority, "priority", "p", 0, "1 (first) to 99 (last)")
	f.Float64VarP(&weight, "weight", "w", 0, "share of the slots among other experiments, in pools with fair_share")
	f.StringVar(&pool, "resource-pool", "", "run in this pool")
	f.StringVar(&ahead, "ahead-of", "", "move the job directly before this one")
	f.StringVar(&behind, "behind-of", "", "move the job directly behind this one")
	cmd.MarkFlagsMutuallyExclusive("priority", "weight", "resource-pool", "ahead-of", "behind-of")
	return cmd
}

func newUpdateBatch(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "update-batch JOB_ID.OPERATION=VALUE...",
		Short:   "change several jobs",
		Long:    "Each change is <jobID>.<operation>=<value>; the operations are priority, weight and resource-pool.",
		Example: "  det job update-batch 6f2b….priority=10 8a01….resource-pool=aux",
		Args:    args.AtLeastOne("a change, such as 6f2b….priority=10"),
		RunE: func(cmd *cobra.Command, given []string) error {
			var updates []v1.QueueControl
			for _, g := range given {
				u, err := parseUpdate(g)
				if err != nil {
					return err
				}
				updates = append(updates, u)
			}
			return runUpdate(cmd.Context(), a, updates...)
		},
	}
}

// parseUpdate parses one change.
func parseUpdate(text string) (v1.QueueControl, error) {
	wrong := func(why string) error {
		return &exit.UsageError{Message: fmt.Sprintf("the change %q %s", text, why), Hint: "Write <jobID>.<operation>=<value>, as in 6f2b….priority=10."}
	}
	job, rest, ok := strings.Cut(text, ".")
	what, value, is := strings.Cut(rest, "=")
	if !ok || !is || job == "" || value == "" {
		return v1.QueueControl{}, wrong("is not of the form <jobID>.<operation>=<value>")
	}
	u := v1.QueueControl{JobID: job}
	switch what {
	case "priority":
		n, err := strconv.Atoi(value)
		if err != nil {
			return u, wrong("has no whole number as its priority")
		}
		u.Priority = &n
	case "weight":
		w, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return u, wrong("has no number as its weight")
		}
		u.Weight = &w
	case "resource-pool", "resource_pool":
		u.ResourcePool = &value
	default:
		return u, wrong("names none of the operations priority, weight and resource-pool")
	}
	return u, nil
}

func runUpdate(ctx context.Context, a *app.App, updates ...v1.QueueControl) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.ChangeJobs, v1.UpdateJobQueueRequest{Updates: updates})
	return err
}
