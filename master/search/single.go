package search

import "github.com/detent-ml/detent/master/lifecycle"

// single trains one trial. One whose hyperparameters turned out invalid gets a
// successor with others, as long as there are others to draw.
type single struct{}

func (single) Start(r *TrialSet) { r.Add() }

func (single) Validated(*TrialSet, int, Result) {}

func (single) Exited(r *TrialSet, _ int, reason string) {
	if reason == lifecycle.ExitInvalidHP && r.varied() && len(r.trials) < maxReplacements {
		r.Add()
	}
}

func (single) Planned(*TrialSet) int { return 1 }

// Continue lets the trial train on, however it ended: of several, the last, which
// the others' hyperparameters were replaced for.
func (single) Continue(r *TrialSet, changed bool) {
	last := len(r.trials) - 1
	r.revive(last)
	if changed {
		r.redraw(last)
	}
}
