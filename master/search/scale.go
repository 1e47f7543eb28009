package search

import (
	"math"

	"github.com/detent-ml/detent/master/expconf"
)

// nominal reports whether the axis has categories without an order.
func (a axis) nominal() bool { return a.Type == expconf.Categorical && !a.Ordered }

// steps is how many values the axis has; 0 if it is continuous.
func (a axis) steps() float64 {
	switch a.Type {
	case expconf.Categorical:
		return float64(len(a.Vals))
	case expconf.Const:
		return 1
	}
	return a.Steps()
}

// varies reports whether the axis has more than one value.
func (a axis) varies() bool {
	n := a.steps()
	return n > 1 || n == 0 && a.Maxval > a.Minval
}

// ends are the logarithms at the ends of an axis with log: true. Where it has steps, each value
// stands for the numbers up to the next one, so that the first and the last are as likely as others.
func (a axis) ends() (low, high float64) {
	top := a.Maxval
	if n := a.Steps(); n > 0 {
		top = a.Minval + n*a.step()
	}
	return math.Log(a.Minval), math.Log(top)
}

// step is the distance between two values of an axis with steps.
func (a axis) step() float64 {
	if a.Step > 0 {
		return a.Step
	}
	return 1
}

// nearest returns the value of the axis that is nearest to a number.
func (a axis) nearest(v float64) any {
	v = min(max(v, a.Minval), a.Maxval)
	if n := a.Steps(); n > 0 {
		return a.At(min(math.Round((v-a.Minval)/a.step()), n-1))
	}
	return v
}

// unit returns a value's position on an axis that is not nominal, from 0 to 1. index is that of a
// category.
func (a axis) unit(value any, index int) float64 {
	v, ok := expconf.Number(value)
	switch {
	case a.Type == expconf.Categorical:
		return (float64(index) + 0.5) / float64(len(a.Vals))
	case a.Even:
		low, high := a.ends()
		if a.Steps() > 0 {
			v += a.step() / 2
		}
		return min(max((math.Log(v)-low)/(high-low), 0), 1)
	case a.Step > 0:
		return min(max((math.Round((v-a.Minval)/a.Step)+0.5)/a.Steps(), 0), 1)
	case a.Type == expconf.Int:
		return (v - a.Minval + 0.5) / (a.Maxval - a.Minval + 1)
	case a.Type == expconf.Log:
		v = math.Log(v) / math.Log(a.Base)
	}
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0.5
	}
	return min(max((v-a.Minval)/(a.Maxval-a.Minval), 0), 1)
}

// value is the inverse of unit, and of choices.index on a nominal axis.
func (a axis) value(unit float64) any {
	switch n := a.Steps(); {
	case a.nominal():
		return a.Vals[int(unit)]
	case a.Type == expconf.Categorical:
		n = float64(len(a.Vals))
		return a.Vals[int(min(math.Floor(unit*n), n-1))]
	case a.Even:
		low, high := a.ends()
		v := math.Exp(low + unit*(high-low))
		if n == 0 {
			return min(max(v, a.Minval), a.Maxval)
		}
		return a.At(min(max(math.Floor((v-a.Minval)/a.step()), 0), n-1))
	case a.Step > 0:
		return a.At(min(math.Floor(unit*n), n-1))
	case a.Type == expconf.Int:
		return int64(a.Minval + min(math.Floor(unit*n), n-1))
	case a.Type == expconf.Log:
		return math.Pow(a.Base, a.Minval+unit*(a.Maxval-a.Minval))
	}
	return a.Minval + unit*(a.Maxval-a.Minval)
}
