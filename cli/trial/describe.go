package trial

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type describeOptions struct {
	id      int
	metrics bool
	summary bool
	pages   args.Pages
	format  output.Format
}

func newDescribe(a *app.App) *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:   "describe TRIAL_ID",
		Short: "show a trial with its metrics and checkpoints",
		Args:  args.Exactly("the ID of a trial"),
		RunE: app.ByID(a, aTrial, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			o.id = id
			return runDescribe(ctx, a, c, &o)
		}),
	}
	cmd.Flags().BoolVar(&o.metrics, "metrics", false, "show the metrics of each report")
	cmd.Flags().BoolVar(&o.summary, "metrics-summary", false, "show a summary of all metrics")
	o.pages.Flags(cmd, 1000)
	o.format.Flags(cmd)
	return cmd
}

// described is the output as JSON.
type described struct {
	Trial     v1.Trial               `json:"trial"`
	Workloads []v1.WorkloadContainer `json:"workloads"`
}

func runDescribe(ctx context.Context, a *app.App, c *client.Client, o *describeOptions) error {
	trial, err := c.Trial(ctx, o.id)
	if err != nil {
		return err
	}
	workloads, err := client.List(ctx, c, v1.ListTrialWorkloads, o.pages.Page(), &v1.GetTrialWorkloadsRequest{IncludeBatchMetrics: o.metrics}, o.id)
	if err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, described{Trial: *trial, Workloads: workloads})
	}
	t := table.New("Experiment ID", "State", "H-Params", "Summary Metrics", "Started", "Ended")
	t.Row(trial.ExperimentID, bare(trial.State), output.Indented(trial.HParams), output.Indented(trial.SummaryMetrics),
		table.Time(&trial.StartTime), table.Time(trial.EndTime))
	if err := o.format.Print(a.IO, t, nil); err != nil {
		return err
	}
	if why := render.Why(*trial); why != "" && !o.format.CSV {
		a.Printf("\n%s\n", why)
	}
	if why := render.Policy(*trial); why != "" && !o.format.CSV {
		a.Printf("\n%s\n", why)
	}
	a.Printf("\nWorkloads:\n")
	if err := o.format.Print(a.IO, workloadTable(workloads, o.metrics), nil); err != nil {
		return err
	}
	if o.summary {
		return output.JSON(a.IO.Out, orNull(trial.SummaryMetrics))
	}
	return nil
}

func orNull(s v1.Struct) []byte {
	if len(s) == 0 {
		return []byte("null")
	}
	return s
}

func workloadTable(workloads []v1.WorkloadContainer, metrics bool) *table.Table {
	headers := []string{"# of Batches", "Report Time", "Checkpoint", "Checkpoint UUID", "Checkpoint Metadata", "Validation Metrics"}
	if metrics {
		headers = append(headers, "Workload Metrics")
	}
	t := table.New(headers...)
	for _, w := range workloads {
		var batches, when, state, uuid, metadata, validation, training any
		switch {
		case w.Training != nil:
			batches, when = w.Training.TotalBatches, table.Time(w.Training.EndTime)
		case w.Validation != nil:
			batches, when = w.Validation.TotalBatches, table.Time(w.Validation.EndTime)
		case w.Checkpoint != nil:
			batches, when = w.Checkpoint.TotalBatches, table.Time(w.Checkpoint.EndTime)
		}
		if k := w.Checkpoint; k != nil {
			state, metadata = bare(k.State), output.Indented(k.Metadata)
			if k.State != v1.CheckpointStateActive && k.State != v1.CheckpointStateError {
				uuid = k.UUID
			}
		}
		if w.Validation != nil {
			validation = message(w.Validation.Metrics)
		}
		if metrics && w.Training != nil {
			training = message(w.Training.Metrics)
		}
		t.Row(batches, when, state, uuid, metadata, validation, training)
	}
	return t
}

// message formats a message of the API for a cell.
func message(m v1.Metrics) any {
	raw, err := v1.Marshal(m)
	if err != nil {
		return nil
	}
	return output.Indented(raw)
}
