package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/spelling"
	"github.com/detent-ml/detent/master/v1"
)

// page is the address of an experiment's page.
func page(c *client.Client, id int) string {
	return fmt.Sprintf("%s/det/experiments/%d", c.Master(), id)
}

// maxLooks is how often outcome looks for the end of an experiment of one trial whose trial has ended: about 10 seconds.
// Other trials of a search may train for days, so outcome gives a search less than a second.
const (
	maxLooks       = 15
	maxSearchLooks = 5
)

// outcome prints how an experiment ended whose first trial was followed, and returns the exit status.
func outcome(ctx context.Context, a *app.App, c *client.Client, id, trial int) error {
	pause := 50 * time.Millisecond
	for look := 1; ; look++ {
		resp, err := client.Call(ctx, c, v1.GetExperiment, id)
		if err != nil {
			return err
		}
		e := resp.Experiment
		switch {
		case isFinal(e.State):
			sayEnd(ctx, a, c, e, trial)
			return exit.Of(e.State)
		case look == maxLooks, look == maxSearchLooks && e.NumTrials > 1, e.State == v1.ExperimentStatePaused:
			return stillGoing(ctx, a, c, e, trial)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, time.Second)
	}
}

// sayEnd prints the state, the best metric and the page of an ended experiment. The last words of a failed program tell
// more than its exit code.
func sayEnd(ctx context.Context, a *app.App, c *client.Client, e v1.Experiment, trial int) {
	style, text := a.IO.ErrStyle(), fmt.Sprintf("Experiment %d ended as %s%s.", e.ID, bare(e.State), because(strings.TrimRight(e.Error, ".")))
	if e.State == v1.ExperimentStateCompleted {
		text = style.Green(text)
	} else {
		text = style.Red(text)
	}
	fmt.Fprintln(a.IO.Err, text)
	if e.State == v1.ExperimentStateError {
		if words := lastWords(ctx, c, trial); words != "" {
			fmt.Fprintf(a.IO.Err, "The last words of trial %d: %s\n", trial, words)
		}
	}
	if e.BestTrialSearcherMetric != nil {
		of := ""
		if e.BestTrialID != nil {
			of = fmt.Sprintf(" (trial %d)", *e.BestTrialID)
		}
		fmt.Fprintf(a.IO.Err, "Best %s: %s%s\n", cmp.Or(e.SearcherMetric, "metric"), table.Float(*e.BestTrialSearcherMetric), of)
	}
	if e.BestTrialSearcherMetric == nil && e.SearcherMetric != "" && e.State == v1.ExperimentStateCompleted {
		a.IO.Warn("No validation has reported %s, the metric of the searcher.", e.SearcherMetric)
	}
	fmt.Fprintln(a.IO.Err, page(c, e.ID))
}

// stillGoing is the end of a followed trial whose experiment goes on. The exit status is the trial's.
func stillGoing(ctx context.Context, a *app.App, c *client.Client, e v1.Experiment, id int) error {
	trial, err := c.Trial(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.IO.Err, "Trial %d is %s; experiment %d is %s with %s.\nWait for its end with `det experiment wait %d`.\n%s\n",
		id, bare(trial.State), e.ID, bare(e.State), spelling.Count(e.NumTrials, "trial"), e.ID, page(c, e.ID))
	return exit.Of(v1.ExperimentState(trial.State))
}

// interrupted tells who stopped following that nothing else has stopped.
func interrupted(a *app.App, c *client.Client, id int) {
	fmt.Fprintf(a.IO.Err, "Experiment %d continues in the cluster.\nFollow it again with `det experiment logs -f %d`; end it with `det experiment kill %d`.\n%s\n",
		id, id, id, page(c, id))
}

const maxWords = 300 // characters of last words

// lastWords is the last line that a trial's program wrote to its standard error, or else to its standard output.
func lastWords(ctx context.Context, c *client.Client, trial int) string {
	for _, stream := range []string{"stderr", "stdout"} {
		for r, err := range c.TrialLogs(ctx, trial, client.LogQuery{Limit: 20, Descending: true, Stdtypes: []string{stream}}) {
			var line v1.TrialLogsResponse
			if err != nil || json.Unmarshal(r.Raw, &line) != nil || line.Log == nil {
				break
			}
			if src := optional.Value(line.Source); src == "runner" || src == "master" {
				continue // they say that it failed, and not why
			}
			if words := []rune(strings.TrimSpace(*line.Log)); len(words) > maxWords {
				return string(words[:maxWords]) + "…"
			} else if len(words) > 0 {
				return string(words)
			}
		}
	}
	return ""
}
