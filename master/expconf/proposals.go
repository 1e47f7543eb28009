package expconf

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/document"
)

// ByProgram reports whether a program of the user proposes the hyperparameters of the trials.
func (s Searcher) ByProgram() bool {
	switch s.Name {
	case Random, AsyncHalving, AdaptiveASHA:
		return s.Sampler == Program
	}
	return false
}

// Points reads the hyperparameters that a program proposes for trials. It has the values of
// categories by what they are: a category may have thousands of long lists, and a program may
// propose thousands of trials at once.
type Points struct {
	all  map[string]Hyperparameter
	vals map[string]map[any]int // of categories and constants
}

// Points returns the reader of a space.
func (h Hyperparameters) Points() *Points {
	p := &Points{all: h.byName(), vals: map[string]map[any]int{}}
	for name, of := range p.all {
		list := of.Vals
		switch of.Type {
		case Const:
			list = []any{of.Val}
		case Categorical:
		default:
			continue
		}
		index := make(map[any]int, len(list))
		for i, v := range list {
			if _, known := index[identity(v)]; !known {
				index[identity(v)] = i
			}
		}
		p.vals[name] = index
	}
	return p
}

// identity is the same for values that are equal, and fits into a map.
func identity(v any) any {
	if x := scalar(v); x != (other{}) {
		return x
	}
	return sha256.Sum256([]byte(encoded(v)))
}

// Read returns the values of a point by the names of their hyperparameters, with dots between
// groups, and what is wrong with it: unknown names, names that have two values, and values that
// the space does not have. The path of a problem is the hyperparameter's name.
func (p *Points) Read(point map[string]any) (values map[string]any, problems []document.Problem) {
	k := &checker{}
	given, twice := flat(point, p.all)
	for _, name := range twice {
		k.fail(name, "has two values", "write it with dots or as a group, not both")
	}
	values = make(map[string]any, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		of, known := k.known(p.all, name, name)
		if !known {
			continue
		}
		v, can := p.value(name, of, given[name])
		if !can {
			k.fail(name, fmt.Sprintf("is never %s", valueText(given[name])), of.Choices())
			continue
		}
		values[name] = v
	}
	return values, k.problems
}

func (p *Points) value(name string, of Hyperparameter, v any) (any, bool) {
	index, listed := p.vals[name]
	if !listed {
		return of.Value(v)
	}
	i, known := index[identity(v)]
	switch {
	case !known:
		return nil, false
	case of.Type == Const:
		return of.Val, true
	}
	return of.Vals[i], true
}
