package search

import (
	"encoding/json"
	"math"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// density is a sum of bumps, one over each observation and one, very wide, over
// the whole space, so that no place is impossible. A bump is a product over the
// axes: a normal distribution, cut off at the ends, or for a categorical axis a
// share of certainty on its value.
type density struct {
	choices []int // values of a categorical axis; 0 for a numeric one
	width   []float64
	sharp   []float64 // 1 over the width
	bumps   []bump
}

type bump struct {
	at    []float64
	wide  bool
	scale float64 // of the product over the axes
}

// density is laid over observations. Bumps are narrower the more there are.
func (m *model) density(list []*observed) *density {
	d := &density{}
	n, dims := float64(len(list)), float64(len(m.free))
	everywhere := bump{wide: true, scale: 1}
	for i, f := range m.free {
		a := m.axes[f]
		everywhere.at = append(everywhere.at, 0.5)
		if a.Type == expconf.Categorical {
			d.choices = append(d.choices, len(a.Vals))
			// The share that goes to the other values shrinks with what is known.
			d.width = append(d.width, 1/(1+n/float64(len(a.Vals))))
			d.sharp = append(d.sharp, 0)
			everywhere.scale /= float64(len(a.Vals))
			continue
		}
		d.choices = append(d.choices, 0)
		narrow := 0.02
		if a.Type == expconf.Int { // no narrower than a step
			narrow = max(narrow, 0.4/(a.Maxval-a.Minval+1))
		}
		w := max(narrow, spread(list, i)*math.Pow(max(n, 1), -1/(dims+4)))
		d.width, d.sharp = append(d.width, w), append(d.sharp, 1/w)
	}
	d.bumps = append(d.bumps, everywhere)
	for _, o := range list {
		b := bump{at: o.unit, scale: 1}
		for i, at := range o.unit {
			if w := d.width[i]; d.choices[i] == 0 {
				b.scale /= w * math.Sqrt(2*math.Pi) * (normal((1-at)/w) - normal(-at/w))
			}
		}
		d.bumps = append(d.bumps, b)
	}
	return d
}

// minSpread is that of observations which lie close together: by chance, as the
// few good ones that there are at first, whose surroundings would otherwise never
// be left again.
const minSpread = 0.35

// spread is the standard deviation along an axis, and not too small.
func spread(list []*observed, i int) float64 {
	sum, squares := 0.0, 0.0
	for _, o := range list {
		sum += o.unit[i]
		squares += o.unit[i] * o.unit[i]
	}
	n := max(float64(len(list)), 1)
	return max(minSpread, math.Sqrt(max(0, squares/n-sum/n*sum/n)))
}

func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// log is the density's logarithm, up to a constant that all densities of a space
// share.
func (d *density) log(x []float64) float64 {
	sum := 0.0
	for i := range d.bumps {
		sum += d.bumps[i].under(d, x)
	}
	return math.Log(sum/float64(len(d.bumps)) + 1e-300)
}

func (b *bump) under(d *density, x []float64) float64 {
	if b.wide {
		return b.scale
	}
	p, far := b.scale, 0.0
	for i, v := range x {
		n := d.choices[i]
		switch {
		case n == 0:
			z := (v - b.at[i]) * d.sharp[i]
			far += z * z
		case v == b.at[i]:
			p *= 1 - d.width[i] + d.width[i]/float64(n)
		default:
			p *= d.width[i] / float64(n)
		}
	}
	return p * math.Exp(-far/2)
}

// draw takes a place from under a bump.
func (d *density) draw(rng *rand.Rand) []float64 {
	b := d.bumps[rng.IntN(len(d.bumps))]
	x := make([]float64, len(b.at))
	for i := range x {
		n := d.choices[i]
		switch {
		case n > 0 && (b.wide || rng.Float64() < d.width[i]):
			x[i] = float64(rng.IntN(n))
		case n > 0:
			x[i] = b.at[i]
		case b.wide:
			x[i] = rng.Float64()
		default:
			x[i] = within(rng, b.at[i], d.width[i])
		}
	}
	return x
}

// within draws from a normal distribution until it is between 0 and 1. The middle
// of the bump is there, so that is soon; the bound is for what rounding may do.
func within(rng *rand.Rand, at, width float64) float64 {
	for range 64 {
		if v := at + width*rng.NormFloat64(); v >= 0 && v < 1 {
			return v
		}
	}
	return at
}

// text is a value in the one form that equal values share.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
