package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
)

// sample draws one value for each hyperparameter, in the order of their names,
// nested groups included, so that the same seed gives the same values.
func sample(space expconf.Hyperparameters, rng *rand.Rand) map[string]any {
	return each.Map(space.Names(), func(name string) (string, any) { return name, draw(space[name], rng) })
}

func draw(p expconf.Hyperparameter, rng *rand.Rand) any {
	if p.Even || p.Step > 0 {
		return axis{Hyperparameter: p}.value(rng.Float64())
	}
	switch p.Type {
	case expconf.Group:
		return sample(p.Members, rng)
	case expconf.Int:
		lo, hi := int64(p.Minval), int64(p.Maxval)
		return lo + rng.Int64N(hi-lo+1)
	case expconf.Double:
		return p.Minval + rng.Float64()*(p.Maxval-p.Minval)
	case expconf.Log:
		return math.Pow(p.Base, p.Minval+rng.Float64()*(p.Maxval-p.Minval))
	case expconf.Categorical:
		return p.Vals[rng.IntN(len(p.Vals))]
	}
	return p.Val
}

// An axis is one hyperparameter that is not a group.
type axis struct {
	names []string // of the groups around it and its own, the outermost first
	expconf.Hyperparameter
}

// axesOf lists the hyperparameters in the order of their names, with those in groups.
func axesOf(space expconf.Hyperparameters) []axis {
	var list []axis
	space.Walk(func(names []string, p expconf.Hyperparameter) { list = append(list, axis{names, p}) })
	return list
}

// set writes the axis's value into hparams, and creates the groups around it.
func (a axis) set(hparams map[string]any, value any) {
	for _, name := range a.names[:len(a.names)-1] {
		group, ok := hparams[name].(map[string]any)
		if !ok {
			group = map[string]any{}
			hparams[name] = group
		}
		hparams = group
	}
	hparams[a.names[len(a.names)-1]] = value
}

// get reads the axis's value; absent if the hyperparameters lack it.
func (a axis) get(hparams map[string]any) any {
	for _, name := range a.names[:len(a.names)-1] {
		group, ok := hparams[name].(map[string]any)
		if !ok {
			return absent{}
		}
		hparams = group
	}
	value, ok := hparams[a.names[len(a.names)-1]]
	if !ok {
		return absent{}
	}
	return value
}

func skeleton(space expconf.Hyperparameters) map[string]any {
	out := make(map[string]any, len(space))
	for name, p := range space {
		if p.Type == expconf.Group {
			out[name] = skeleton(p.Members)
		}
	}
	return out
}

// grid lists the values of an axis in a grid: `count` evenly spaced values from minval to
// maxval (of type log, and with log: evenly spaced exponents), or the middle if count is 1. An axis
// with steps has all of them if it has no count.
func (a axis) grid() []any {
	count, steps := optional.Or(a.Count, 1), a.Steps()
	if a.Count == nil && a.Step > 0 {
		count = int(min(steps, expconf.MaxTrials+1))
	} else if steps > 0 {
		count = int(min(float64(count), steps))
	}
	at := func(i int) float64 {
		if count == 1 {
			return a.Minval + (a.Maxval-a.Minval)/2
		}
		return a.Minval + (a.Maxval-a.Minval)*float64(i)/float64(count-1)
	}
	var list []any
	switch a.Type {
	case expconf.Int, expconf.Double:
		for i := range count {
			switch part := (at(i) - a.Minval) / max(a.Maxval-a.Minval, math.SmallestNonzeroFloat64); {
			case a.Even:
				list = append(list, a.nearest(a.Minval*math.Pow(a.Maxval/a.Minval, part)))
			case a.Step > 0:
				list = append(list, a.At(math.Round(part*(steps-1))))
			case a.Type == expconf.Int:
				list = append(list, int64(math.Round(at(i))))
			default:
				list = append(list, at(i))
			}
		}
		return slices.Compact(list)
	case expconf.Log:
		for i := range count {
			list = append(list, math.Pow(a.Base, at(i)))
		}
	case expconf.Categorical:
		return a.Vals
	default:
		return []any{a.Val}
	}
	return list
}
