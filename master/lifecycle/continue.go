package lifecycle

// Continue is what becomes of an experiment that has ended and that somebody wants to
// go on: as if it had been paused and its end had never come. Whoever has changed
// their mind since is heard too.
func (e Experiment) Continue() ExperimentStep {
	e.State, e.Live = Paused, 0
	step := e.Step()
	if step.State == "" {
		step.State = Paused
	}
	return step
}
