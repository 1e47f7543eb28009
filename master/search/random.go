package search

import (
	"math"

	"github.com/detent-ml/detent/master/lifecycle"
)

// random trains each of its trials to the whole length, at most `workers` at once.
type random struct {
	trials  int      // max_trials
	workers int      // trials that run at once
	invalid int      // trials with invalid hyperparameters, which were replaced
	best    []Result // of each trial; with several metrics, the newest one that is not worse than another
}

func (m *random) Start(r *TrialSet) {
	m.Fill(r)
}

func (m *random) add(r *TrialSet) {
	r.Add()
	m.best = append(m.best, Result{Metric: math.Inf(1)})
}

func (m *random) Validated(_ *TrialSet, trial int, v Result) {
	best := m.best[trial]
	if v.Point == nil && v.Metric < best.Metric || v.Point != nil && (best.Point == nil || !best.Point.Dominates(*v.Point)) {
		m.best[trial] = v
	}
}

// Exited starts the next trial. A trial with invalid hyperparameters does not count
// towards max_trials.
func (m *random) Exited(r *TrialSet, trial int, reason string) {
	if reason == lifecycle.ExitInvalidHP && r.replaceable(m.invalid, m.trials) {
		m.invalid++
	} else if reason != lifecycle.ExitInvalidHP {
		r.Learn(trial, 0, m.best[trial])
	}
	switch {
	case r.resumeNext(trial):
	case r.program != nil, r.spending != nil: // further trials may have waited for a proposal, or for money
		m.Fill(r)
	case len(r.trials)-m.invalid < m.trials && r.ready(0):
		m.add(r)
	}
}

// Continue leaves further trials to the end of one that runs again, unless a program proposes them.
func (m *random) Continue(r *TrialSet, _ bool) {
	if r.reopenFailed(m.workers); r.program != nil {
		m.Fill(r)
	}
}

func (m *random) Planned(*TrialSet) int { return m.trials + m.invalid }
