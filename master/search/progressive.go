package search

import (
	"math"
	"slices"

	"github.com/detent-ml/detent/master/each"
)

// A progressive bracket is PASHA (Bohdal et al., "PASHA: Efficient HPO and NAS with
// Progressive Resource Allocation", 2023). It begins with two rungs. While the trials rank
// at the highest rung as they ranked at the rung below, longer training would show
// nothing new; when their order differs, the bracket opens the next rung.
//
// Results are noisy, so results that differ by less than the noise count as equal. The
// bracket estimates the noise from the learning curves: if one trial overtook another and
// was overtaken again, only noise separates the two.

const (
	maxCompared   = 32  // trials at the top of a rung whose order the bracket compares
	noiseQuantile = 0.5 // of the differences between trials that overtook each other: the noise
)

// orderHolds reports whether trials rank at the highest rung as they ranked at the rung below.
func (b *bracket) orderHolds() bool {
	var now []*rungEntry
	for _, s := range b.rungs[b.maxRung].list {
		if x := b.entries[s.index]; len(now) < maxCompared && !math.IsInf(s.metric, 0) && len(x.atRungs) > b.maxRung {
			now = append(now, x)
		}
	}
	before := each.Of(now, func(x *rungEntry) float64 { return x.atRungs[b.maxRung-1] }) // results at the rung below, best first
	slices.Sort(before)
	noise := b.noise(now)
	for i, x := range now {
		// A trial may have changed its place among trials within the noise only.
		if math.Abs(x.atRungs[b.maxRung-1]-before[i]) > noise {
			return false
		}
	}
	return true
}

// noise returns the median difference at the highest rung between trials that changed
// their order at least twice. PASHA's paper uses a high quantile; but a few curves that
// swing widely determine a high quantile, so that every difference counts as noise and
// no further rung opens.
func (b *bracket) noise(now []*rungEntry) float64 {
	var apart []float64
	for i, x := range now {
		for _, y := range now[:i] {
			if crossings(x.curve, y.curve) >= 2 {
				apart = append(apart, math.Abs(x.atRungs[b.maxRung]-y.atRungs[b.maxRung]))
			}
		}
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return apart[int(noiseQuantile*float64(len(apart)-1))]
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
