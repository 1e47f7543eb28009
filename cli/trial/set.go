package trial

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/retention"
	"github.com/detent-ml/detent/master/v1"
)

func newSet(a *app.App) *cobra.Command {
	return noun.New("set", "change a trial", nil, nil,
		retention.Command(a, aTrial, "set for how long the log of a trial is kept", v1.RetainTrialLogs,
			func(id int, days *int) v1.RetainLogsRequest { return v1.RetainLogsRequest{TrialID: id, NumDays: days} }))
}
