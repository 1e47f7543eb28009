// Package experiment has the command det experiment, one file for each verb.
package experiment

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/checkpoint"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det experiment.
func New(a *app.App) *cobra.Command {
	return noun.New("experiment", "submit and manage experiments", []string{"e"}, newList(a),
		newSearch(a), newCreate(a), newDescribe(a), newConfig(a), newListTrials(a), checkpoint.NewList(a, "list-checkpoints EXPERIMENT_ID", "lc"),
		newLogs(a), newPlot(a), newWait(a),
		newContinue(a), newBranch(a), newEvents(a),
		newSignal(a, "pause", "preempt the trials until the experiment is activated", "Paused", v1.PauseExperiment),
		newActivate(a),
		newEnd(a, "cancel", "let the trials save a checkpoint, and end the experiment", "Canceled", v1.CancelExperiment),
		newEnd(a, "kill", "end the trials at once", "Killed", v1.KillExperiment),
		newSignal(a, "archive", "hide an experiment from lists", "Archived", v1.ArchiveExperiment),
		newSignal(a, "unarchive", "show an archived experiment in lists again", "Unarchived", v1.UnarchiveExperiment),
		newDelete(a), newDeleteEvents(a), newMove(a),
		newLabel(a), newSet(a), newDownload(a), newDownloadModelDef(a))
}

// verb makes a command about the experiment whose ID is its first argument; further are the arguments behind it.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, id int, given []string) error, further ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args.Exactly(append([]string{"the ID of an experiment"}, further...)...),
		ValidArgsFunction: complete.Experiments(a), RunE: app.ByID(a, anExperiment, run),
	}
}

// bare is a state without its prefix.
func bare[S ~string](state S) string { return strings.TrimPrefix(string(state), "STATE_") }

const anExperiment = "an experiment"
