package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/formula"
)

// A domain is a space with what its trials respect besides the ranges: conditions, which decide
// whether a trial has a hyperparameter, and constraints between hyperparameters.
//
// A hyperparameter is inactive in a trial if its condition is false, or one that it depends on is inactive.
// Then the trial does not have it. A constraint that names an inactive hyperparameter does not count.
//
// Constraints are fulfilled by drawing again. Constraints that share no hyperparameters are
// independent, so each part of the domain with its constraints is drawn again for itself.
type domain struct {
	space   expconf.Hyperparameters
	axes    []axis
	needs   [][]need // of each axis
	order   []int    // all axes, each behind those that its conditions name; nil if none has conditions
	parts   []part
	starts  []map[int]any // values of axes with which the first trials begin
	spare   [][]any       // of each start: valid values of the axes of parts, in case that drawing fails
	scratch []any         // of each axis
}

// A need is a condition: the axis has a value that it allows.
type need struct {
	axis int
	expconf.Condition
}

// A part has constraints that share axes, with all axes that these depend on.
type part struct {
	axes        []int // in the order of domain.order
	constraints []constraint
	valid       []any   // one valid value of each of axes, in case that drawing fails
	draws       int     // at most
	work        float64 // values that are drawn for one valid draw, estimated
}

type constraint struct {
	*formula.Formula
	index  int   // in the configuration
	axes   []int // of its names
	values []float64
}

// absent is the value of an inactive hyperparameter.
type absent struct{}

const (
	// A part of the domain is drawn again at most maxDraws times. With minValid valid ones among as many at
	// submission, a search almost never fails to draw a valid one.
	maxDraws = 20_000
	minValid = 10
	maxDrawn = 4_000_000 // values: a part with very many axes is drawn less often
	// maxWork is how many values may be drawn for all trials of a search: the leader draws them in its loop, and again when it begins to lead.
	maxWork = 400_000_000
)

// newDomain reads the space of a configuration. The error has the place of a constraint that
// (almost) no draw fulfils.
func newDomain(cfg expconf.Config) (*domain, error) {
	d := &domain{space: cfg.Hyperparameters, axes: axesOf(cfg.Hyperparameters)}
	index := map[string]int{}
	for i, a := range d.axes {
		index[a.name()] = i
	}
	for _, point := range cfg.Starts() {
		d.starts = append(d.starts, d.fixed(point, index))
	}
	if !cfg.Restricted() {
		return d, nil
	}
	d.needs, d.scratch = make([][]need, len(d.axes)), make([]any, len(d.axes))
	for i, a := range d.axes {
		for _, c := range a.When {
			if at, known := index[c.Name]; known {
				d.needs[i] = append(d.needs[i], need{at, c})
			}
		}
	}
	seen := make([]bool, len(d.axes))
	for i := range d.axes {
		d.order = d.behind(i, seen, d.order)
	}
	d.divide(cfg.Searcher.Constraints, index)
	if cfg.Searcher.Name == expconf.Grid {
		return d, nil // its points are counted
	}
	for i := range d.parts {
		if err := d.probe(cfg, i); err != nil {
			return nil, err
		}
	}
	return d, d.probeStarts(cfg)
}

// fixed returns the values of a starting point by their axes.
func (d *domain) fixed(point map[string]any, index map[string]int) map[int]any {
	out := map[int]any{}
	for name, v := range point {
		if i, known := index[name]; known {
			if value, can := d.axes[i].Value(v); can {
				out[i] = value
			}
		}
	}
	return out
}

// probeStarts draws what each starting point lacks, to find out whether it can be valid.
func (d *domain) probeStarts(cfg expconf.Config) error {
	for at, fixed := range d.starts {
		values := make([]any, len(d.axes))
		for i, v := range fixed {
			values[i] = v
		}
		for i := range d.parts {
			p, rng, tries := &d.parts[i], rngOf(int64(at), i), d.parts[i].draws
			if !slices.ContainsFunc(p.axes, func(i int) bool { _, stays := fixed[i]; return !stays }) {
				tries = 1
			}
			for d.redraw(p, values, rng, fixed); !d.fulfils(p, values); d.redraw(p, values, rng, fixed) {
				if tries--; tries > 0 {
					continue
				}
				return cfg.Problem(document.Index("searcher.start_with", at), "does not fulfil "+strings.Join(each.Of(p.constraints, where), ", ")+
					", or (almost) no values of the other hyperparameters do", "change the starting point or the constraint")
			}
		}
		d.spare = append(d.spare, values)
	}
	return nil
}

