// Package gain estimates what further trials of a search would bring, from the results of those that it has tried. It is pure.
//
// If trials are drawn alike, their order says nothing. So what `more` trials bring to those that there are is as what the last of them brought to
// the others, in whatever order they had come: with m results, a part of m/(m+more) of them is chosen at random, and the best of that part is compared
// with the best of all. For each number j, the probability that the j-th best is the best of the part is known, so nothing is drawn. The estimate
// knows no distribution, no model of the metric and no hyperparameters. The probability that anything better comes is more/(m+more), as for records
// of any sequence without a trend.
//
// How large an improvement would be is read from the best results: had the k-th best been the best so far, each of those before it would have been
// the next record with the same probability. The share of them that reach the gain, over the first few k, is that of the improvements to come.
// The distance of the best result alone says little about the next one: it is one number, and large after a lucky trial.
//
// A sampler that learns proposes better values in time, so only the newer half of its trials counts. That and how many results count were chosen on
// recorded curves (docs/search.md says how well the estimate holds).
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
	minResults = 8 // so many different results make an estimate
	nearest    = 8 // so many results below the best one say how large improvements are
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
		}
		p *= float64(m-part-j) / float64(m-1-j)
	}
	e.Enough = e.Better * largePart(sorted, least)
	return e, true
}

// largePart is the share of improvements that reach the gain, as the best results of a sorted list say.
func largePart(sorted []float64, least float64) float64 {
	all, large := 0.0, 0.0
	for k := 1; k <= nearest && k < len(sorted) && !math.IsInf(sorted[k], 0); k++ {
		for _, better := range sorted[:k] {
			if better == sorted[k] {
				continue
			}
			all += 1 / float64(k)
			if sorted[k]-better >= least*math.Abs(sorted[k]) {
				large += 1 / float64(k)
			}
		}
	}
	if all == 0 { // the best results are equal
		return 0
	}
	return large / all
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
