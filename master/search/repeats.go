package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// With searcher.repeat the search trains its best configurations again when all its trials have ended, each several times and with other seeds. The
// first result of a configuration that was chosen for it is too good on average, the more so the noisier the metric; so only the new results decide
// which is best, by their mean. The repeats are trials like all others, and count among max_trials: the method has so many fewer.
type repeats struct {
	best, times int
	workers     int       // repeats that run at once
	full        float64   // length to which the search trains them; 0: the training code decides
	sign        float64   // as in Search
	results     []float64 // trial -> its best result, smaller is better; +Inf: none

	begun  bool
	first  int   // number of the first repeat
	chosen []int // the trials whose configurations are repeated, the best first
}

// RepeatOutlook is what is known of the repeats: of each configuration, in the order of their means when all have ended.
type RepeatOutlook struct {
	Times   int        `json:"times"`
	Decided bool       `json:"decided,omitempty"` // all have ended
	List    []Repeated `json:"list"`
}

// Repeated is a configuration that is trained again.
type Repeated struct {
	Of        int      `json:"of"`                  // the number of the trial that had it first
	Trials    []int    `json:"trials"`              // the numbers of the repeats that exist
	Results   int      `json:"results"`             // repeats that have ended with a result
	Mean      *float64 `json:"mean,omitempty"`      // of these results; nil: there are none
	Deviation *float64 `json:"deviation,omitempty"` // the standard deviation of one result; nil: there are fewer than two
	best      int      // of trials: the one with the best result
}

// again is the configuration of an earlier trial.
type again struct {
	of    given
	trial int
}

func (a again) hparams(int) map[string]any { return a.of.hparams(a.trial) }

// newRepeats returns nil for a search without repeats.
func newRepeats(c expconf.Searcher, sign float64) *repeats {
	best, times := c.Repeat.Or()
	if best == 0 {
		return nil
	}
	m := &repeats{best: best, times: times, workers: atOnce(c.MaxConcurrentTrials), sign: sign}
	if c.Name == expconf.AsyncHalving || c.Name == expconf.AdaptiveASHA {
		full, _ := c.FullLength()
		m.full = float64(full)
	}
	return m
}

// owns reports whether a trial is a repeat.
func (m *repeats) owns(trial int) bool { return m != nil && m.begun && trial >= m.first }

// reconfigured is called when the search continues with another configuration.
func (m *repeats) reconfigured(sign float64, anew bool) {
	if m == nil {
		return
	}
	if m.sign = sign; anew {
		m.results = nil
	}
}

// note keeps the best result of a trial.
func (m *repeats) note(trial int, metric float64) {
	if m == nil {
		return
	}
	for len(m.results) <= trial {
		m.results = append(m.results, math.Inf(1))
	}
	m.results[trial] = min(m.results[trial], metric)
}

func (m *repeats) result(trial int) float64 {
	if trial < len(m.results) {
		return m.results[trial]
	}
	return math.Inf(1)
}

// planned is how many trials the search has with its repeats, of which it has others without them.
func (m *repeats) planned(others int) int {
	switch {
	case m == nil:
		return others
	case m.begun:
		return m.first + len(m.chosen)*m.times
	}
	return others + m.best*m.times
}

// repeat begins the repeats when all other trials have ended, and further ones when some of them have.
func (s *Search) repeat() {
	m, r := s.repeats, &s.trialSet
	if m == nil || s.awaits || s.broken != "" {
		return
	}
	if !m.begun {
		if !s.triedAll() || s.AllFailed() || r.canceled == len(r.trials) {
			return
		}
		m.begun, m.first, m.chosen = true, len(r.trials), m.choose(r)
		r.sealed = true
		r.spending.release()
	}
	for len(r.trials) < m.planned(0) && len(r.trials)-r.ended < m.workers && r.spending.fits(-1, m.length(r)) {
		of := m.chosen[(len(r.trials)-m.first)%len(m.chosen)]
		trial := r.AddWith(again{r.trials[of].given, of})
		if m.full > 0 {
			r.Release(trial, int64(m.full))
		}
	}
	if list := m.list(r); s.Repeated() && len(list) > 0 && list[0].Results > 0 {
		metric := m.sign * m.result(list[0].best)
		s.bestTrial, s.bestMetric = list[0].best, &metric
	}
}

