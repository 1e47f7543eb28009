package control

import (
	"encoding/json"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/store"
)

// continuing says that the experiment has ended, and that somebody wants it to go
// on. What that means for its trials its search has been told.
func (e *Experiment) continuing() bool { return e.Continues > e.Continued }

// continueExperiment lets an experiment that has ended go on. Of its trials, those that its
// search wants to train are taken back; they get their attempts with all others,
// in the next pass.
func (d *decider) continueExperiment(e *Experiment) error {
	status, why := d.searchStatus(e)
	step := lifecycle.Experiment{State: lifecycle.State(e.State), Desired: lifecycle.Desired(e.Desired), Search: status, Why: why,
		Unmanaged: e.Unmanaged}.Continue()
	c := store.ExperimentChange{ID: e.ID, Saw: e.State, State: string(step.State), Error: step.Error, Ended: step.State.Terminal(),
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
		d.out.Reopened = append(d.out.Reopened, store.ReopenedTrial{ID: t.ID, TaskID: t.TaskID, HParams: hparams, Held: w.Hold, Target: target(w)})
	}
	return nil
}
