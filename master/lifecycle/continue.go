package lifecycle

import "cmp"

// Continue returns the step of an ended experiment that a user asked to continue: the same
// step as if it had been paused instead of ended. Later requests (to kill it, for
// example) count too.
func (e Experiment) Continue() ExperimentStep {
	e.State, e.Live = Paused, 0
	step := e.Step()
	step.State = cmp.Or(step.State, Paused)
	return step
}
