// Package queue has the command det queue, which Determined's det does not have: what the queue would have done with other settings.
package queue

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New is det queue.
func New(a *app.App) *cobra.Command {
	return noun.New("queue", "ask what the queue would have done with other settings (administrators)", nil, nil, newReplay(a))
}
