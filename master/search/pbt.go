package search

import (
	"math"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// population is population based training. All trials train for a round and wait.
// When everybody waits, the worst end and the best are copied in their place: a
// copy starts from its original's checkpoint with hyperparameters that differ a
// little. Then everybody trains for the next round.
type population struct {
	size, rounds int
	length       int64
	truncate     float64
	resample     float64
	perturb      float64

	round   int
	invalid int
	members []*member
	of      map[int]*member
}

type member struct {
	trial  int
	target int64
	metric float64
	in     bool // its result of this round is there
	gone   bool // it has ended
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
	if x.in || v.At < float64(x.target) {
		return
	}
	x.metric, x.in = v.Metric, true
	if m.round == m.rounds-1 {
		r.Stop(trial)
	} else {
		r.Hold(trial)
	}
}

// Suspended: its checkpoint of this round is there.
func (m *population) Suspended(r *TrialSet, _ int) { m.turn(r) }

// Exited: who ended is the worst from then on, and is never copied.
func (m *population) Exited(r *TrialSet, trial int, reason string) {
	x := m.of[trial]
	if reason == lifecycle.ExitInvalidHP && m.round == 0 && r.replaceable(m.invalid, m.size) {
		m.invalid++
		m.members = slices.DeleteFunc(m.members, func(o *member) bool { return o == x })
		m.join(r, r.Add())
		return
	}
	x.gone = true
	m.turn(r)
}

// turn begins the next round when everybody is through this one.
func (m *population) turn(r *TrialSet) {
	for _, x := range m.members {
		if !x.gone && (!x.in || !r.trials[x.trial].suspended) {
			return
		}
	}
	if m.round++; m.round >= m.rounds {
		return
	}
	for _, x := range m.members {
		if x.gone {
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
	best, worst := slices.Clone(m.members[:n]), m.members[len(m.members)-n:]
	for _, x := range worst {
		if !x.gone {
			r.Stop(x.trial)
		}
	}
	m.members = m.members[:len(m.members)-n]
	for _, x := range m.members {
		if x.in = x.gone; !x.gone {
			x.target += m.length
			r.Release(x.trial, x.target)
		}
	}
	for _, x := range best {
		if !x.gone {
			m.copy(r, x.trial)
		}
	}
}

// copy makes a trial from the checkpoint of another.
func (m *population) copy(r *TrialSet, original int) {
	n := len(r.trials)
	rng := r.rng(n)
	hparams, before := make(map[string]any, len(r.space)), r.hparams(original)
	for _, name := range r.space.Names() {
		p := r.space[name]
		if rng.Float64() < m.resample {
			hparams[name] = draw(p, rng)
		} else {
			hparams[name] = m.shift(p, before[name], rng.IntN(2) == 0)
		}
	}
	trial := r.AddWith(r.pack(hparams))
	r.trials[trial].from = &original
	m.join(r, trial)
}

// shift moves a value down or up by the perturb factor. What is no number stays,
// and so do groups.
func (m *population) shift(p expconf.Hyperparameter, value any, down bool) any {
	v, ok := number(value)
	factor := 1 + m.perturb
	if down {
		factor = 1 - m.perturb
	}
	switch {
	case !ok:
		return value
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
