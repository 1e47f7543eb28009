package search

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/choices"
	"github.com/detent-ml/detent/master/search/front"
)

// model is the sampler tpe, a tree-structured Parzen estimator (Bergstra et al.,
// "Algorithms for Hyper-Parameter Optimization", 2011). It divides the trials into the
// good ones and the others, and estimates a density of the hyperparameters of each group
// (parzen.go). It draws candidates from the density of the good trials, and proposes the
// candidate with the largest ratio of the two densities: good results are likely there,
// and few poor results are known.
//
// Under successive halving, trials have results after different lengths of training,
// and metrics of different lengths cannot be compared. So the model has a pair of densities for
// each length (contrast.go), and adds their votes. A search of revision 1 uses one length only.
type model struct {
	single bool // revision 1: it learns from one length of training only
	draws  int  // for one proposal
	*domain
	free   []int             // indexes of the axes that have more than one value
	widest int               // the largest number of these that a trial has
	values []*choices.Index  // of each axis; nil if it is not categorical
	stages []*stage          // the longest training first
	of     map[int]*observed // trial → its observation
	begun  []*observed       // the trials in the order in which they were proposed, unless single

	prior     *prior          // what the user believes; nil: nothing
	lessons   []*lesson       // of earlier experiments
	tops      []map[int]any   // values of the best earlier trials, which the next trials get
	lacked    []bool          // of the model of a lesson: whether trials lack a free axis
	weighed   int             // results with which lessons were weighed; -1: none were
	results   int             // that it has learned
	estimated int             // results from which cached was estimated
	cached    []contrast      // not of revision 1
	tried     map[string]bool // points that were proposed; nil if an axis has infinitely many values
	points    float64         // that there are, if tried is not nil
}

// A stage has the results after one length of training, the best first.
type stage struct {
	level float64 // length of training, in the searcher's unit; 0 for a whole training
	list  []result
	near  int  // of list: trials that were proposed by the prior or by lessons
	fresh bool // results with several metrics were added, and the list is not in their order yet
}

type result struct {
	metric float64
	point  *front.Point // of a search with several metrics
	of     *observed
}

// observed is a trial.
type observed struct {
	unit    []float64 // position on each free axis: 0 to 1, or the index of the value of a nominal axis; NaN if the trial lacks it
	highest float64   // the highest level that the trial has a result of
	results []levelResult
	from    origin
	votes   []float64 // of each lesson
}

// An origin is by what a trial's hyperparameters were proposed.
type origin int8

const (
	ofItself origin = iota // what the search has learned itself, or nothing
	ofPrior                // the prior
	ofLesson               // lessons, while the search has too few results of its own
)

type levelResult struct {
	level, metric float64
	point         *front.Point
}

const (
	candidates  = 24   // draws for one proposal: more follow the densities closer, which is not better
	onceDraws   = 64   // in a search of revision 1
	goodPart    = 0.25 // of the trials with results of one level: these count as good, in a search of revision 1
	maxGood     = 16   // trials that count as good
	maxOthers   = 96   // other trials that a density uses; more would make a proposal slow, not better
	uniformPart = 0.1  // of the trials: these get random hyperparameters, so that the search explores
	maxRedraws  = 8    // proposals until one was not tried before
)

func newModel(d *domain, revision int) *model {
	m := &model{single: revision == 1, draws: candidates, domain: d, of: map[int]*observed{}, tried: map[string]bool{}, points: 1}
	if m.single {
		m.draws = onceDraws
	}
	for i, a := range m.axes {
		m.values = append(m.values, choices.Of(a.Hyperparameter))
		if a.varies() {
			m.free = append(m.free, i)
		}
		switch {
		case m.values[i] != nil:
			m.points *= float64(m.values[i].Distinct())
		case a.steps() == 0:
			m.tried = nil
		default:
			m.points *= a.steps()
		}
	}
	if !d.restricted() {
		m.widest = len(m.free)
	}
	m.prior = m.believed()
	return m
}

// begin records a trial that runs, and has no result yet.
func (m *model) begin(trial int, hparams map[string]any, from origin) {
	if m.single {
		return
	}
	o := m.observe(trial, hparams)
	o.from = from
	m.begun = append(m.begun, o)
}

func (m *model) observe(trial int, hparams map[string]any) *observed {
	o := &observed{unit: m.point(hparams)}
	if len(m.lessons) > 0 {
		o.votes = m.lessonVotes(o.unit)
	}
	m.of[trial] = o
	if m.restricted() {
		n := len(o.unit)
		for _, at := range o.unit {
			if math.IsNaN(at) {
				n--
			}
		}
		m.widest = max(m.widest, n)
	}
	return o
}

// learn records a result, behind those with the same metric.
func (m *model) learn(trial int, hparams map[string]any, level float64, r Result) {
	o := m.of[trial]
	if o == nil {
		o = m.observe(trial, hparams)
	}
	g, at := m.insert(o, level, r)
	if o.from != ofItself {
		g.near++
	}
	if m.prior != nil {
		m.prior.learn(o, at, len(g.list))
	}
}

// insert adds a result to its stage, and returns its place there.
func (m *model) insert(o *observed, level float64, r Result) (g *stage, at int) {
	o.highest = max(o.highest, level)
	o.results = append(o.results, levelResult{level, r.Metric, r.Point})
	m.results++
	g = m.stage(level)
	x := result{r.Metric, r.Point, o}
	if r.Point != nil { // the good trials are the first in the order of the front, as in MOTPE
		g.list, g.fresh = append(g.list, x), true
		if m.prior != nil {
			g.order()
			at = slices.Index(g.list, x)
		}
		return g, at
	}
	at = sort.Search(len(g.list), func(i int) bool { return g.list[i].metric > r.Metric })
	g.list = slices.Insert(g.list, at, x)
	return g, at
}

