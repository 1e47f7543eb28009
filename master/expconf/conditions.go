package expconf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/spelling"

	"github.com/detent-ml/detent/master/expconf/formula"
)

// Conditions say which trials have a hyperparameter: those in which every named hyperparameter has
// one of its values. They are in the order of the names.
type Conditions []Condition

// A Condition names a hyperparameter, with dots between groups, and some of its values.
type Condition struct {
	Name   string
	Values []any
}

// decode reads {optimizer: sgd, net.kind: [cnn, rnn]}; {net: {kind: cnn}} is the same as {net.kind: cnn}.
func (c *Conditions) decode(d *decoder, n *document.Node, path string) {
	if n.Kind != document.MapKind || len(n.Fields) == 0 {
		d.expected(n, path, "a mapping of hyperparameters to the values that they must have", "such as {optimizer: sgd}")
		return
	}
	c.add(d, n, path, "")
	slices.SortFunc(*c, func(a, b Condition) int { return strings.Compare(a.Name, b.Name) })
}

func (c *Conditions) add(d *decoder, n *document.Node, path, prefix string) {
	for _, f := range n.Fields {
		at, name := document.Join(path, f.Key), document.Join(prefix, f.Key)
		if !d.note(f.Value, at) {
			return
		}
		switch f.Value.Kind {
		case document.MapKind:
			if len(f.Value.Fields) == 0 {
				d.problem(f.Value, at, "is empty; name a hyperparameter of the group, with its values", "")
			}
			c.add(d, f.Value, at, name)
			continue
		case document.ListKind:
		default:
			*c = append(*c, Condition{name, []any{f.Value.Free()}})
			continue
		}
		for i, item := range f.Value.Items {
			if d.note(item, document.Index(at, i)); item.Kind == document.ListKind || item.Kind == document.MapKind {
				d.expected(item, document.Index(at, i), "a text, a number, true or false", "")
			}
		}
		if len(f.Value.Items) == 0 {
			d.problem(f.Value, at, "is empty; list the values with which the hyperparameter is active", "")
		}
		*c = append(*c, Condition{name, f.Value.Free().([]any)})
	}
}

// MarshalJSON writes a mapping, with a list of several values.
func (c Conditions) MarshalJSON() ([]byte, error) {
	return json.Marshal(each.Map(c, func(one Condition) (string, any) {
		if len(one.Values) == 1 {
			return one.Name, one.Values[0]
		}
		return one.Name, one.Values
	}))
}

// Same reports whether two values of hyperparameters that are no lists and no mappings are equal.
func Same(a, b any) bool {
	x := scalar(a)
	return x == scalar(b) && x != other{}
}

// other is what scalar returns for lists and mappings.
type other struct{}

// scalar returns a value that can be compared: numbers as float64.
func scalar(v any) any {
	if x, ok := Number(v); ok {
		return x
	}
	switch v.(type) {
	case nil, bool, string:
		return v
	}
	return other{}
}

// Number converts the types that a hyperparameter's number can have to float64.
func Number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case int:
		return float64(x), true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	}
	return 0, false
}

// Allows reports whether a value fulfils the condition.
func (c Condition) Allows(value any) bool {
	return slices.ContainsFunc(c.Values, func(v any) bool { return Same(v, value) })
}

// Conditional reports whether a hyperparameter has a condition.
func (h Hyperparameters) Conditional() (yes bool) {
	h.Walk(func(_ []string, p Hyperparameter) { yes = yes || len(p.When) > 0 })
	return yes
}

// Restricted reports whether not every combination of values is a trial's.
func (c Config) Restricted() bool {
	return c.Hyperparameters.Conditional() || len(c.Searcher.Constraints) > 0
}

// byName lists the hyperparameters that are no groups, by their names with dots between groups.
func (h Hyperparameters) byName() map[string]Hyperparameter {
	out := map[string]Hyperparameter{}
	h.Walk(func(names []string, p Hyperparameter) { out[strings.Join(names, ".")] = p })
	return out
}

// takes reports whether a hyperparameter can have a value; separate is false if it is continuous.
// vals are those of a category.
func (p Hyperparameter) takes(value any, vals map[any]bool) (can, separate bool) {
	switch p.Type {
	case Const:
		return Same(p.Val, value), true
	case Categorical:
		return vals[scalar(value)], true
	case Int:
		v, ok := Number(value)
		return ok && p.holds(v), true
	}
	return false, false
}

