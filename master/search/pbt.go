package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// population is population based training (Jaderberg et al., "Population Based Training
// of Neural Networks", 2017; Determined's pbt). All trials train for one round and wait.
// When all wait, the worst trials end, and copies of the best replace them: a copy starts
// from its original's checkpoint, with slightly different hyperparameters. Then all
// trials train for the next round.
type population struct {
	size, rounds int     // population_size, num_rounds
	length       int64   // length_per_round, in the searcher's unit
	truncate     float64 // truncate_fraction: the part of the population that is replaced
	resample     float64 // resample_probability: that a hyperparameter of a copy is drawn again
	perturb      float64 // perturb_factor: how much a hyperparameter of a copy changes otherwise

	round   int // the current round, from 0
	invalid int // trials with invalid hyperparameters, which were replaced
	members []*member
	of      map[int]*member // trial → member
}

type member struct {
	trial    int
	target   int64   // the length at which its round ends
	metric   float64 // its result of the current round
	reported bool    // metric is set
	ended    bool
}

func newPopulation(c expconf.Searcher) *population {
	m := &population{size: c.PopulationSize, rounds: c.NumRounds, of: map[int]*member{}}
	if c.LengthPerRound != nil {
		m.length = c.LengthPerRound.Units
	}
	for target, value := range map[*float64]*float64{&m.truncate: c.Replace.TruncateFraction,
		&m.resample: c.Explore.ResampleProbability, &m.perturb: c.Explore.PerturbFactor} {
		if value != nil {
			*target = *value
		}
	}
	return m
}

func (m *population) Start(r *TrialSet) {
	for range m.size {
		m.join(r, r.Add())
	}
}

func (m *population) join(r *TrialSet, trial int) {
	x := &member{trial: trial, target: m.length}
	m.members = append(m.members, x)
	m.of[trial] = x
	r.Release(trial, x.target)
}

func (m *population) Validated(r *TrialSet, trial int, v Result) {
	x := m.of[trial]
	if x.reported || v.At < float64(x.target) {
		return
	}
	x.metric, x.reported = v.Metric, true
	if m.round == m.rounds-1 {
		r.Finish(trial)
	} else {
		r.Hold(trial)
	}
}

// Suspended is called when the checkpoint of this round exists.
func (m *population) Suspended(r *TrialSet, _ int) { m.nextRound(r) }

// Exited handles the end of a trial, which ranks last from then on and is never copied.
func (m *population) Exited(r *TrialSet, trial int, reason string) {
	x := m.of[trial]
	if reason == lifecycle.ExitInvalidHP && m.round == 0 && r.replaceable(m.invalid, m.size) {
		m.invalid++
		m.members = slices.DeleteFunc(m.members, func(o *member) bool { return o == x })
		m.join(r, r.Add())
		return
	}
	x.ended = true
	m.nextRound(r)
}

// nextRound begins the next round if all trials have finished this one.
func (m *population) nextRound(r *TrialSet) {
	for _, x := range m.members {
		if !x.ended && (!x.reported || !r.trials[x.trial].suspended) {
			return
		}
	}
	if m.round++; m.round >= m.rounds {
		return
	}
	for _, x := range m.members {
		if x.ended {
			x.metric = math.Inf(1)
		}
	}
	slices.SortStableFunc(m.members, func(a, b *member) int {
		switch {
		case a.metric < b.metric:
			return -1
		case a.metric > b.metric:
			return 1
		}
		return a.trial - b.trial
	})
	n := int(m.truncate * float64(len(m.members)))
	if k := m.affordable(r, n); k < len(m.members) {
		m.goOnWith(r, min(k, len(m.members)-n))
		return
	}
	best, worst := slices.Clone(m.members[:n]), m.members[len(m.members)-n:]
	for _, x := range worst {
		if !x.ended {
			r.Stop(x.trial)
		}
	}
	m.members = m.members[:len(m.members)-n]
	for _, x := range m.members {
		x.reported = x.ended
		if !x.ended {
			x.target += m.length
			r.Release(x.trial, x.target)
		}
	}
	for _, x := range best {
		if !x.ended {
			m.copy(r, x.trial)
		}
	}
}

