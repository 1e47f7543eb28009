package expconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// Starts returns the points of searcher.start_with, each with its values by the names of the
// hyperparameters, with dots between groups.
func (c Config) Starts() []map[string]any {
	all := c.Hyperparameters.byName()
	var list []map[string]any
	for _, point := range c.Searcher.StartWith {
		values, _ := flat(point, all)
		list = append(list, values)
	}
	return list
}

// flat returns the values of a point by name, and the names that have more than one.
func flat(point map[string]any, all map[string]Hyperparameter) (values map[string]any, twice []string) {
	values = map[string]any{}
	flatten("", point, all, func(name string, v any) {
		if _, known := values[name]; known {
			twice = append(twice, name)
		}
		values[name] = v
	})
	return values, twice
}

// flatten reads groups, which a point writes as {net: {depth: 2}} or {net.depth: 2}.
// It has an order: of two values of one name, every master uses the same.
func flatten(prefix string, point map[string]any, all map[string]Hyperparameter, add func(name string, v any)) {
	for _, key := range slices.Sorted(maps.Keys(point)) {
		name, v := document.Join(prefix, key), point[key]
		group, isMap := v.(map[string]any)
		if _, known := all[name]; isMap && !known {
			flatten(name, group, all, add)
			continue
		}
		add(name, v)
	}
}

// Value returns a value of the hyperparameter as a trial has it, if the hyperparameter can have it.
func (p Hyperparameter) Value(v any) (any, bool) {
	switch p.Type {
	case Const:
		return p.Val, encoded(p.Val) == encoded(v) || Same(p.Val, v)
	case Categorical:
		same := func(x any) bool { return Same(x, v) }
		if scalar(v) == (other{}) {
			text := encoded(v)
			same = func(x any) bool { return scalar(x) == other{} && encoded(x) == text }
		}
		i := slices.IndexFunc(p.Vals, same)
		if i < 0 {
			return nil, false
		}
		return p.Vals[i], true
	}
	x, ok := Number(v)
	if !ok || !p.holds(x) {
		return nil, false
	}
	if p.Type == Int {
		return int64(x), true
	}
	return x + 0, true // -0 is 0, as in the database
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// checkStarts checks that each starting point has values of the space, which have an effect.
func (c Config) checkStarts(k *checker) {
	const at = "searcher.start_with"
	s := c.Searcher
	room, field := s.MaxTrials, "max_trials"
	if s.Name == PBT {
		room, field = s.PopulationSize, "population_size"
	}
	if len(s.StartWith) > maxStarts {
		return // a rule has reported it
	}
	if n := len(s.StartWith); n > room && room > 0 {
		k.fail(at, fmt.Sprintf("has %d starting points, and %s is %d", n, field, room), "")
	}
	if len(s.StartWith) == 0 {
		return
	}
	all := c.Hyperparameters.byName()
	for i, point := range s.StartWith {
		here := document.Index(at, i)
		values, twice := flat(point, all)
		for _, name := range twice {
			k.fail(document.Join(here, name), document.Clip(name)+" has two values", "write it with dots or as a group, not both")
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			place := document.Join(here, name)
			p, known := k.known(all, place, name)
			if !known {
				continue
			}
			if _, can := p.Value(values[name]); !can {
				k.fail(place, fmt.Sprintf("%s is never %s", name, valueText(values[name])), p.Choices())
				continue
			}
			for _, need := range p.When {
				parent, given := values[need.Name]
				if of := all[need.Name]; of.Type == Const && !given {
					parent, given = of.Val, true
				}
				k.when(!given, place, fmt.Sprintf("depends on %s, which the starting point lacks", need.Name), "add "+need.Name+": "+valuesText(need.Values))
				k.when(given && !need.Allows(parent), place, fmt.Sprintf("has no effect where %s is %s", need.Name, valueText(parent)), "")
			}
		}
	}
}

// Prior reports whether a hyperparameter has a prior.
func (h Hyperparameters) Prior() (yes bool) {
	h.Walk(func(_ []string, p Hyperparameter) { yes = yes || p.Prior != nil })
	return yes
}

// checkPrior checks that the prior is a value of the space.
func (p Hyperparameter) checkPrior(k *checker, at string) {
	if p.Prior == nil {
		return
	}
	if _, can := p.Value(p.Prior); !can {
		name := strings.TrimPrefix(at, "hyperparameters.")
		k.fail(at+".prior", fmt.Sprintf("%s is never %s", name, valueText(p.Prior)), p.Choices())
	}
}

// checkSources checks the list of earlier experiments from which a search learns. The master checks later whether
// they exist, and whether they have the same metric.
func (s Searcher) checkSources(k *checker, at string) {
	if len(s.LearnFrom) == 0 || len(s.LearnFrom) > maxSources {
		return
	}
	for i, id := range s.LearnFrom {
		k.when(slices.Contains(s.LearnFrom[:i], id), document.Index(at, i), fmt.Sprintf("names experiment %d twice", id), "")
	}
	switch {
	case s.Sampler != TPE:
		k.fail(at, "requires the sampler tpe, and this search draws hyperparameters at random",
			fmt.Sprintf("set sampler: tpe, which plans at most %d trials; or remove learn_from", MaxModelled))
	case s.Revision == 1:
		k.fail(at, "requires revision 2 of the search", "omit revision")
	}
}
