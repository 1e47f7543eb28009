package search

import (
	"math"
	"math/rand/v2"
)

// A contrast is what the results after one length of training say about hyperparameters: the
// density of the good trials and that of the others. Short trainings have many results and long
// ones are closer to the truth, so the model adds what all lengths say (MFES-HB: Li et al.,
// "MFES-HB: Efficient Hyperband with Multi-Fidelity Quality Measurements", 2021). A length has
// more weight the more results it has, and the better its order of trials agrees with that of
// the longest length. So a length that misleads has none.
type contrast struct {
	good, others *density
	weight       float64 // of all contrasts together: 1
}

const (
	goodVoters  = 0.15 // of the results of a length: these count as good, at most maxGood
	otherVoters = 96   // other trials that a density uses, without those that run; more would make a proposal slow, not better
	laterVoters = 48   // the same beyond manyResults, where a search proposes often
	minVoters   = 4    // results that a length needs
	halfWeight  = 8    // results with which a length has half of its weight
	maxRanked   = 40   // trials that two lengths are compared by: the best ones of the shorter
	priorOrder  = 0.5  // rank correlation that is assumed, as if some pairs had shown it
	priorPairs  = 1.5  // for each trial with both results
	leastWeight = 0.01
	renewal     = 0.02 // of the results beyond manyResults: the densities are estimated again after so many new ones
	manyResults = 500
	maxLengths  = 6  // that have a vote: the longest ones
	maxLies     = 16 // running trials that count as poor ones
)

// contrasts are those of all lengths with enough results; none if the search has too few results.
func (m *model) contrasts() []contrast {
	if len(m.free) == 0 {
		return nil
	}
	if m.single {
		good, others := m.divide()
		if good == nil {
			return nil
		}
		return []contrast{{m.density(good), m.density(others), 1}}
	}
	if fresh := m.results - m.estimated; fresh < int(renewal*float64(m.results-manyResults)) {
		return m.cached
	}
	m.estimated, m.cached = m.results, m.estimate()
	return m.cached
}

// estimate makes the contrasts anew.
func (m *model) estimate() []contrast {
	var list []contrast
	var longest *stage
	most, total := 0, 0.0
	for _, g := range m.stages {
		g.order()
	}
	for i, g := range m.stages {
		n := len(g.list)
		most = max(most, n-g.near) // near a prior there is little to learn about the rest of the space
		if n < minVoters || len(list) == maxLengths {
			continue
		}
		weight := float64(n) / (float64(n) + halfWeight)
		if longest == nil {
			longest = g
		} else {
			weight *= g.agreement(longest.level)
		}
		if weight > leastWeight {
			good, others := m.split(i)
			list = append(list, contrast{m.density(good), m.density(others), weight})
			total += weight
		}
	}
	if most < m.enough() {
		return nil
	}
	for i := range list {
		list[i].weight /= total
	}
	return list
}

// split returns the good trials of a stage, and the others: the rest, some of the trials that
// ended at shorter lengths, and those that run now and have no result. The last ones keep
// parallel proposals apart (a constant liar).
func (m *model) split(at int) (good, others []*observed) {
	list := m.stages[at].list
	n := max(2, min(int(math.Ceil(goodVoters*float64(len(list)))), maxGood))
	for _, x := range list[:n] {
		good = append(good, x.of)
	}
	rest := len(list) - n
	for _, below := range m.stages[at+1:] {
		rest += len(below.list)
	}
	voters := otherVoters
	if m.results > manyResults {
		voters = laterVoters
	}
	step := (rest + voters - 1) / voters
	for i := n; i < len(list); i += step {
		others = append(others, list[i].of)
	}
	for _, below := range m.stages[at+1:] {
		for i := 0; i < len(below.list); i += step {
			if x := below.list[i].of; x.highest == below.level {
				others = append(others, x)
			}
		}
	}
	return good, append(others, m.running()...)
}

// running returns the newest trials without a result, of the last few that began.
func (m *model) running() (list []*observed) {
	const looked = 4 * maxLies
	for i := len(m.begun) - 1; i >= max(0, len(m.begun)-looked) && len(list) < maxLies; i-- {
		if o := m.begun[i]; len(o.results) == 0 {
			list = append(list, o)
		}
	}
	return list
}

// agreement is the rank correlation (Kendall's) between the results of this stage and those of
// the same trials at another level, at least 0. With several metrics it is the mean of those of the objectives.
func (g *stage) agreement(level float64) float64 {
	var x, y []levelResult
	for _, r := range g.list {
		if later, ok := r.of.at(level); ok {
			x, y = append(x, levelResult{metric: r.metric, point: r.point}), append(y, later)
		}
		if len(x) == maxRanked {
			break
		}
	}
	objectives := 1
	for i := range x {
		if p := x[i].point; p != nil {
			objectives = max(objectives, len(p.Values))
		}
	}
	sum, pairs := 0.0, 0.0
	for m := range objectives {
		for i := range x {
			for j := range i {
				pairs++
				switch d := (x[i].value(m) - x[j].value(m)) * (y[i].value(m) - y[j].value(m)); {
				case d > 0:
					sum++
				case d < 0:
					sum--
				}
			}
		}
	}
	sum, pairs = sum/float64(objectives), pairs/float64(objectives)
	prior := priorPairs * float64(len(x)+1)
	return max(0, (sum+prior*priorOrder)/(pairs+prior))
}

// value is the result's value of an objective, or its metric.
func (r levelResult) value(objective int) float64 {
	switch {
	case r.point == nil:
		return r.metric
	case objective >= len(r.point.Values):
		return math.Inf(1)
	}
	return r.point.Values[objective]
}

// at returns the trial's result of a level.
func (o *observed) at(level float64) (r levelResult, ok bool) {
	for _, r := range o.results {
		if r.level == level {
			return r, true
		}
	}
	return r, false
}

// oneOf draws a contrast by the weights.
func oneOf(list []contrast, rng *rand.Rand) contrast {
	if len(list) > 1 {
		u := rng.Float64()
		for _, c := range list {
			if u -= c.weight; u < 0 {
				return c
			}
		}
	}
	return list[len(list)-1]
}

// vote is how promising a point is: the weighted sum of the logarithms of all ratios.
func vote(list []contrast, x []float64) (sum float64) {
	for _, c := range list {
		sum += c.weight * (c.good.log(x) - c.others.log(x))
	}
	return sum
}
