// Package experiment has the command det experiment, one file for each verb.
package experiment

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/checkpoint"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det experiment.
func New(a *app.App) *cobra.Command {
	cmd := noun.New("experiment", "submit and manage experiments", []string{"e"}, newList(a),
		newSearch(a), newCreate(a), newDescribe(a), newConfig(a), newListTrials(a), checkpoint.NewList(a, "list-checkpoints EXPERIMENT_ID", "lc"),
		newLogs(a), newPlot(a), newWait(a),
		newContinue(a), newPause(a), newActivate(a), newCancel(a), newKill(a),
		newArchive(a), newUnarchive(a), newDelete(a), newDeleteEvents(a), newMove(a),
		newLabel(a), newSet(a), newDownload(a), newDownloadModelDef(a))
	return cmd
}

// bare is a state without its prefix.
func bare[S ~string](state S) string { return strings.TrimPrefix(string(state), "STATE_") }

const anExperiment = "an experiment"
