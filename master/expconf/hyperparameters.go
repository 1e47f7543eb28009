package expconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// HyperparameterType is the kind of a hyperparameter.
type HyperparameterType string

// The kinds of hyperparameters. A group has no type in documents: it is a mapping without the
// key "type".
const (
	Const       HyperparameterType = "const"
	Int         HyperparameterType = "int"
	Double      HyperparameterType = "double"
	Log         HyperparameterType = "log"
	Categorical HyperparameterType = "categorical"
	Group       HyperparameterType = "group"
)

// Hyperparameter is one value, or the range from which values are drawn.
type Hyperparameter struct {
	Type HyperparameterType

	Val     any   // const
	Vals    []any // categorical
	Ordered bool  // categorical: neighbours in vals are alike

	Minval float64 // int, double; of log the exponent
	Maxval float64
	Base   float64 // log
	Count  *int    // points on the axis of a grid
	Even   bool    // int, double, the field log: draws are even by the logarithm
	Step   float64 // int, double: values are minval plus multiples of it; 0: none

	When  Conditions // of a trial that has the hyperparameter
	Prior any        // not const: the value that the user believes to be good; nil: none

	Members Hyperparameters // group

	sealed bool // the document under this one has a plain value here
}

// Hyperparameters is a group of hyperparameters by name.
type Hyperparameters map[string]Hyperparameter

// Names lists the names of a group in sorted order, which everything that depends on an order
// uses, such as random draws.
func (h Hyperparameters) Names() []string { return slices.Sorted(maps.Keys(h)) }

// Walk calls visit for every hyperparameter that is not a group, depth first in the order of
// Names, with the names on the path to it.
func (h Hyperparameters) Walk(visit func(names []string, p Hyperparameter)) {
	h.walk(nil, visit)
}

func (h Hyperparameters) walk(prefix []string, visit func([]string, Hyperparameter)) {
	for _, name := range h.Names() {
		names := append(slices.Clone(prefix), name)
		if p := h[name]; p.Type == Group {
			p.Members.walk(names, visit)
		} else {
			visit(names, p)
		}
	}
}

// fieldsOfHyperparameter lists the fields of each type, except "type".
func fieldsOfHyperparameter(t HyperparameterType) (required, optional []string) {
	switch t {
	case Const:
		return []string{"val"}, []string{"when"}
	case Int, Double:
		return []string{"minval", "maxval"}, []string{"count", "log", "step", "when", "prior"}
	case Log:
		return []string{"minval", "maxval", "base"}, []string{"count", "when", "prior"}
	case Categorical:
		return []string{"vals"}, []string{"ordered", "when", "prior"}
	}
	return nil, nil
}

func (h *Hyperparameters) decode(d *decoder, n *document.Node, path string) {
	if n.Kind != document.MapKind {
		d.expected(n, path, "a mapping of names to hyperparameters", "")
		return
	}
	*h = make(Hyperparameters, len(n.Fields))
	for _, f := range n.Fields {
		var p Hyperparameter
		at := document.Join(path, f.Key)
		if !d.note(f.Value, at) {
			return
		}
		p.decode(d, f.Value, at) // null is a value here
		(*h)[f.Key] = p
	}
}

func (p *Hyperparameter) decode(d *decoder, n *document.Node, path string) {
	if n.Kind != document.MapKind {
		p.Type = Const
		d.free(n, path, valueOf(&p.Val))
		return
	}
	typ := n.Get("type")
	if typ == nil {
		p.Type = Group
		if when := n.Get("when"); when != nil && when.Kind == document.MapKind && when.Get("type") == nil && !d.lenient {
			d.warn(when, document.Join(path, "when"), "is a hyperparameter of this group, and no condition: a group has none, and a constant has one with type: const. Write when: in each hyperparameter of the group")
		}
		p.Members.decode(d, n, path)
		return
	}
	types := []string{string(Const), string(Int), string(Double), string(Log), string(Categorical)}
	if typ.Kind != document.StringKind || !slices.Contains(types, typ.Text) {
		d.problem(typ, document.Join(path, "type"), "there is no type of hyperparameter "+typ.Name(), suggestOf(typ.Text, types))
		return
	}
	p.Type = HyperparameterType(typ.Text)
	p.space(d, n, path)
}

