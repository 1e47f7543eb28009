// Package gain estimates what further trials of a search would bring, from the results of those that it has tried. It is pure.
//
// If trials are drawn alike, their order says nothing. So what `more` trials bring to those that there are is as what the last of them brought to
// the others, in whatever order they had come: with m results, a part of m/(m+more) of them is chosen at random, and the best of that part is compared
// with the best of all. For each number j, the probability that the j-th best is the best of the part is known, so nothing is drawn. The estimate
// knows no distribution, no model of the metric and no hyperparameters. The probability that anything better comes is more/(m+more), as for records
// of any sequence without a trend.
//
// A sampler that learns proposes better values in time, so only the newer half of its trials counts. Its trials also come nearer to each other than
// to the next better result, which the distances between them do not show: a quarter of the probability that anything better comes
// counts for a gain of any size. Both were chosen on recorded curves (docs/search.md says how well the estimate holds).
package gain

import (
	"math"
	"slices"
)

// An Estimate says with which probability further trials find a better result.
type Estimate struct {
	Better float64 // better by anything
	Enough float64 // better by at least the gain that was asked for
}

const (
	minResults  = 8    // so many different results make an estimate
	learnedPart = 0.25 // of the probability of anything better, which counts for any gain of a sampler that learns
)

// Of returns what `more` further trials would bring, of the best result of each trial so far, in the order of the trials: smaller is better, and
// +Inf is a trial without a result. least is a part of the absolute value of the best result. false: the results do not say it yet.
func Of(results []float64, more int, least float64, learns bool) (Estimate, bool) {
	if learns {
		results = results[len(results)/2:]
	}
	sorted := slices.Sorted(slices.Values(results))
	m := len(sorted)
	if more < 1 || distinct(sorted) < minResults {
		return Estimate{}, false
	}
	part := max(1, int(math.Round(float64(m)*float64(m)/float64(m+more))))
	best := sorted[0]
	e := Estimate{}
	// p is the probability that the result with the index j is the best of the part: all before it are outside.
	p := float64(part) / float64(m)
	for j := 0; j <= m-part; j++ {
		if sorted[j] > best {
			e.Better += p
			if sorted[j]-best >= least*math.Abs(best) {
				e.Enough += p
			}
		}
		p *= float64(m-part-j) / float64(m-1-j)
	}
	if learns {
		e.Enough += learnedPart * (e.Better - e.Enough)
	}
	return e, true
}

// distinct is how many finite results of a sorted list differ. Where most trials have learned nothing yet, all of these have one and the same result.
func distinct(sorted []float64) (n int) {
	for i, v := range sorted {
		if !math.IsInf(v, 0) && (i == 0 || v != sorted[i-1]) {
			n++
		}
	}
	return n
}
