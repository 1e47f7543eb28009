// Package trial has the command det trial, one file for each verb.
package trial

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/experiment"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

const aTrial = "a trial"

// New returns the command det trial.
func New(a *app.App) *cobra.Command {
	return noun.New("trial", "show, download and kill trials", []string{"t"}, nil,
		experiment.ListTrials(a, "list EXPERIMENT_ID", "ls"), newDescribe(a), newLogs(a), newKill(a), newDownload(a), newSupportBundle(a), newSet(a))
}

// bare is a state without its prefix.
func bare[S ~string](state S) string { return strings.TrimPrefix(string(state), "STATE_") }