// where is the place of a constraint in the configuration.
func where(c constraint) string { return document.Index("searcher.constraints", c.index) }

func (a axis) name() string { return strings.Join(a.names, ".") }

// behind appends an axis to the list, behind all that it depends on.
func (d *domain) behind(i int, seen []bool, list []int) []int {
	if seen[i] {
		return list
	}
	seen[i] = true
	for _, n := range d.needs[i] {
		list = d.behind(n.axis, seen, list)
	}
	return append(list, i)
}

// divide makes the parts.
func (d *domain) divide(constraints []expconf.Constraint, index map[string]int) {
	of := make([]int, len(d.axes)) // the part of each axis; -1: none
	for i := range of {
		of[i] = -1
	}
	for at, c := range constraints {
		x := constraint{Formula: c.Formula, index: at, values: make([]float64, len(c.Names()))}
		seen := make([]bool, len(d.axes))
		var all []int
		for _, name := range c.Names() {
			x.axes = append(x.axes, index[name])
			all = d.behind(index[name], seen, all)
		}
		next := part{constraints: []constraint{x}, axes: all}
		for _, i := range all {
			if old := of[i]; old >= 0 && len(d.parts[old].constraints) > 0 {
				next.constraints = append(next.constraints, d.parts[old].constraints...)
				next.axes = append(next.axes, d.parts[old].axes...)
				d.parts[old] = part{}
			}
		}
		for _, i := range next.axes {
			of[i] = len(d.parts)
		}
		d.parts = append(d.parts, next)
	}
	for p := range d.parts {
		d.parts[p].axes = slices.DeleteFunc(slices.Clone(d.order), func(i int) bool { return of[i] != p })
	}
	d.parts = slices.DeleteFunc(d.parts, func(p part) bool { return len(p.constraints) == 0 })
	for i := range d.parts {
		d.parts[i].draws = max(100*minValid, min(maxDraws, maxDrawn/len(d.parts[i].axes)))
	}
}

// probe draws from a part, to find out whether enough draws are valid.
func (d *domain) probe(cfg expconf.Config, at int) error {
	p := &d.parts[at]
	rng := rngOf(int64(at), 0)
	values := make([]any, len(d.axes))
	valid := 0
	for n := range p.draws {
		d.redraw(p, values, rng, nil)
		if !d.fulfils(p, values) {
			continue
		}
		if valid == 0 {
			p.valid = each.Of(p.axes, func(i int) any { return values[i] })
		}
		if valid++; valid == minValid {
			p.work = float64(n+1) / minValid * float64(len(p.axes))
			return nil
		}
	}
	slices.SortFunc(p.constraints, func(a, b constraint) int { return a.index - b.index })
	others := strings.Join(each.Of(p.constraints[1:], where), ", ")
	if others != "" {
		others = ", with " + others + ","
	}
	some := "none"
	if valid > 0 {
		some = fmt.Sprintf("only %d", valid)
	}
	return cfg.Problem(where(p.constraints[0]), fmt.Sprintf("too few combinations of %s fulfil it%s: %s of %d that were drawn", strings.Join(p.constraints[0].Names(), ", "), others, some, p.draws),
		"change the constraint, or the ranges of these hyperparameters; for values that must be equal, use one hyperparameter")
}

// redraw draws the axes of a part again, but not those whose values are fixed.
func (d *domain) redraw(p *part, values []any, rng *rand.Rand, fixed map[int]any) {
	for _, i := range p.axes {
		if _, stays := fixed[i]; !stays {
			values[i] = draw(d.axes[i].Hyperparameter, rng)
		}
	}
}

// restricted reports whether trials respect more than ranges.
func (d *domain) restricted() bool { return d.order != nil }