// affordable is how many of the trials of the next round the rest of the budget suffices for: the members that go on, the best
// first, and then n copies.
func (m *population) affordable(r *TrialSet, n int) int {
	p := r.spending
	if p == nil {
		return len(m.members)
	}
	left := p.left()
	for i, x := range m.members {
		trial, to := x.trial, float64(x.target+m.length)
		if i >= len(m.members)-n {
			trial, to = -1, float64(m.length)
		} else if x.ended {
			continue
		}
		cost, _ := p.cost(trial, to, p.of(p.running))
		if cost > left || p.over {
			return i
		}
		if p.bySlots {
			left -= cost
		}
	}
	return len(m.members)
}

// goOnWith begins the next round with the best k members only, and ends the others.
func (m *population) goOnWith(r *TrialSet, k int) {
	for _, x := range m.members[k:] {
		if !x.ended {
			r.Stop(x.trial)
		}
	}
	m.members = m.members[:k]
	for _, x := range m.members {
		if x.reported = x.ended; !x.ended {
			x.target += m.length
			r.Release(x.trial, x.target)
		}
	}
	if k == 0 {
		m.round = m.rounds
	}
}

// copy creates a trial that starts from the original's checkpoint.
func (m *population) copy(r *TrialSet, original int) {
	n := len(r.trials)
	trial := r.AddWith(r.pack(m.explore(r.domain, r.hparams(original), r.rng(n))))
	r.trials[trial].from = &original
	m.join(r, trial)
}

// maxExplored is how many changed hyperparameters a copy tries that do not fulfil the constraints;
// then it keeps those of its original.
const maxExplored = 100

// explore changes hyperparameters. Those that become active are drawn.
func (m *population) explore(d *domain, before map[string]any, rng *rand.Rand) map[string]any {
	for range maxExplored {
		hparams := make(map[string]any, len(d.space))
		for _, name := range d.space.Names() {
			p := d.space[name]
			value, active := before[name]
			if rng.Float64() < m.resample || !active {
				hparams[name] = draw(p, rng)
			} else {
				hparams[name] = m.shift(p, value, rng.IntN(2) == 0)
			}
			// shift moves a negative int past its bound, and searches that began so must stay as they are.
			if v, ok := hparams[name].(int64); ok && p.Type == expconf.Int && d.restricted() {
				hparams[name] = min(max(v, int64(p.Minval)), int64(p.Maxval))
			}
		}
		if !d.restricted() {
			return hparams
		}
		values := d.read(hparams)
		for i, v := range values {
			if v == (absent{}) {
				values[i] = draw(d.axes[i].Hyperparameter, rng)
			}
		}
		if d.valid(values) {
			return d.assemble(values)
		}
	}
	return before
}

// shift decreases or increases a number by the perturb factor, within its bounds, and moves an ordered
// category to its neighbour. Values of other types, and groups, stay as they are.
func (m *population) shift(p expconf.Hyperparameter, value any, down bool) any {
	if p.Type == expconf.Categorical && p.Ordered {
		by := 1
		if down {
			by = -1
		}
		at := slices.IndexFunc(p.Vals, func(v any) bool { return text(v) == text(value) })
		return p.Vals[min(max(at+by, 0), len(p.Vals)-1)]
	}
	v, ok := expconf.Number(value)
	factor := 1 + m.perturb
	if down {
		factor = 1 - m.perturb
	}
	switch {
	case !ok:
		return value
	case p.Step > 0 && down:
		return axis{Hyperparameter: p}.nearest(min(v*factor, v-p.Step))
	case p.Step > 0:
		return axis{Hyperparameter: p}.nearest(max(v*factor, v+p.Step))
	case p.Type == expconf.Int && down:
		return int64(max(p.Minval, math.Floor(v*factor)))
	case p.Type == expconf.Int:
		return int64(min(p.Maxval, math.Ceil(v*factor)))
	case p.Type == expconf.Double:
		return min(max(v*factor, p.Minval), p.Maxval)
	case p.Type == expconf.Log:
		return min(max(v*factor, math.Pow(p.Base, p.Minval)), math.Pow(p.Base, p.Maxval))
	}
	return value
}

func (m *population) Planned(*TrialSet) int {
	return m.size + m.invalid + (m.rounds-1)*int(m.truncate*float64(m.size))
}