// order puts results with several metrics into their order.
func (g *stage) order() {
	if g.fresh {
		g.list, _ = reordered(g.list, func(x result) front.Point { return *x.point })
		g.fresh = false
	}
}

// stage returns the stage of a level, and creates it if it does not exist.
func (m *model) stage(level float64) *stage {
	at, found := slices.BinarySearchFunc(m.stages, level, func(g *stage, level float64) int { return cmp.Compare(level, g.level) })
	if !found {
		m.stages = slices.Insert(m.stages, at, &stage{level: level})
	}
	return m.stages[at]
}

// divide returns the good trials and the others of a search of revision 1, by the results of one
// length: the longest with enough results. A trial that stopped before this length was worse than
// most trials that reached it, and counts as one of the others. Neither if no level has enough results.
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
				if x.of.highest == below.level {
					others = append(others, x.of)
				}
			}
		}
		return good, thin(others, maxOthers)
	}
	return nil, nil
}

// point returns the position of hyperparameters on the free axes, as in observed.unit.
func (m *model) point(hparams map[string]any) []float64 {
	var unit []float64
	for _, f := range m.free {
		unit = append(unit, m.place(f, m.axes[f].get(hparams)))
	}
	return unit
}

// place returns the position of a value on an axis.
func (m *model) place(f int, value any) float64 {
	if value == (absent{}) && m.restricted() {
		return math.NaN()
	}
	index := 0
	if c := m.values[f]; c != nil {
		index = c.At(value)
	}
	if m.axes[f].nominal() {
		return float64(index)
	}
	return m.axes[f].unit(value, index)
}

// enough returns how many results a level needs before the model uses it.
func (m *model) enough() int { return max(6, 2*m.widest) }

// propose returns the hyperparameters of a new trial. It repeats hyperparameters that
// another trial has only if maxRedraws candidates were all tried before. Where all points
// were tried, nobody looks at the candidates before the last, so that only their random
// numbers are drawn: a search that is read again must propose the same.
func (m *model) propose(rng *rand.Rand) (hparams map[string]any, from origin) {
	list := m.contrasts()
	m.weigh()
	unseen := 0
	if m.tried != nil && float64(len(m.tried)) >= m.points {
		unseen = maxRedraws - 1
	}
	for redraw := range maxRedraws {
		hparams, from = nil, ofItself
		if m.prior != nil && rng.Float64() < m.prior.share(len(m.of)) {
			hparams, from = m.prior.draw(m, rng), ofPrior
		} else if len(m.tops) > 0 {
			hparams, from = m.top(rng), ofLesson
		}
		if hparams == nil {
			hparams, from = m.candidate(rng, list, redraw >= unseen)
		}
		if m.tried == nil {
			return hparams, from
		}
		if redraw < unseen {
			continue
		}
		if m.try(hparams) {
			break
		}
	}
	return hparams, from
}

// try records that a trial has these hyperparameters, and reports whether it is the first one.
func (m *model) try(hparams map[string]any) bool {
	if m.tried == nil {
		return true
	}
	key := fmt.Sprint(m.point(hparams))
	if m.tried[key] {
		return false
	}
	m.tried[key] = true
	return true
}

// candidate draws hyperparameters: the best of several points if the model has densities. If
// they are not wanted, it draws the same random numbers.
func (m *model) candidate(rng *rand.Rand, list []contrast, wanted bool) (hparams map[string]any, from origin) {
	evenly := uniformPart
	if len(list) == 0 {
		evenly, from = 1-m.lessonShare()*m.taught(), ofLesson
	}
	if evenly == 1 || rng.Float64() < evenly {
		return m.sample(rng), ofItself
	}
	var chosen []float64
	best := math.Inf(-1)
	for range m.draws {
		x := m.source(list, rng).draw(rng)
		if !wanted || !m.settled(x) {
			continue
		}
		v := vote(list, x)
		for _, l := range m.lessons {
			if l.weight > 0 {
				v += l.weight * vote(l.list, x)
			}
		}
		if m.prior != nil {
			v += m.prior.vote(x, len(m.of))
		}
		if v > best {
			chosen, best = x, v
		}
	}
	if !wanted {
		return nil, from
	}
	if chosen == nil { // no candidate fulfils the constraints
		return m.sample(rng), ofItself
	}
	values := m.valuesAt(chosen)
	m.valid(values)
	return m.assemble(values), from
}

// valuesAt returns the value of each axis at a point.
func (m *model) valuesAt(x []float64) []any {
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
		if values[f] = any(absent{}); !math.IsNaN(x[i]) {
			values[f] = m.axes[f].value(x[i])
		}
	}
	return values
}

// settled removes what is inactive from a point, and reports whether it fulfils the constraints.
func (m *model) settled(x []float64) bool {
	if !m.restricted() {
		return true
	}
	values := m.valuesAt(x)
	if !m.valid(values) {
		return false
	}
	for i, f := range m.free {
		if values[f] == (absent{}) {
			x[i] = math.NaN()
		}
	}
	return true
}

// thin returns `limit` evenly spaced elements of a longer list.
func thin(list []*observed, limit int) []*observed {
	if len(list) <= limit {
		return list
	}
	out := make([]*observed, limit)
	for i := range out {
		out[i] = list[i*len(list)/limit]
	}
	return out
}