// sample draws one value for each active hyperparameter.
func (d *domain) sample(rng *rand.Rand) map[string]any {
	if !d.restricted() {
		return sample(d.space, rng)
	}
	return d.assemble(d.draw(rng, nil, nil))
}

// start draws what a starting point lacks.
func (d *domain) start(n int, rng *rand.Rand) map[string]any {
	var spare []any
	if d.spare != nil {
		spare = d.spare[n]
	}
	return d.assemble(d.draw(rng, d.starts[n], spare))
}

// draw returns a value of each axis; those that are fixed stay, if drawing does not fail or spare has
// valid values.
func (d *domain) draw(rng *rand.Rand, fixed map[int]any, spare []any) []any {
	values := each.Of(d.axes, func(a axis) any { return draw(a.Hyperparameter, rng) })
	for i, v := range fixed {
		values[i] = v
	}
	for i := range d.parts {
		p := &d.parts[i]
		for tries := 0; !d.fulfils(p, values); tries++ {
			if tries == p.draws {
				for at, v := range p.valid {
					if values[p.axes[at]] = v; spare != nil {
						values[p.axes[at]] = spare[p.axes[at]]
					}
				}
				break
			}
			d.redraw(p, values, rng, fixed)
		}
	}
	d.settle(d.order, values)
	return values
}

// settle marks inactive axes.
func (d *domain) settle(order []int, values []any) {
	for _, i := range order {
		for _, n := range d.needs[i] {
			if !n.Allows(values[n.axis]) {
				values[i] = absent{}
				break
			}
		}
	}
}

// fulfils reports whether the values fulfil the constraints of a part.
func (d *domain) fulfils(p *part, values []any) bool {
	for _, i := range p.axes {
		d.scratch[i] = values[i]
	}
	d.settle(p.axes, d.scratch)
	return !slices.ContainsFunc(p.constraints, func(c constraint) bool { return !c.holds(d.scratch) })
}

func (c constraint) holds(values []any) bool {
	for n, i := range c.axes {
		v, isNumber := expconf.Number(values[i])
		if !isNumber { // it is inactive
			return true
		}
		c.values[n] = v
	}
	return c.Holds(c.values)
}

// valid settles the values, and reports whether they fulfil all constraints.
func (d *domain) valid(values []any) bool {
	if !d.restricted() {
		return true
	}
	d.settle(d.order, values)
	return !slices.ContainsFunc(d.parts, func(p part) bool { return !d.fulfils(&p, values) })
}

// assemble makes hyperparameters from one value for each axis. It includes empty groups,
// because the training code may read them.
func (d *domain) assemble(values []any) map[string]any {
	out := skeleton(d.space)
	for i, a := range d.axes {
		if values[i] != (absent{}) {
			a.set(out, values[i])
		}
	}
	return out
}

// read returns the value of each axis in hyperparameters of a trial.
func (d *domain) read(hparams map[string]any) []any {
	return each.Of(d.axes, func(a axis) any { return a.get(hparams) })
}

// Check reports what prevents the search of a configuration, with its place in the user's
// document: what expconf checks, and whether its constraints leave enough of the space.
func Check(cfg expconf.Config) error {
	if err := cfg.ValidateSearch(); err != nil {
		return err
	}
	d, err := newDomain(cfg)
	switch {
	case err != nil:
		return err
	case cfg.Searcher.Name == expconf.Grid:
		_, err = pointsOf(cfg, d)
		return err
	}
	return d.checkWork(cfg)
}

// checkWork limits how much all trials are drawn again.
func (d *domain) checkWork(cfg expconf.Config) error {
	trials, work := max(1, cfg.Searcher.MaxTrials, cfg.Searcher.PopulationSize), 0.0
	for _, p := range d.parts {
		work += p.work
	}
	if work *= float64(trials); work <= maxWork {
		return nil
	}
	return cfg.Problem("searcher.constraints", fmt.Sprintf("few combinations fulfil them: for %d trials the search would draw about %.0f million values; at most %d million are allowed", trials, work/1e6, maxWork/1_000_000),
		"plan fewer trials, change the constraints, or change the ranges so that more combinations fulfil them")
}