func (p *Hyperparameter) space(d *decoder, n *document.Node, path string) {
	required, optional := fieldsOfHyperparameter(p.Type)
	for _, f := range n.Fields {
		at := document.Join(path, f.Key)
		switch {
		case f.Key == "type":
		case !slices.Contains(required, f.Key) && !slices.Contains(optional, f.Key):
			d.problems = append(d.problems, document.Problem{
				File: d.file, Line: f.Line, Column: f.Column, Path: at,
				Message: fmt.Sprintf("unknown field of a hyperparameter of type %s", p.Type),
				Hint:    suggest(f.Key, slices.Concat(required, optional), nil)})
		case f.Key == "val":
			d.free(f.Value, at, valueOf(&p.Val))
		case f.Key == "vals":
			d.into(f.Value, at, &p.Vals)
		case f.Key == "count":
			d.into(f.Value, at, &p.Count)
		case f.Key == "base":
			d.into(f.Value, at, &p.Base)
		case f.Key == "ordered":
			d.into(f.Value, at, &p.Ordered)
		case f.Key == "log":
			d.into(f.Value, at, &p.Even)
		case f.Key == "step":
			if p.bound(d, f.Value, at, &p.Step); p.Step <= 0 {
				d.problem(f.Value, at, fmt.Sprintf("must be greater than 0, found %s", short(p.Step)), "")
			}
		case f.Key == "prior":
			d.free(f.Value, at, valueOf(&p.Prior))
		case f.Key == "when":
			d.into(f.Value, at, &p.When)
		case f.Key == "minval":
			p.bound(d, f.Value, at, &p.Minval)
		case f.Key == "maxval":
			p.bound(d, f.Value, at, &p.Maxval)
		}
	}
	for _, name := range required {
		if v := n.Get(name); v == nil || (v.Kind == document.NullKind && name != "val") {
			d.problem(n, document.Join(path, name), fmt.Sprintf("is required by the type %s", p.Type), "")
		}
	}
}

// bound decodes minval, maxval or step, which are whole numbers for the type int.
func (p *Hyperparameter) bound(d *decoder, n *document.Node, path string, target *float64) {
	known := len(d.problems)
	defer func() {
		if len(d.problems) > known {
			*target = math.NaN() // which is neither smaller nor greater than the other bound
		}
	}()
	if p.Type != Int {
		d.into(n, path, target)
		return
	}
	var whole int64
	d.into(n, path, &whole)
	const exact = 1 << 53
	if whole < -exact || whole > exact {
		d.problem(n, path, fmt.Sprintf("expected an integer of at most 53 bits, found %s", document.Clip(n.Text)), "")
		return
	}
	*target = float64(whole)
}

// onto does not merge two hyperparameters unless both are groups; groups merge name by name.
func (p Hyperparameter) onto(under Hyperparameter) Hyperparameter {
	if p.Type != Group || p.sealed {
		return p
	}
	if under.Type != Group {
		p.sealed = true
		return p
	}
	p.Members = p.Members.onto(under.Members).(Hyperparameters)
	p.sealed = under.sealed
	return p
}

func (h Hyperparameters) onto(under any) any {
	below := under.(Hyperparameters)
	out := make(Hyperparameters, len(h)+len(below))
	maps.Copy(out, below)
	for name, p := range h {
		if other, both := below[name]; both {
			p = p.onto(other)
		}
		out[name] = p
	}
	return out
}

// MarshalJSON writes {"type": …} with the fields of the type, and a group as a
// plain object.
func (p Hyperparameter) MarshalJSON() ([]byte, error) {
	out := map[string]any{"type": p.Type}
	switch p.Type {
	case Group:
		return json.Marshal(p.Members)
	case Const:
		out["val"] = p.Val
	case Categorical:
		out["vals"] = filled(p.Vals)
	case Log:
		out["base"] = p.Base
		fallthrough
	case Double:
		out["minval"], out["maxval"] = p.Minval, p.Maxval
	case Int:
		out["minval"], out["maxval"] = int64(p.Minval), int64(p.Maxval)
	default:
		return nil, fmt.Errorf("unknown type of hyperparameter %q", p.Type)
	}
	if p.Count != nil {
		out["count"] = *p.Count
	}
	if p.Prior != nil {
		out["prior"] = p.Prior
	}
	for name, value := range map[string]any{"log": p.Even, "step": p.Step, "ordered": p.Ordered, "when": p.When} {
		if !reflect.ValueOf(value).IsZero() {
			out[name] = value
		}
	}
	return json.Marshal(out)
}

// maxPath limits the name of a hyperparameter with those of its groups: an index has it.
const maxPath = 1000

func (h Hyperparameters) check(k *checker, at string, grid bool) {
	for _, name := range h.Names() {
		here := document.Join(at, name)
		k.when(strings.TrimSpace(name) == "", at, "a hyperparameter has an empty name", "")
		k.text(here, name, 256)
		if len(here) > maxPath {
			k.fail(here, fmt.Sprintf("the name with its groups has more than %d bytes", maxPath), "use shorter names, or fewer groups")
			continue
		}
		if p := h[name]; p.Type == Group {
			p.Members.check(k, here, grid)
		} else {
			p.check(k, here, grid)
		}
	}
}

