package search

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
)

// grid creates a trial for every point of a grid, at most `workers` at once. The last
// hyperparameter in the order of names changes fastest. A point with invalid
// hyperparameters is not replaced, because the grid has no other point for it.
type grid struct {
	points  *points
	workers int // trials that run at once
}

// points computes the points of a grid from their numbers.
type points struct {
	*domain
	values [][]any // of each axis
	// Of a restricted domain: the axes that differ between points, and for each point the index of the value on each of them; 0 if it is inactive.
	free   []int
	closes [][]*part // for each number of axes of free: the parts that have no further axis
	codes  []uint32
	points int
	visits int
	most   int // trials
}

const (
	maxVisits = 5_000_000 // values that are looked at to find the points of a restricted grid
	maxCodes  = 4_000_000 // values of all its points
)

func pointsOf(cfg expconf.Config, d *domain) (*points, error) {
	const advice = "lower some counts, or use the random searcher"
	p, values := &points{domain: d, most: cfg.Searcher.MostTrials()}, 0
	for _, a := range d.axes {
		list := a.grid()
		// Nobody has counted the points of a restricted grid yet, whose axes may have a million values each.
		if values += len(list); d.restricted() && values > maxVisits {
			return nil, cfg.Problem("hyperparameters", "the grid is too large to look at each of its points", advice)
		}
		p.values = append(p.values, list)
	}
	if !d.restricted() {
		return p, nil
	}
	for _, i := range d.order {
		if len(p.values[i]) > 1 || len(d.needs[i]) > 0 {
			p.free = append(p.free, i)
		}
	}
	first := each.Of(p.values, func(list []any) any { return list[0] })
	p.closes = make([][]*part, len(p.free)+1)
	for i := range p.parts {
		last := 0
		for at, axis := range p.free {
			if slices.Contains(p.parts[i].axes, axis) {
				last = at + 1
			}
		}
		p.closes[last] = append(p.closes[last], &p.parts[i])
	}
	switch enough := p.collect(0, first, make([]uint32, len(p.free))); {
	case p.points > p.most:
		return nil, cfg.Problem("hyperparameters", fmt.Sprintf("the grid has more than %d points, each of them a trial", p.most), advice)
	case !enough:
		return nil, cfg.Problem("hyperparameters", "the grid is too large to look at each of its points", advice)
	case p.points == 0:
		return nil, cfg.Problem("searcher.constraints", "no point of the grid fulfils the constraints", "change the constraints, or the counts and ranges of the hyperparameters")
	}
	return p, nil
}

// collect lists the points that begin with these values of the first axes of free. It returns
// false if there are too many.
func (p *points) collect(at int, values []any, code []uint32) bool {
	if slices.ContainsFunc(p.closes[at], func(x *part) bool { return !p.fulfils(x, values) }) {
		return true
	}
	if at == len(p.free) {
		p.points++
		p.codes = append(p.codes, code...)
		return p.points <= p.most && len(p.codes) <= maxCodes
	}
	axis := p.free[at]
	list := p.values[axis]
	if slices.ContainsFunc(p.needs[axis], func(n need) bool { return !n.Allows(values[n.axis]) }) {
		list = []any{absent{}}
	}
	for i, v := range list {
		if p.visits++; p.visits > maxVisits {
			return false
		}
		values[axis], code[at] = v, uint32(i)
		if !p.collect(at+1, values, code) {
			return false
		}
	}
	return true
}

func (p *points) len() int {
	if p.restricted() {
		return p.points
	}
	n := 1
	for _, list := range p.values {
		n *= len(list)
	}
	return n
}

func (p *points) hparams(n int) map[string]any {
	values := each.Of(p.values, func(list []any) any { return list[0] })
	if p.restricted() {
		for at, axis := range p.free {
			values[axis] = p.values[axis][p.codes[n*len(p.free)+at]]
		}
		p.settle(p.order, values)
		return p.assemble(values)
	}
	for i := len(p.axes) - 1; i >= 0; i-- {
		list := p.values[i]
		values[i] = list[n%len(list)]
		n /= len(list)
	}
	return p.assemble(values)
}

func (m *grid) Start(r *TrialSet) {
	m.Fill(r)
}

func (m *grid) add(r *TrialSet) {
	if len(r.trials) < m.points.len() && r.ready(0) {
		r.AddWith(m.points)
	}
}

func (m *grid) Validated(*TrialSet, int, Result) {}

func (m *grid) Exited(r *TrialSet, trial int, _ string) {
	if !r.resumeNext(trial) {
		m.add(r)
	}
}

func (m *grid) Continue(r *TrialSet, _ bool) { r.reopenFailed(m.workers) }

func (m *grid) Planned(*TrialSet) int { return m.points.len() }