// triedAll reports whether all trials have ended, and the search waits for no proposals.
func (s *Search) triedAll() bool {
	return s.trialSet.ended == len(s.trialSet.trials) && s.Free() == 0
}

// length is that of a whole training, as the budget counts it.
func (m *repeats) length(r *TrialSet) float64 {
	if r.spending == nil {
		return m.full
	}
	return r.spending.full
}

// Repeated reports whether all repeats have ended that will exist; false if the search has none.
func (s *Search) Repeated() bool {
	m, r := s.repeats, &s.trialSet
	return m != nil && m.begun && r.ended == len(r.trials) && (len(r.trials) >= m.planned(0) || !r.spending.fits(-1, m.length(r)))
}

// choose returns the trials with the best results, of each configuration one. A trial that failed or was canceled is not chosen.
func (m *repeats) choose(r *TrialSet) (chosen []int) {
	var list []int
	for i, t := range r.trials {
		if !math.IsInf(m.result(i), 1) && (t.exited == lifecycle.ExitDone || t.exited == lifecycle.ExitStopped) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(m.result(a), m.result(b)) })
	seen := map[string]bool{}
	for _, i := range list {
		if len(chosen) == m.best {
			break
		}
		if key := text(r.hparams(i)); !seen[key] {
			seen[key] = true
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// validated ends a repeat that has trained to its end.
func (m *repeats) validated(r *TrialSet, trial int, v Result) {
	if m.full > 0 && v.At >= m.full {
		r.Finish(trial)
	}
}

// list returns what is known of each configuration, the best first: one whose repeats have more results (none failed), then by the mean.
func (m *repeats) list(r *TrialSet) []Repeated {
	list := make([]Repeated, len(m.chosen))
	for i, of := range m.chosen {
		x := Repeated{Of: of, Trials: []int{}, best: -1}
		var results []float64
		for trial := m.first + i; trial < len(r.trials); trial += len(m.chosen) {
			x.Trials = append(x.Trials, trial)
			// One that failed, or that a budget stopped on the way, has no result.
			t, v := r.trials[trial], m.result(trial)
			if math.IsInf(v, 1) || t.exited == "" || t.exited != lifecycle.ExitDone && !t.trained {
				continue
			}
			results = append(results, v)
			if x.best < 0 || v < m.result(x.best) {
				x.best = trial
			}
		}
		if x.Results = len(results); x.Results > 0 {
			mean, deviation := meanOf(results)
			mean *= m.sign
			if x.Mean = &mean; x.Results > 1 {
				x.Deviation = &deviation
			}
		}
		list[i] = x
	}
	slices.SortStableFunc(list, func(a, b Repeated) int {
		if a.Results != b.Results || a.Results == 0 {
			return cmp.Compare(b.Results, a.Results)
		}
		return cmp.Compare(m.sign**a.Mean, m.sign**b.Mean)
	})
	return list
}

// meanOf returns the mean of numbers and their standard deviation, without a sum that overflows.
func meanOf(list []float64) (mean, deviation float64) {
	n := float64(len(list))
	for _, v := range list {
		mean += v / n
	}
	for _, v := range list {
		deviation = math.Hypot(deviation, v-mean)
	}
	return mean, min(deviation/math.Sqrt(max(1, n-1)), math.MaxFloat64)
}

// outlook returns nil before the repeats have begun.
func (s *Search) repeatOutlook() *RepeatOutlook {
	m := s.repeats
	if m == nil || !m.begun || len(m.chosen) == 0 {
		return nil
	}
	return &RepeatOutlook{Times: m.times, Decided: s.Repeated(), List: m.list(&s.trialSet)}
}