// holds reports whether a number is in a range, and one of its steps.
func (p Hyperparameter) holds(v float64) bool {
	low, high := p.Minval, p.Maxval
	if p.Type == Log {
		low, high = math.Pow(p.Base, low), math.Pow(p.Base, high)
		low, high = math.Min(low, high), math.Max(low, high) // the base may be below 1
	}
	slack := 1e-9 * math.Max(math.Abs(low), math.Abs(high))
	if !(v >= low-slack && v <= high+slack) || p.Type == Int && v != math.Trunc(v) {
		return false
	}
	at := (v - p.Minval) / math.Max(p.Step, math.SmallestNonzeroFloat64)
	return p.Step == 0 || math.Abs(at-math.Round(at)) < 1e-6
}

// Choices describes the values that a hyperparameter can have.
func (p Hyperparameter) Choices() string {
	switch p.Type {
	case Const:
		return "it is always " + valueText(p.Val)
	case Categorical:
		const most = 10
		list := strings.Join(each.Of(p.Vals[:min(most, len(p.Vals))], valueText), ", ")
		if len(p.Vals) > most {
			list += ", …"
		}
		return "one of " + list
	}
	text := fmt.Sprintf("from %s to %s", short(p.Minval), short(p.Maxval))
	if p.Type == Log {
		text = fmt.Sprintf("from %s to %s", short(math.Pow(p.Base, p.Minval)), short(math.Pow(p.Base, p.Maxval)))
	}
	if p.Step > 0 {
		text += " in steps of " + short(p.Step)
	}
	if p.Type == Int {
		text = "a whole number " + text
	}
	return text
}

func valueText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return document.Clip(string(b))
}

// maxUnknown is for how many unknown names a checker looks for similar ones, each among all hyperparameters.
const maxUnknown = 50

// known finds a hyperparameter by its name, and reports a name that none has.
func (k *checker) known(all map[string]Hyperparameter, at, name string) (p Hyperparameter, ok bool) {
	if p, ok = all[name]; ok {
		return p, true
	}
	if k.unknown++; k.unknown > maxUnknown {
		k.fail(at, fmt.Sprintf("there is no hyperparameter %q", document.Clip(name)), "")
		return p, false
	}
	var names, members []string
	for other := range all {
		if names = append(names, other); strings.HasPrefix(other, name+".") {
			members = append(members, other)
		}
	}
	if slices.Sort(names); len(members) > 0 {
		k.fail(at, document.Clip(name)+" is a group of hyperparameters", "name one of them, such as "+slices.Min(members))
		return p, false
	}
	hint := ""
	if near := spelling.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if long := begins(name, names); long != "" && strings.HasPrefix(at, "searcher.constraints") {
		hint = "write `" + long + "` in backquotes"
	}
	k.fail(at, fmt.Sprintf("there is no hyperparameter %q", document.Clip(name)), hint)
	return p, false
}

