package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/each"
)

// A lesson is what the trials of one earlier experiment say about hyperparameters: a pair of densities for each length of
// training, as the search makes of its own results (contrast.go). Results of two experiments are never compared with each other,
// so only the order of results within an experiment matters. A hyperparameter that the earlier trials lack is drawn evenly, and has
// no part in the lesson's votes.
//
// The search begins with the best trials of earlier experiments. While it has too few results of its own, some trials are proposed by the lessons
// and the others drawn evenly; later the lessons vote beside what the search has learned itself. A lesson counts as much as the
// order in which it would have put the trials of this search agrees with the order of their results (as the rankings of RGPE:
// Feurer et al., "Practical Transfer Learning for Bayesian Optimization", 2018), so that one that misleads costs little. All lessons
// fade with the number of trials.
type lesson struct {
	list   []contrast
	trust  float64 // from 0 to 1, by the results of this search
	weight float64 // of its votes now
}

const (
	lessonTops  = 3     // trials that begin with the values of the best trial of an earlier experiment each
	firstShare  = 0.25  // of the first trials: these are proposed by lessons
	laterShare  = 0.75  // of the next ones, until the search has enough results
	lessonFade  = 100   // trials after which lessons have half of their weight
	lessonPairs = 1.5   // for each trial: pairs that are assumed, in which a lesson agrees as lessonOrder says
	lessonOrder = 0.5   // rank correlation that is assumed, and with which a lesson has its whole weight
	leastVote   = 0.005 // of a lesson; a smaller one is not asked
	leastLesson = 0.1   // lessons whose weight has faded to this are forgotten
)

// recall makes lessons of what earlier experiments have found.
func (m *model) recall(e Earlier) error {
	at := map[string]int{}
	for i, f := range m.free {
		at[m.axes[f].name()] = i
	}
	columns := each.Of(e.Names, func(name string) int {
		if i, known := at[name]; known {
			return i
		}
		return -1
	})
	m.weighed = -1
	for _, x := range e.Experiments {
		l, best, err := m.lesson(x, columns)
		if err != nil {
			return fmt.Errorf("experiment %d: %w", x.ID, err)
		}
		if best != nil && len(m.tops) < lessonTops {
			m.tops = append(m.tops, best)
		}
		if len(l.list) > 0 {
			m.lessons = append(m.lessons, l)
		}
	}
	return nil
}

// lesson returns what one experiment says, and the values of its best trial; nil if it has none.
func (m *model) lesson(x EarlierExperiment, columns []int) (*lesson, map[int]any, error) {
	past := &model{domain: m.domain, free: m.free, values: m.values, lacked: make([]bool, len(m.free)), of: map[int]*observed{}}
	values := map[*observed]map[int]any{}
	for _, t := range x.Trials {
		fields := strings.Fields(t.Values)
		if len(fields) != len(columns) {
			return nil, nil, fmt.Errorf("a trial has %d values of %d hyperparameters", len(fields), len(columns))
		}
		o := &observed{unit: each.Of(m.free, func(int) float64 { return math.NaN() })}
		values[o] = map[int]any{}
		for c, field := range fields {
			if i := columns[c]; i >= 0 && field != "-" {
				value, unit, err := m.placed(m.free[i], field)
				if err != nil {
					return nil, nil, err
				}
				o.unit[i], values[o][m.free[i]] = unit, value
			}
		}
		past.widest = max(past.widest, len(values[o]))
		for i, at := range o.unit {
			past.lacked[i] = past.lacked[i] || math.IsNaN(at)
		}
		for length, rank := range t.Results {
			switch {
			case rank == nil:
			case *rank < 0:
				past.insert(o, LengthsFrom()[length], Result{Metric: math.Inf(1)})
			default:
				past.insert(o, LengthsFrom()[length], Result{Metric: float64(*rank)})
			}
		}
	}
	l := &lesson{list: past.estimate()}
	for _, g := range past.stages {
		if best := g.list[0]; !math.IsInf(best.metric, 1) {
			return l, values[best.of], nil
		}
	}
	return l, nil, nil
}

