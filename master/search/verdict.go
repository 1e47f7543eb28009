package search

import (
	"math"

	"github.com/detent-ml/detent/master/expconf"
)

// A verdict is what a bracket has learned about the verdicts of its first rung: whether the trials
// that are among the best there (chosen) are among the best at the next rung too. Early results can
// mislead, even reverse the final order. So some trials pass the first rung whatever their result,
// and show how often a trial is among the best at the next rung without a choice. The bracket
// divides the time of its workers between the two ways by what they yield. Neither way loses all of its
// time: what the next rung shows is not the end either.
type verdict struct {
	chosen, passed yield
	arrived        int     // trials that reached the rung
	credit         float64 // when it reaches 1, a trial passes
}

// A yield counts trials at the next rung, and of these the ones that are among the best there.
// Older trials count less, because the sampler improves.
type yield struct{ best, all float64 }

const (
	maxProbes   = 6     // the first trials, which all pass
	probePart   = 0.125 // of all trials: so many at most are probes
	ageing      = 0.97  // of what is counted, for each new trial
	priorTrials = 4     // that are assumed for each way, before there are results
	priorChosen = 0.5   // part of the chosen trials that is among the best at the next rung, as assumed
	priorPassed = 0.2   // the same part of the trials that pass
	sharpness   = 3     // how strongly the shares depend on the yields
	minPassing  = 0.08  // share of the time for trials that pass
	maxPassing  = 0.4
)

func (y *yield) count(best bool) {
	y.best, y.all = y.best*ageing, y.all*ageing+1
	if best {
		y.best++
	}
}

func (y yield) rate(prior float64) float64 {
	return (y.best + priorTrials*prior) / (y.all + priorTrials)
}

// learn records that a trial is at this position among the results of the next rung.
func (v *verdict) learn(x *rungEntry, at, of int, divisor float64) {
	if float64(of) < divisor {
		return
	}
	best := float64(at) < float64(of)/divisor
	if x.chosen {
		v.chosen.count(best)
	}
	if x.passed {
		v.passed.count(best)
	}
}

// passes decides whether a trial that reaches this rung passes it whatever its result.
func (b *bracket) passes(level int) bool {
	if b.passing == 0 || level > 0 || len(b.rungs) < 2 {
		return false
	}
	v := &b.verdict
	if v.arrived++; v.arrived <= b.probes() {
		return true
	}
	if v.credit += b.passPart(); v.credit < 1 {
		return false
	}
	v.credit--
	return true
}

func (b *bracket) probes() int { return min(maxProbes, int(probePart*float64(b.budget))) }

// passPart is the part of the trials that passes, which follows from the share of the time.
func (b *bracket) passPart() float64 {
	units, next := b.rungs[0].units, b.rungs[1].units
	// What one trial at the next rung costs: if it was chosen, also the training of those among which it was chosen.
	chosen, passed := b.divisor*units+next-units, next
	gain := math.Log(b.verdict.passed.rate(priorPassed) / passed * chosen / b.verdict.chosen.rate(priorChosen))
	share := min(max(1/(1+math.Exp(-sharpness*gain)), b.passing), maxPassing)
	judged := chosen / b.divisor // what a trial costs that is judged
	return share * judged / (share*judged + (1-share)*passed)
}

// passers estimates how many trials of the bracket will pass, before there are results.
func (b *bracket) passers() int {
	if b.passing == 0 || len(b.rungs) < 2 {
		return 0
	}
	return b.probes() + int(b.passPart()*float64(b.budget-b.probes()))
}

// passing returns the smallest share of the time that a search gives to trials that pass its first
// rung; 0 if all trials are judged there. They are where the configuration says which brackets
// there are, or asks for plain async_halving.
func passing(c expconf.Searcher) float64 {
	switch {
	case c.Revision == 1, c.Name == expconf.AsyncHalving && c.Sampler != expconf.TPE && !c.ByProgram(), len(c.BracketRungs) > 0, c.Mode == expconf.Aggressive:
		return 0
	case c.Mode == expconf.Conservative:
		return maxPassing
	}
	return minPassing
}
