package search

import (
	"math"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/gain"
)

// prospects estimates what further trials would bring (package gain), and, with searcher.stop_when, ends the creation of trials. What has
// begun then goes on as if max_trials had been reached: trials train on, and the best of those that wait continue. The estimate is made from
// events only, so every master that applies them decides the same. It is made anew when the search has tried a few per cent more
// trials: a search of 10,000 trials sorts their results some hundred times.
type prospects struct {
	least       float64 // the gain, as a part of the best result
	more        int     // trials
	probability float64 // below it the search stops
	stops       bool    // searcher.stop_when is set
	learns      bool    // the sampler learns, or a program proposes
	rungs       bool    // trials train to several lengths

	best   []float64 // trial -> its best result, smaller is better; +Inf: none
	tried  int       // trials that have run and do not run now
	whole  int       // of them: those that trained to their end
	next   int       // so many are tried at the next estimate
	newest *GainOutlook
	enough bool // no trial is created any more
}

const (
	firstEstimate = 8    // trials
	estimateEach  = 0.04 // more trials
	minWhole      = 2    // trials that have trained whole before a search with rungs makes an estimate: before, the best result improves because they train
)

// GainOutlook is what a search says about further trials.
type GainOutlook struct {
	Of      int     `json:"of"`     // trials of whose results it is
	Trials  int     `json:"trials"` // further ones
	Gain    float64 `json:"gain"`   // as a part of the best result
	Better  float64 `json:"better"` // the probability of any better result
	Enough  float64 `json:"enough"` // the probability of this gain
	Stopped bool    `json:"stopped,omitempty"`
}

// newProspects returns nil for a search that makes no estimates: one with several metrics, of one trial, of a grid whose points come in their order,
// of a population, or one that a program controls.
func newProspects(c expconf.Searcher, learns bool) *prospects {
	switch c.Name {
	case expconf.Random, expconf.AsyncHalving, expconf.AdaptiveASHA:
	default:
		return nil
	}
	if len(c.Metrics) > 0 {
		return nil
	}
	p := &prospects{learns: learns, rungs: c.Name != expconf.Random, next: firstEstimate}
	p.rule(c)
	return p
}

func (p *prospects) rule(c expconf.Searcher) {
	p.least, p.more, p.probability = c.StopWhen.Or()
	p.stops = c.StopWhen != nil
}

// reconfigured is called when the search continues with another configuration; anew says that its results are not comparable with earlier ones.
func (p *prospects) reconfigured(c expconf.Searcher, anew bool) {
	if p == nil {
		return
	}
	p.rule(c)
	p.enough, p.next = false, p.tried+1
	if anew {
		p.best, p.newest = nil, nil
	}
}

// result notes a result of a trial.
func (p *prospects) result(trial int, metric float64) {
	if p == nil {
		return
	}
	for len(p.best) <= trial {
		p.best = append(p.best, math.Inf(1))
	}
	p.best[trial] = min(p.best[trial], metric)
}

// halted says that a trial does not run any more, or not now. whole: it has trained to its end.
func (p *prospects) halted(t *entry, whole bool) {
	if p == nil {
		return
	}
	if !t.tried {
		t.tried = true
		p.tried++
	}
	if whole && !t.whole {
		t.whole = true
		p.whole++
	}
}

// done reports whether the search creates no further trials, although it could.
func (p *prospects) done() bool { return p != nil && p.enough }

// Tried is how many trials have run, and do not run now, of a search that makes estimates.
func (s *Search) Tried() int {
	if p := s.trialSet.prospects; p != nil {
		return p.tried
	}
	return 0
}

// consider makes an estimate, if it is time for one, and ends the creation of trials if nothing is gained by them.
func (s *Search) consider() {
	r := &s.trialSet
	p := r.prospects
	if p == nil || p.enough || r.sealed || p.tried < firstEstimate || p.rungs && p.whole < minWhole {
		return
	}
	last := p.tried == len(r.trials) && s.plannedOfMethod() == len(r.trials) && (p.newest == nil || p.newest.Of < p.tried)
	if p.tried < p.next && !last {
		return
	}
	p.next = p.tried + max(1, int(estimateEach*float64(p.tried)))
	e, known := gain.Of(p.results(r.trials), p.more, p.least, p.learns)
	if !known {
		return
	}
	p.newest = &GainOutlook{Of: p.tried, Trials: p.more, Gain: p.least, Better: round(e.Better), Enough: round(e.Enough)}
	if p.stops && e.Enough < p.probability && s.plannedOfMethod() > len(r.trials) {
		p.enough, p.newest.Stopped = true, true
		if m, ok := s.method.(filler); ok {
			m.Fill(r) // trials that wait for results of trials that will not be
		}
	}
}

// results returns the results of the trials that do not run now, and the best of those that do, in the order of the trials.
func (p *prospects) results(trials []*entry) (list []float64) {
	leader, least := -1, math.Inf(1)
	for i, v := range p.best {
		if v < least {
			leader, least = i, v
		}
	}
	for i, t := range trials {
		switch {
		case !t.tried && i != leader:
		case i < len(p.best):
			list = append(list, p.best[i])
		default:
			list = append(list, math.Inf(1))
		}
	}
	return list
}

// round leaves whole per cents, so that the outlook does not change all the time.
func round(probability float64) float64 { return math.Round(probability*100) / 100 }
