// Package checkpoint has the command det checkpoint, one file for each verb.
package checkpoint

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det checkpoint.
func New(a *app.App) *cobra.Command {
	return noun.New("checkpoint", "show, download and remove checkpoints", []string{"c"}, nil,
		newDescribe(a), NewList(a, "list EXPERIMENT_ID", "ls"), newDownload(a), newDelete(a), newRm(a))
}