// begins returns the first name, in order, that continues with a character which a formula reads as an operator, as my-rate begins with my.
func begins(name string, names []string) string {
	i := slices.IndexFunc(names, func(long string) bool {
		rest, is := strings.CutPrefix(long, name)
		return is && strings.ContainsAny(rest[:min(1, len(rest))], "+-*/<>=! ")
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// checkConditions checks that all conditions name hyperparameters and values that there are, and
// that each hyperparameter can be active.
func (h Hyperparameters) checkConditions(k *checker) {
	all := h.byName()
	vals, sound := map[string]map[any]bool{}, true
	h.Walk(func(names []string, p Hyperparameter) {
		at := document.Join("hyperparameters", document.Join(strings.Join(names, "."), "when"))
		k.atMost(at, len(p.When), maxWhen, "conditions")
		for i, c := range p.When {
			if i > 0 && p.When[i-1].Name == c.Name {
				k.fail(at, c.Name+" is named twice", "list its values together")
			}
			if all[c.Name].Type == Categorical && vals[c.Name] == nil {
				vals[c.Name] = each.Set(all[c.Name].Vals, scalar)
			}
			sound = c.check(k, all, vals[c.Name], document.Join(at, c.Name)) && sound
		}
	})
	if sound {
		h.checkActive(k, all)
	}
}

func (c Condition) check(k *checker, all map[string]Hyperparameter, vals map[any]bool, at string) bool {
	p, known := k.known(all, at, c.Name)
	if !known {
		return false
	}
	if k.atMost(at, len(c.Values), maxWhenValues, "values"); len(c.Values) > maxWhenValues {
		return false
	}
	fine := true
	delete(vals, other{}) // lists and mappings
	for i, v := range c.Values {
		here := at
		if len(c.Values) > 1 {
			here = document.Index(at, i)
		}
		can, separate := p.takes(v, vals)
		if !separate {
			k.fail(at, fmt.Sprintf("%s is of type %s and almost never has a given value", c.Name, p.Type), "a condition names hyperparameters of the types categorical, int and const")
			return false
		}
		if !can {
			k.fail(here, fmt.Sprintf("%s is never %s", c.Name, valueText(v)), p.Choices())
			fine = false
		}
	}
	return fine
}

// needs collects what hyperparameters depend on.
type needs struct {
	all  map[string]Hyperparameter
	done map[string]Conditions // of a hyperparameter and of those that it depends on; nil while they are collected
	odd  map[string]bool       // has a condition in a circle
}

// of returns what a hyperparameter needs, without its own conditions. circle has the names of a
// circle of conditions, and is empty but not nil if the circle was found before.
func (n *needs) of(name string) (above Conditions, circle []string) {
	if n.odd[name] {
		return nil, []string{}
	}
	if list, seen := n.done[name]; seen {
		if list == nil {
			return nil, []string{name}
		}
		return list, nil
	}
	n.done[name] = nil
	above = Conditions{}
	for _, c := range n.all[name].When {
		further, circle := n.of(c.Name)
		if circle != nil {
			n.odd[name] = true
			if len(circle) > 0 && (len(circle) == 1 || circle[0] != circle[len(circle)-1]) {
				circle = append(circle, name)
			}
			return nil, circle
		}
		above = append(append(above, n.all[c.Name].When...), further...)
	}
	n.done[name] = above[:min(len(above), maxWhen)]
	return n.done[name], nil
}

// checkActive reports circles of conditions, and hyperparameters that no trial can have.
func (h Hyperparameters) checkActive(k *checker, all map[string]Hyperparameter) {
	n := &needs{all: all, done: map[string]Conditions{}, odd: map[string]bool{}}
	never := map[string]bool{} // no trial has it
	h.Walk(func(names []string, p Hyperparameter) {
		name := strings.Join(names, ".")
		at := document.Join("hyperparameters", document.Join(name, "when"))
		above, circle := n.of(name)
		if len(circle) > 1 {
			slices.Reverse(circle)
			k.fail(document.Join("hyperparameters", document.Join(circle[len(circle)-1], "when")), "depends on itself: "+strings.Join(circle, " when "), "remove one of these conditions")
		}
		if slices.ContainsFunc(p.When, func(c Condition) bool { return never[c.Name] }) {
			never[name] = true // that is reported
			return
		}
		for i, c := range slices.Concat(p.When, above) {
			for _, other := range above[max(0, i-len(p.When)):] {
				if c.Name != other.Name || slices.ContainsFunc(c.Values, other.Allows) {
					continue
				}
				whose := "it needs"
				if i >= len(p.When) {
					whose = "what it depends on needs"
				}
				k.fail(at, fmt.Sprintf("no trial has %s: %s %s to be %s, and what it depends on needs %s", name, whose, c.Name, valuesText(c.Values), valuesText(other.Values)), "")
				never[name] = true
				return
			}
		}
	})
}

func valuesText(list []any) string { return strings.Join(each.Of(list, valueText), " or ") }

// A Constraint is a comparison that the hyperparameters of each trial fulfil. It does not count in
// trials that lack one of its hyperparameters.
type Constraint struct{ *formula.Formula }

func (c *Constraint) decode(d *decoder, n *document.Node, path string) {
	if n.Kind != document.StringKind {
		d.expected(n, path, "a comparison of hyperparameters", `such as "lr_min < lr_max"`)
		return
	}
	f, err := formula.Parse(n.Text)
	if err != nil {
		d.problem(n, path, err.Error(), "")
		return
	}
	c.Formula = f
}

// MarshalJSON writes the text; null for one that could not be read, in a configuration that is only checked.
func (c Constraint) MarshalJSON() ([]byte, error) {
	if c.Formula == nil {
		return []byte("null"), nil
	}
	return json.Marshal(c.String())
}

// checkConstraints checks that the constraints name hyperparameters whose values are numbers.
func (s Searcher) checkConstraints(k *checker, space Hyperparameters) {
	all := space.byName()
	for i, c := range s.Constraints {
		if c.Formula == nil {
			continue // the decoder has reported it
		}
		at := document.Index("searcher.constraints", i)
		for _, name := range c.Names() {
			p, known := k.known(all, at, name)
			values := p.Vals
			if p.Type == Const {
				values = []any{p.Val}
			}
			if j := slices.IndexFunc(values, func(v any) bool { _, ok := Number(v); return !ok }); known && j >= 0 {
				k.fail(at, fmt.Sprintf("%s can be %s, and constraints compare numbers", name, valueText(values[j])), "when: makes a hyperparameter depend on the values of another one")
			}
		}
	}
}
