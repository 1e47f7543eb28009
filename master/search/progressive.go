package search

import (
	"math"
	"slices"
)

// A progressive bracket trains nobody longer than the order of the best demands.
// It begins with two rungs. As long as the trials of its highest rung stand there
// as they stood at the one below, training them longer would tell nothing new;
// when they do not, the next rung is opened.
//
// Results are noisy, so trials whose results differ by less than the noise count
// as equal. How large that is, the curves say themselves: trials that overtook
// each other and were overtaken again differ by no more than noise.

const (
	compared  = 32  // trials at the top of a rung whose order counts
	noisePart = 0.5 // of the differences of trials that cross lie below the noise
)

// settled reports whether the order at the highest rung is that of the one below.
func (b *bracket) settled() bool {
	var now []*rungEntry
	for _, s := range b.rungs[b.limit].list {
		if x := b.entries[s.index]; len(now) < compared && !math.IsInf(s.metric, 0) && len(x.marks) > b.limit {
			now = append(now, x)
		}
	}
	before := make([]float64, len(now)) // results at the rung below, best first
	for i, x := range now {
		before[i] = x.marks[b.limit-1]
	}
	slices.Sort(before)
	noise := b.noise(now)
	for i, x := range now {
		// Whoever stands here now stood here before, or within the noise of it.
		if math.Abs(x.marks[b.limit-1]-before[i]) > noise {
			return false
		}
	}
	return true
}

// noise looks at pairs of trials that changed their order twice, and takes
// the median of how far they are apart now. A high quantile, which would be the
// cautious choice where all curves are alike, is that of the few that swing
// wildly: with it everything counts as noise, and no rung is ever opened.
func (b *bracket) noise(now []*rungEntry) float64 {
	var apart []float64
	for i, x := range now {
		for _, y := range now[:i] {
			if crossings(x.curve, y.curve) >= 2 {
				apart = append(apart, math.Abs(x.marks[b.limit]-y.marks[b.limit]))
			}
		}
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return apart[int(noisePart*float64(len(apart)-1))]
}

// crossings counts how often two curves cross.
func crossings(x, y []float64) int {
	n, side := 0, 0.0
	for i := range min(len(x), len(y)) {
		d := x[i] - y[i]
		if d == 0 || math.IsNaN(d) {
			continue
		}
		if side*d < 0 {
			n++
		}
		side = math.Copysign(1, d)
	}
	return n
}
