package trial

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
)

func newKill(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kill TRIAL_ID...",
		Short: "end a trial at once",
		Args:  args.AtLeastOne("the ID of a trial"),
		RunE:  app.ForEach(a, "trial", "Killed", (*client.Client).KillTrial),
	}
}
