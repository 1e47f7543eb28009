package search

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/detent-ml/detent/master/expconf"
)

// model proposes hyperparameters by a tree-structured Parzen estimator: trials
// are divided into the good ones and the others, a density is laid over each, and
// of some draws from the first the one is taken whose ratio of the two densities
// is largest. That is where a good result is likely and has not been ruled out.
//
// Under successive halving, trials have results after different lengths of
// training, which cannot be compared as numbers. So the model looks at one length
// alone: the longest after which there are enough results. Who did not get so far
// was found worse than most of those who did, and counts as one of the others.
// To take whoever trained longest for the best would be simpler, and worse: those
// who were first to a rung went on by luck, and would count as good for ever.
type model struct {
	space  expconf.Hyperparameters
	axes   []axis
	free   []int    // axes that vary
	stages []*stage // the longest first
	of     map[int]*observed
	tried  map[string]bool // settings that trials have, where there are finitely many
}

// A stage has the results after one length of training, the best first.
type stage struct {
	level float64
	list  []result
}

type result struct {
	metric float64
	of     *observed
}

// observed is a trial that has a result.
type observed struct {
	unit []float64 // of the free axes: from 0 to 1, of a categorical one its index
	most float64   // the highest level that it has a result of
}

const (
	candidates = 64
	goodPart   = 0.25 // of the trials with results of one level are good
	maxGood    = 16
	maxOthers  = 96  // that the model looks at; densities need no more, and a proposal stays cheap
	byChance   = 0.1 // of the trials are drawn from the space alone, whatever the model thinks
	drawsAgain = 8   // when a setting has been tried
)

func newModel(space expconf.Hyperparameters) *model {
	m := &model{space: space, axes: axesOf(space), of: map[int]*observed{}, tried: map[string]bool{}}
	for i, a := range m.axes {
		switch a.Type {
		case expconf.Const:
		case expconf.Categorical:
			if len(a.Vals) > 1 {
				m.free = append(m.free, i)
			}
		default:
			if a.Maxval > a.Minval {
				m.free = append(m.free, i)
			}
			if a.Type != expconf.Int {
				m.tried = nil
			}
		}
	}
	return m
}

// learn takes a result in, after all that are as good.
func (m *model) learn(trial int, hparams map[string]any, level, metric float64) {
	o := m.of[trial]
	if o == nil {
		o = &observed{unit: m.point(hparams), most: level}
		m.of[trial] = o
	}
	o.most = max(o.most, level)
	g := m.stage(level)
	at := sort.Search(len(g.list), func(i int) bool { return g.list[i].metric > metric })
	g.list = slices.Insert(g.list, at, result{metric, o})
}

// stage finds the one of a level, or makes it.
func (m *model) stage(level float64) *stage {
	at, found := slices.BinarySearchFunc(m.stages, level, func(g *stage, level float64) int { return cmp.Compare(level, g.level) })
	if !found {
		m.stages = slices.Insert(m.stages, at, &stage{level: level})
	}
	return m.stages[at]
}

// divide gives the good ones and the others; nobody when there is too little to
// tell them apart.
func (m *model) divide() (good, others []*observed) {
	for i, g := range m.stages {
		if len(g.list) < m.enough() {
			continue
		}
		n := max(3, min(int(math.Ceil(goodPart*float64(len(g.list)))), maxGood))
		for at, x := range g.list {
			if at < n {
				good = append(good, x.of)
			} else {
				others = append(others, x.of)
			}
		}
		for _, below := range m.stages[i+1:] {
			for _, x := range below.list {
				if x.of.most == below.level {
					others = append(others, x.of)
				}
			}
		}
		return good, thin(others, maxOthers)
	}
	return nil, nil
}

// point is the position of hyperparameters, on the axes that vary.
func (m *model) point(hparams map[string]any) []float64 {
	var unit []float64
	for _, f := range m.free {
		unit = append(unit, m.axes[f].unit(m.axes[f].get(hparams)))
	}
	return unit
}

// enough is how many results of one level there must be before the model looks at it.
func (m *model) enough() int { return max(6, 2*len(m.free)) }

// propose draws the hyperparameters of a trial. A setting that has been tried is
// proposed again only when nothing else is found.
func (m *model) propose(rng *rand.Rand) map[string]any {
	var hparams map[string]any
	for range drawsAgain {
		hparams = m.candidate(rng)
		if m.tried == nil {
			return hparams
		}
		key := fmt.Sprint(m.point(hparams))
		if !m.tried[key] {
			m.tried[key] = true
			return hparams
		}
	}
	return hparams
}

func (m *model) candidate(rng *rand.Rand) map[string]any {
	best, rest := m.divide()
	if best == nil || len(m.free) == 0 || rng.Float64() < byChance {
		return sample(m.space, rng)
	}
	good, others := m.density(best), m.density(rest)
	var chosen []float64
	most := math.Inf(-1)
	for range candidates {
		x := good.draw(rng)
		if r := good.log(x) - others.log(x); r > most {
			chosen, most = x, r
		}
	}
	values := make([]any, len(m.axes))
	for i, a := range m.axes {
		switch a.Type {
		case expconf.Const:
			values[i] = a.Val
		case expconf.Categorical:
			values[i] = a.Vals[0]
		default:
			values[i] = a.value(0)
		}
	}
	for i, f := range m.free {
		values[f] = m.axes[f].value(chosen[i])
	}
	return assemble(m.space, m.axes, values)
}

// thin takes evenly spaced ones of a list that is too long.
func thin(list []*observed, most int) []*observed {
	if len(list) <= most {
		return list
	}
	out := make([]*observed, most)
	for i := range out {
		out[i] = list[i*len(list)/most]
	}
	return out
}

// unit is a value's position on its axis, from 0 to 1; of a categorical one the
// index of the value.
func (a axis) unit(value any) float64 {
	v, ok := number(value)
	switch a.Type {
	case expconf.Categorical:
		for i := range a.Vals {
			if equal(a.Vals[i], value) {
				return float64(i)
			}
		}
		return 0
	case expconf.Int:
		return (v - a.Minval + 0.5) / (a.Maxval - a.Minval + 1)
	case expconf.Log:
		v = math.Log(v) / math.Log(a.Base)
	}
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0.5
	}
	return min(max((v-a.Minval)/(a.Maxval-a.Minval), 0), 1)
}

// value is the value at a position.
func (a axis) value(unit float64) any {
	switch a.Type {
	case expconf.Categorical:
		return a.Vals[int(unit)]
	case expconf.Int:
		n := a.Maxval - a.Minval + 1
		return int64(a.Minval + min(math.Floor(unit*n), n-1))
	case expconf.Log:
		return math.Pow(a.Base, a.Minval+unit*(a.Maxval-a.Minval))
	}
	return a.Minval + unit*(a.Maxval-a.Minval)
}

// equal compares values of a categorical axis; lists and maps have no equal but
// themselves, which are found by their text.
func equal(x, y any) bool {
	switch x.(type) {
	case nil, bool, string, int64, float64, int:
		switch y.(type) {
		case nil, bool, string, int64, float64, int:
			return x == y
		}
		return false
	}
	return text(x) == text(y)
}