// points is the length of the hyperparameter's axis in a grid.
func (p Hyperparameter) points() float64 {
	switch p.Type {
	case Categorical:
		return math.Max(1, float64(len(p.Vals)))
	case Int, Double, Log:
		n := math.Max(1, float64(optional.Or(p.Count, 1)))
		if steps := p.Steps(); p.Count == nil && p.Step > 0 {
			n = steps
		} else if steps > 0 {
			n = math.Min(n, steps)
		}
		return n
	}
	return 1
}

// Steps is how many values a range has; 0: it has no steps.
func (p Hyperparameter) Steps() float64 {
	switch {
	case p.Step > 0:
		return math.Max(1, math.Floor((p.Maxval-p.Minval)/p.Step+1e-9)+1)
	case p.Type == Int:
		return math.Max(1, p.Maxval-p.Minval+1)
	}
	return 0
}

// At returns the value of a step, the first of which is 0.
func (p Hyperparameter) At(step float64) any {
	if p.Type == Int {
		return int64(p.Minval + step*math.Max(1, p.Step))
	}
	// The nearest short number: 0.30000000000000004 is 0.3.
	v, err := strconv.ParseFloat(strconv.FormatFloat(p.Minval+step*p.Step, 'g', 12, 64), 64)
	if err != nil || v < p.Minval || v > p.Maxval {
		return math.Min(p.Minval+step*p.Step, p.Maxval)
	}
	return v
}

func (p Hyperparameter) check(k *checker, at string, grid bool) {
	switch p.Type {
	case Categorical:
		k.when(len(p.Vals) == 0, at+".vals", "is empty; list at least one value", "")
		k.atMost(at+".vals", len(p.Vals), maxVals, "values")
		p.checkPrior(k, at)
		return
	case Int, Double, Log:
	default:
		return
	}
	if p.Minval > p.Maxval {
		k.fail(at+".minval", fmt.Sprintf("%v is greater than maxval %v", p.Minval, p.Maxval), "")
	}
	k.finite(at+".minval", p.Minval, maxMagnitude)
	k.finite(at+".maxval", p.Maxval, maxMagnitude)
	if p.Type == Log {
		p.checkLog(k, at)
	}
	p.checkSteps(k, at)
	p.checkPrior(k, at)
	if p.Count != nil {
		k.within(at+".count", int64(*p.Count), 1, maxCount)
	} else if grid && p.Step == 0 {
		k.fail(at+".count", "is required by the grid searcher", "set the number of values between minval and maxval")
	}
}

// checkSteps checks step and log of an int or a double.
func (p Hyperparameter) checkSteps(k *checker, at string) {
	k.when(p.Even && p.Minval <= 0, at+".minval", fmt.Sprintf("must be greater than 0 with log: true, found %s", short(p.Minval)), "")
	if p.Step == 0 {
		return
	}
	switch width := p.Maxval - p.Minval; {
	case !(p.Step > 0 && p.Step <= maxMagnitude):
		k.fail(at+".step", fmt.Sprintf("must be greater than 0 and at most %s, found %s", short(maxMagnitude), short(p.Step)), "")
	case width > 0 && p.Step > width:
		k.fail(at+".step", fmt.Sprintf("%s is greater than the range from %s to %s", short(p.Step), short(p.Minval), short(p.Maxval)), "")
	case width/p.Step > maxSteps:
		k.fail(at+".step", fmt.Sprintf("makes more than %d values", int64(maxSteps)), "use a larger step, or omit it")
	}
}

// checkLog checks that the values of a log hyperparameter are valid numbers: base to the power
// of minval to maxval overflows soon.
func (p Hyperparameter) checkLog(k *checker, at string) {
	if !(p.Base > 0 && p.Base <= maxMagnitude) {
		k.fail(at+".base", fmt.Sprintf("must be greater than 0 and at most %s, found %s", short(maxMagnitude), short(p.Base)), "")
		return
	}
	for name, exponent := range map[string]float64{"minval": p.Minval, "maxval": p.Maxval} {
		value := math.Pow(p.Base, exponent)
		// The largest exponent, as a whole number.
		most := math.Floor(math.Log(maxMagnitude)/math.Abs(math.Log(p.Base)) + 1e-9)
		switch hint := fmt.Sprintf("minval and maxval are exponents; with this base they are from %s to %s", short(-most), short(most)); {
		case math.IsNaN(value) || value > maxMagnitude*(1+1e-9):
			k.fail(document.Join(at, name), fmt.Sprintf("%s to the power of %s is too large for a number", short(p.Base), short(exponent)), hint)
		case value < (1-1e-9)/maxMagnitude:
			k.fail(document.Join(at, name), fmt.Sprintf("%s to the power of %s is too small for a number", short(p.Base), short(exponent)), hint)
		}
	}
}
