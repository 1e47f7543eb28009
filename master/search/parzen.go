package search

import (
	"math"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/search/choices"
)

// density is a kernel density estimate over the hyperparameters that vary: the mean of one
// kernel for each observation, and of one uniform kernel (the prior), which keeps the
// density positive prior. A kernel is a product over the axes. On a numeric axis it
// is a normal distribution around the observed value, truncated to [0, 1]; on a
// categorical axis the observed value has a larger probability than the others.
type density struct {
	choices  []int     // of each axis: the number of values if categorical, 0 if numeric
	width    []float64 // of each axis: standard deviation, or the probability of drawing any category
	invWidth []float64 // 1/width of numeric axes
	kernels  []kernel
	partial  []bool // whether trials can lack the axis; nil if all trials have all axes
}

type kernel struct {
	center  []float64 // a position on each axis, as in observed.unit
	uniform bool      // the prior: center is not used
	scale   float64   // the constant factor of the product over the axes that all trials have
	scales  []float64 // of each other axis; nil if there are none
}

// density estimates the density of these observations. The more observations, the
// narrower the kernels (Scott's rule).
func (m *model) density(list []*observed) *density {
	d := &density{}
	dims := float64(m.widest)
	d.partial = m.partial()
	prior := kernel{uniform: true, scale: 1}
	for i, f := range m.free {
		a, n := m.axes[f], float64(count(list, i))
		prior.center = append(prior.center, 0.5)
		if a.nominal() {
			d.choices = append(d.choices, len(a.Vals))
			// The more observations, the smaller the probability of the other values.
			d.width = append(d.width, 1/(1+n/float64(len(a.Vals))))
			d.invWidth = append(d.invWidth, 0)
			if d.partial == nil || !d.partial[i] {
				prior.scale /= float64(len(a.Vals))
			}
			continue
		}
		d.choices = append(d.choices, 0)
		minWidth := 0.02
		if steps := a.steps(); steps > 0 { // no narrower than a step
			minWidth = max(minWidth, 0.4/steps)
		}
		w := max(minWidth, spread(list, i)*math.Pow(max(n, 1), -1/(dims+4)))
		d.width, d.invWidth = append(d.width, w), append(d.invWidth, 1/w)
	}
	d.kernels = append(d.kernels, prior)
	for _, o := range list {
		b := kernel{center: o.unit, scale: 1}
		if d.partial != nil {
			b.scales = make([]float64, len(o.unit))
		}
		for i, at := range o.unit {
			if w := d.width[i]; d.choices[i] == 0 {
				mass := w * math.Sqrt(2*math.Pi) * (normal((1-at)/w) - normal(-at/w))
				if d.partial != nil && d.partial[i] {
					b.scales[i] = 1 / mass
				} else {
					b.scale /= mass
				}
			}
		}
		d.kernels = append(d.kernels, b)
	}
	return d
}

// partial tells which free axes trials can lack; nil: none of them.
func (m *model) partial() []bool {
	if !m.restricted() && m.lacked == nil {
		return nil
	}
	out := make([]bool, len(m.free))
	for i, f := range m.free {
		out[i] = m.restricted() && len(m.needs[f]) > 0 || m.lacked != nil && m.lacked[i]
	}
	return out
}

// minSpread is the smallest spread that kernels are computed from. The first few good
// observations can lie close together by chance; with narrower kernels the sampler would
// never propose values far from them.
const minSpread = 0.35

// spread returns the standard deviation along axis i of the trials that have it, at least minSpread.
func spread(list []*observed, i int) float64 {
	sum, squares := 0.0, 0.0
	for _, o := range list {
		if at := o.unit[i]; !math.IsNaN(at) {
			sum += at
			squares += at * at
		}
	}
	n := max(float64(count(list, i)), 1)
	return max(minSpread, math.Sqrt(max(0, squares/n-sum/n*sum/n)))
}

// count is how many of the trials have axis i.
func count(list []*observed, i int) int {
	n := 0
	for _, o := range list {
		if !math.IsNaN(o.unit[i]) {
			n++
		}
	}
	return n
}

func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// log returns the logarithm of the density at x, up to a constant that is the same for
// all densities of a space.
func (d *density) log(x []float64) float64 {
	sum := 0.0
	for i := range d.kernels {
		sum += d.kernels[i].at(d, x)
	}
	return math.Log(sum/float64(len(d.kernels)) + 1e-300)
}

func (b *kernel) at(d *density, x []float64) float64 {
	if b.uniform && d.partial == nil {
		return b.scale
	}
	p, far := b.scale, 0.0
	for i, v := range x {
		n := d.choices[i]
		if d.partial != nil {
			switch known := !b.uniform && !math.IsNaN(b.center[i]); {
			case !d.partial[i] && b.uniform, math.IsNaN(v): // counted in scale; or x lacks it
				continue
			case d.partial[i] && !known: // the trial lacked it and says nothing about it
				p /= max(1, float64(n))
				continue
			case d.partial[i] && n == 0:
				p *= b.scales[i]
			}
		}
		switch {
		case n == 0:
			z := (v - b.center[i]) * d.invWidth[i]
			far += z * z
		case v == b.center[i]:
			p *= 1 - d.width[i] + d.width[i]/float64(n)
		default:
			p *= d.width[i] / float64(n)
		}
	}
	return p * math.Exp(-far/2)
}

// draw returns a random point with this density: it chooses a kernel and draws from it.
func (d *density) draw(rng *rand.Rand) []float64 {
	b := d.kernels[rng.IntN(len(d.kernels))]
	x := make([]float64, len(b.center))
	for i := range x {
		n := d.choices[i]
		switch {
		case d.partial != nil && math.IsNaN(b.center[i]):
			if x[i] = rng.Float64(); n > 0 {
				x[i] = math.Floor(x[i] * float64(n))
			}
		case n > 0 && (b.uniform || rng.Float64() < d.width[i]):
			x[i] = float64(rng.IntN(n))
		case n > 0:
			x[i] = b.center[i]
		case b.uniform:
			x[i] = rng.Float64()
		default:
			x[i] = within(rng, b.center[i], d.width[i])
		}
	}
	return x
}

// within draws from a normal distribution until the value is in [0, 1). The center lies
// there, so few draws are enough; the loop is bounded in case of rounding errors.
func within(rng *rand.Rand, at, width float64) float64 {
	for range 64 {
		if v := at + width*rng.NormFloat64(); v >= 0 && v < 1 {
			return v
		}
	}
	return at
}

// text is a value as JSON, which is the same text for equal values.
func text(v any) string { return choices.Text(v) }
