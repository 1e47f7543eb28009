package experiment

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/retention"
	"github.com/detent-ml/detent/master/v1"
)

func newSetLogRetention(a *app.App) *cobra.Command {
	cmd := retention.Command(a, anExperiment, "set for how long the logs of an experiment's trials are kept", v1.RetainExperimentLogs,
		func(id int, days *int) v1.RetainLogsRequest {
			return v1.RetainLogsRequest{ExperimentID: id, NumDays: days}
		})
	cmd.ValidArgsFunction = complete.Experiments(a)
	return cmd
}
