package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/v1"
)

// followFirstTrial waits for the first trial, prints its log to the end, and then how the experiment ended, which is the
// exit status.
func followFirstTrial(ctx context.Context, a *app.App, c *client.Client, id int) error {
	err := followToEnd(ctx, a, c, id)
	if ctx.Err() != nil {
		interrupted(a, c, id)
	}
	return err
}

func followToEnd(ctx context.Context, a *app.App, c *client.Client, id int) error {
	fmt.Fprintln(a.IO.Err, page(c, id))
	a.Printf("Waiting for first trial to begin...\n")
	trial, err := firstTrial(ctx, c, id)
	if fault.Is(err, fault.NotFound) { // the experiment has ended without a trial
		return outcome(ctx, a, c, id, 0)
	}
	if err != nil {
		return err
	}
	a.Printf("Following first trial with ID %d\n", trial)
	if err := whileQueued(ctx, a, c, trial); err != nil {
		return err
	}
	o := logs.Options{Follow: true}
	if err := o.Print(ctx, a.IO, c.TrialLogs(ctx, trial, client.LogQuery{Follow: true}), logs.OfTrial(trial)); err != nil {
		return err
	}
	return outcome(ctx, a, c, id, trial)
}

// taskOfFirstTrial waits for the task of the first trial.
func taskOfFirstTrial(c *client.Client, id int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		n, err := firstTrial(ctx, c, id)
		if err != nil {
			return "", err
		}
		trial, err := c.Trial(ctx, n)
		return trial.TaskID, err
	}
}

// whileQueued prints why a trial waits, until it runs.
func whileQueued(ctx context.Context, a *app.App, c *client.Client, id int) error {
	said := ""
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		trial, err := c.Trial(ctx, id)
		if err != nil || trial.State != v1.TrialStateQueued {
			return err
		}
		if why := render.Why(*trial); why != said && why != "" {
			a.Printf("%s\n", why)
			said = why
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

// firstTrial waits until the experiment has a trial, or has ended without one.
func firstTrial(ctx context.Context, c *client.Client, id int) (int, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		over, err := ended(ctx, c, id)
		if err != nil {
			return 0, err
		}
		trial, err := lowestTrial(ctx, c, id)
		if err != nil || trial != 0 {
			return trial, err
		}
		if over != "" {
			return 0, fault.New(fault.NotFound, "experiment %d is %s and has no trial", id, over)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// lowestTrial is the trial with the lowest ID; 0 for none.
func lowestTrial(ctx context.Context, c *client.Client, id int) (int, error) {
	lowest := 0
	for t, err := range client.Each(ctx, c, v1.ListTrials, client.Page{}, nil, id) {
		if err != nil {
			return 0, err
		}
		if lowest == 0 || t.ID < lowest {
			lowest = t.ID
		}
	}
	return lowest, nil
}

// ended is the state of an experiment that has ended; "" for others.
func ended(ctx context.Context, c *client.Client, id int) (string, error) {
	resp, err := client.Call(ctx, c, v1.GetExperiment, id)
	if err != nil {
		return "", err
	}
	if isFinal(resp.Experiment.State) {
		return bare(resp.Experiment.State), nil
	}
	return "", nil
}

func isFinal(s v1.ExperimentState) bool {
	switch s {
	case v1.ExperimentStateCompleted, v1.ExperimentStateCanceled, v1.ExperimentStateError,
		v1.ExperimentStateDeleted, v1.ExperimentStateDeleteFailed:
		return true
	}
	return false
}
