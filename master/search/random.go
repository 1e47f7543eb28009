package search

import (
	"math"

	"github.com/detent-ml/detent/master/lifecycle"
)

// random trains a number of trials whole, a few at a time.
type random struct {
	trials  int
	workers int // trials at once
	invalid int
	best    []float64 // of each trial
}

func (m *random) Start(r *TrialSet) {
	for range min(m.trials, m.workers) {
		m.add(r)
	}
}

func (m *random) add(r *TrialSet) {
	r.Add()
	m.best = append(m.best, math.Inf(1))
}

func (m *random) Validated(_ *TrialSet, trial int, v Result) {
	m.best[trial] = min(m.best[trial], v.Metric)
}

// Exited makes the next trial. One with invalid hyperparameters does not count.
func (m *random) Exited(r *TrialSet, trial int, reason string) {
	if reason == lifecycle.ExitInvalidHP && r.replaceable(m.invalid, m.trials) {
		m.invalid++
	} else if reason != lifecycle.ExitInvalidHP {
		r.Learn(trial, 0, m.best[trial])
	}
	if !r.callNext(trial) && len(r.trials)-m.invalid < m.trials {
		m.add(r)
	}
}

func (m *random) Continue(r *TrialSet, _ bool) { r.goOn(m.workers) }

func (m *random) Planned(*TrialSet) int { return m.trials + m.invalid }
