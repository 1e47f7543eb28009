package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A prior is what the user believes to be good: a value of some hyperparameters. The sampler draws
// some trials near it, as PriorBand (Mallik et al., "PriorBand: Practical Hyperparameter Optimization
// in the Age of Deep Learning", 2023), the first of them at the values themselves, and weighs what it
// has learned with it, as PiBO (Hvarfner et al., "PiBO: Augmenting Acquisition Functions with User
// Beliefs", 2022). Both fade with the number of trials, and sooner if trials near the prior are
// less often among the best than others, so that a wrong prior costs little.
type prior struct {
	center  map[int]any // the value of each axis that has a prior
	density *density
	soft    *density // with an even density beside it, so that no vote is without limit
	begun   bool     // a trial has been drawn from it

	near, others yield // trials that were drawn from the prior, and the others
}

const (
	priorWidth = 0.2 // of the normal distribution around a value, on an axis of length 1
	priorOther = 0.3 // probability that a nominal hyperparameter is drawn evenly
	priorFade  = 10  // trials after which a prior has half of its weight
	priorShare = 0.5 // of the first trials: these are drawn from it
	priorTop   = 4   // one in so many results counts as one of the best
	priorSharp = 8   // how strongly the share depends on the yields
	priorVote  = 0.5 // weight of the logarithm of the prior's density in what the sampler has learned
	maxNear    = 50  // draws until one fulfils the constraints
)

// believed returns the prior of the space; nil if no hyperparameter has one.
func (m *model) believed() *prior {
	p := &prior{center: map[int]any{}, density: &density{}}
	d := p.density
	k := kernel{}
	for _, f := range m.free {
		a := m.axes[f]
		choices, center, width, scale := 0, math.NaN(), priorWidth, 1.0
		if a.nominal() {
			choices, width = len(a.Vals), priorOther
		}
		if a.Prior != nil {
			if v, can := a.Value(a.Prior); can {
				p.center[f], center = v, m.place(f, v)
			}
		}
		if choices == 0 && !math.IsNaN(center) {
			scale = 1 / (width * math.Sqrt(2*math.Pi) * (normal((1-center)/width) - normal(-center/width)))
		}
		d.choices, d.width, d.invWidth, d.partial = append(d.choices, choices), append(d.width, width), append(d.invWidth, 1/width), append(d.partial, true)
		k.center, k.scales = append(k.center, center), append(k.scales, scale)
	}
	if len(p.center) == 0 {
		return nil
	}
	k.scale = 1
	soft := *d
	d.kernels, soft.kernels = []kernel{k}, []kernel{k, {center: k.center, uniform: true, scale: 1}}
	p.soft = &soft
	return p
}

// trust is from 0 to 1: how much the prior counts after so many trials. It is 0.5 times what has
// not faded while trials near the prior are as good as others.
func (p *prior) trust(trials int) float64 {
	near, others := p.near.rate(1.0/priorTop), p.others.rate(1.0/priorTop)
	return 1 / (1 + math.Pow(others/near, priorSharp)) * priorFade / (priorFade + float64(trials))
}

// share is the part of new trials that are drawn from the prior.
func (p *prior) share(trials int) float64 {
	if !p.begun {
		return 1
	}
	return 2 * priorShare * p.trust(trials)
}

// vote is what the prior adds to the vote for a point.
func (p *prior) vote(x []float64, trials int) float64 {
	return priorVote * p.trust(trials) * p.soft.log(x)
}

// learn records a result at this position among those of the same length.
func (p *prior) learn(o *observed, at, of int) {
	if of < priorTop {
		return
	}
	best := at < (of+priorTop-1)/priorTop
	if o.from == ofPrior {
		p.near.count(best)
	} else {
		p.others.count(best)
	}
}

// draw draws hyperparameters near the prior; the first ones are those of the prior itself.
func (p *prior) draw(m *model, rng *rand.Rand) map[string]any {
	if !p.begun {
		p.begun = true
		if values := m.draw(rng, p.center, nil); !m.broken(values, p.center) {
			return m.assemble(values)
		}
	}
	for range maxNear {
		if x := p.density.draw(rng); m.settled(x) {
			values := m.valuesAt(x)
			m.valid(values)
			return m.assemble(values)
		}
	}
	return m.sample(rng)
}

// broken reports whether values do not have those that are fixed, because these allow no valid draw.
func (m *model) broken(values []any, fixed map[int]any) bool {
	for i, v := range fixed {
		if values[i] != (absent{}) && text(values[i]) != text(v) {
			return true
		}
	}
	return slices.ContainsFunc(m.parts, func(p part) bool { return !m.fulfils(&p, values) })
}

// source is the density from which a candidate is drawn.
func (m *model) source(list []contrast, rng *rand.Rand) *density {
	if m.prior != nil && rng.Float64() < m.prior.trust(len(m.of)) {
		return m.prior.density
	}
	if w := m.taught(); len(list) == 0 || w > 0 && rng.Float64() < w {
		return m.taughtDensity(rng)
	}
	return oneOf(list, rng).good
}