// placed returns a value of an EarlierTrial as a trial has it, and its position on the axis.
func (m *model) placed(f int, field string) (value any, unit float64, err error) {
	a := m.axes[f]
	v, err := strconv.ParseFloat(field, 64)
	if err != nil {
		return nil, 0, err
	}
	if m.values[f] == nil {
		value, can := a.Value(v)
		if !can {
			return nil, 0, fmt.Errorf("%s cannot be %v", a.name(), v)
		}
		return value, a.unit(value, 0), nil
	}
	if !(v >= 0 && v < float64(len(a.Vals))) {
		return nil, 0, fmt.Errorf("%s has no value %v", a.name(), v)
	}
	return a.Vals[int(v)], m.place(f, a.Vals[int(v)]), nil
}

// weigh sets the weights of the lessons for the next proposal.
func (m *model) weigh() {
	if len(m.lessons) == 0 {
		return
	}
	fade := lessonFade / (lessonFade + float64(len(m.of)))
	if fade < leastLesson {
		m.lessons = nil
		return
	}
	sum := 0.0
	for i, l := range m.lessons {
		if m.weighed != m.results {
			l.trust = math.Pow(min(1, max(0, m.agrees(i)/lessonOrder)), 2)
		}
		sum += l.trust
	}
	m.weighed = m.results
	for _, l := range m.lessons { // together they weigh no more than the one that is trusted most
		l.weight = fade * l.trust * l.trust / max(sum, math.SmallestNonzeroFloat64)
		if l.weight < leastVote {
			l.weight = 0
		}
	}
}

// agrees is the rank correlation between a lesson's votes for the trials of this search and their results, at all lengths. A
// length whose order disagrees with that of the longest one does not count.
func (m *model) agrees(lesson int) float64 {
	sum, pairs, most := 0.0, 0.0, 0
	var longest *stage
	for _, g := range m.stages {
		weight := 1.0
		if longest != nil {
			weight = g.agreement(longest.level)
		} else if len(g.list) >= minVoters {
			longest = g
		}
		step := (len(g.list) + maxRanked - 1) / maxRanked
		var list []result
		for i := 0; i < len(g.list); i += step {
			list = append(list, g.list[i])
		}
		most = max(most, len(list))
		for i, x := range list {
			for _, better := range list[:i] {
				if better.metric == x.metric {
					continue
				}
				switch d := better.of.votes[lesson] - x.of.votes[lesson]; {
				case d > 0:
					sum += weight
				case d < 0:
					sum -= weight
				}
				pairs += weight
			}
		}
	}
	assumed := lessonPairs * float64(most+1)
	return (sum + assumed*lessonOrder) / (pairs + assumed)
}

// lessonShare is the part of the next trials that lessons propose while the search has too few results. It grows as results confirm
// them; if results do not, taught falls.
func (m *model) lessonShare() float64 {
	n := 0
	for _, g := range m.stages {
		n = max(n, len(g.list))
	}
	return firstShare + (laterShare-firstShare)*float64(n)/float64(n+halfWeight)
}

// taught is the weight of all lessons together.
func (m *model) taught() (sum float64) {
	for _, l := range m.lessons {
		sum += l.weight
	}
	return sum
}

// lessonVotes is what each lesson says about a point.
func (m *model) lessonVotes(x []float64) []float64 {
	return each.Of(m.lessons, func(l *lesson) float64 { return vote(l.list, x) })
}

// taughtDensity draws one of the lessons' densities of good trials, by their weights.
func (m *model) taughtDensity(rng *rand.Rand) *density {
	u := rng.Float64() * m.taught()
	var last *lesson
	for _, l := range m.lessons {
		if l.weight == 0 {
			continue
		}
		last = l
		if u -= l.weight; u < 0 {
			break
		}
	}
	return oneOf(last.list, rng).good
}

// top returns hyperparameters with the values of the next of the best earlier trials; nil if no trial can have them.
func (m *model) top(rng *rand.Rand) map[string]any {
	fixed := m.tops[0]
	m.tops = m.tops[1:]
	values := m.draw(rng, fixed, nil)
	if m.broken(values, fixed) {
		return nil
	}
	return m.assemble(values)
}
