package control

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
)

// continuing reports whether a user has asked to continue an ended experiment, and the loop
// has not done so yet. The request has also added a Continued event for the search.
func (e *Experiment) continuing() bool { return e.Continues > e.Continued }

// continueExperiment continues an ended experiment: it reopens the trials that the search
// wants to train. The next cycle creates their attempts.
func (d *experimentPass) continueExperiment(e *Experiment) error {
	status, why := d.searchStatus(e)
	step := lifecycle.Experiment{State: lifecycle.State(e.State), Desired: lifecycle.Desired(e.Desired), Search: status, Why: why,
		Unmanaged: e.Unmanaged}.Continue()
	c := rows.ExperimentChange{ID: e.ID, Saw: e.State, State: string(step.State), Error: step.Error, Ended: step.State.Terminal(),
		Continued: &e.Continues}
	if e.Search != nil && e.Broken == "" {
		if trial, metric := e.Search.Best(); metric != nil {
			c.BestTrial, c.BestMetric = &trial, metric
		}
	}
	d.out.Experiments = append(d.out.Experiments, c)
	if c.Ended || e.Search == nil || e.Broken != "" {
		return nil
	}
	for _, t := range e.Trials {
		if !t.Ended || t.Number >= e.Search.Len() {
			continue
		}
		w := e.Search.Trial(t.Number)
		if w.Ended {
			continue
		}
		hparams, err := json.Marshal(e.Search.HParams(t.Number))
		if err != nil {
			return err
		}
		d.out.Reopened = append(d.out.Reopened, rows.ReopenedTrial{ID: t.ID, TaskID: t.TaskID, HParams: hparams, Held: w.Hold, Target: optional.NonZero(w.Target)})
	}
	return nil
}
