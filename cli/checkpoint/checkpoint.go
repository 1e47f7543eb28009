// Package checkpoint is det checkpoint: a file per verb.
package checkpoint

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New is det checkpoint.
func New(a *app.App) *cobra.Command {
	return noun.New("checkpoint", "show, download and remove checkpoints", []string{"c"}, nil,
		newDescribe(a), newList(a), newDownload(a), newDelete(a), newRm(a))
}
