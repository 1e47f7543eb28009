package expconf

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// rule checks the value of a field. The tag check has one rule or more, separated by
// semicolons:
//
//	0..maxSlots            a range; what a bound means may follow it: 1 (first)..99 (last)
//	over 0, up to 5        a range of a number with a fraction, its low end excluded
//	at least 1
//	at most 100 volumes    entries of a list or mapping
//	one of all best none
//	text 128               one line of so many characters
//	line 64                so many bytes
//	required, absolute, prefix, propagation, capability, words, memory, model
//	each required          any of these for every entry of a list or mapping
//
// Numbers may be names in bounds. A field that is a pointer is checked if it is set. Checks of
// several fields are in the method check of their section or type, which runs after the rules
// of all parts.
type rule func(k *checker, at string, v reflect.Value)

// checkable is a section, or the type of a field, with a method check.
type checkable interface {
	check(k *checker, at string)
}

// bounds are the limits that tags refer to by name.
func bounds() map[string]int64 {
	return map[string]int64{
		"MaxConcurrent": MaxConcurrent, "MaxTrials": MaxTrials, "maxBrackets": maxBrackets, "maxCPUs": maxCPUs,
		"maxComparison": maxComparison, "maxConstraints": maxConstraints, "maxDivisor": maxDivisor, "maxGPUMemory": maxGPUMemory, "maxHookName": maxHookName, "maxHooks": maxHooks, "maxNames": maxNames, "maxPreempt": maxPreempt,
		"maxRestarts": maxRestarts, "maxRounds": maxRounds, "maxRungs": maxRungs, "maxShm": maxShm,
		"maxSlots": maxSlots, "maxSources": maxSources, "maxStarts": maxStarts, "maxUnits": maxUnits, "maxWeight": maxWeight, "SearchRevision": SearchRevision,
	}
}

// bound returns a number of a tag, given as digits or by name.
func bound(text string) int64 {
	n, named := bounds()[text]
	if !named {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			panic(fmt.Sprintf("there is no bound %q", text))
		}
	}
	return n
}

func readRule(clause string) rule {
	word, rest, _ := strings.Cut(clause, " ")
	switch word {
	case "each":
		return readEach(rest)
	case "one":
		allowed := strings.Fields(rest)[1:]
		return func(k *checker, at string, v reflect.Value) { k.oneOf(at, textOf(v), allowed...) }
	case "text":
		most := int(bound(rest))
		return func(k *checker, at string, v reflect.Value) { k.text(at, textOf(v), most) }
	case "line":
		most := int(bound(rest))
		return func(k *checker, at string, v reflect.Value) { k.line(at, textOf(v), most) }
	case "at":
		return readLimit(strings.Fields(rest))
	case "over":
		return readOpenRange(rest)
	}
	if from, to, ok := strings.Cut(clause, ".."); ok {
		return readRange(from, to)
	}
	r, ok := map[string]rule{
		"required":    func(k *checker, at string, v reflect.Value) { k.required(at, textOf(v), "") },
		"absolute":    func(k *checker, at string, v reflect.Value) { k.absolute(at, textOf(v)) },
		"prefix":      func(k *checker, at string, v reflect.Value) { k.prefix(at, textOf(v)) },
		"propagation": func(k *checker, at string, v reflect.Value) { k.propagation(at, textOf(v)) },
		"capability":  func(k *checker, at string, v reflect.Value) { k.capability(at, textOf(v)) },
		"words":       func(k *checker, at string, v reflect.Value) { k.words(at, v.Interface().([]string)) },
		"model":       func(k *checker, at string, v reflect.Value) { k.model(at, textOf(v)) },
		"memory":      func(k *checker, at string, v reflect.Value) { k.memory(at, v.Int()) },
	}[clause]
	if !ok {
		panic(fmt.Sprintf("there is no rule %q", clause))
	}
	return r
}

// textOf returns a string, and panics for other types.
func textOf(v reflect.Value) string {
	if v.Kind() != reflect.String {
		panic(fmt.Sprintf("a rule for text checks %s", v.Type()))
	}
	return v.String()
}

// pointed applies a rule to the value behind a pointer.
func pointed(t reflect.Type, r rule) rule {
	if t.Kind() != reflect.Pointer {
		return r
	}
	return func(k *checker, at string, v reflect.Value) {
		if !v.IsNil() {
			r(k, at, v.Elem())
		}
	}
}

func readEach(clause string) rule {
	r := readRule(clause)
	return func(k *checker, at string, v reflect.Value) {
		for i, entry := range v.Seq2() {
			if v.Kind() == reflect.Map {
				r(k, document.Join(at, i.String()), entry)
			} else {
				r(k, document.Index(at, int(i.Int())), entry)
			}
		}
	}
}

func readLimit(words []string) rule {
	n := int(bound(words[1]))
	if words[0] == "least" {
		return func(k *checker, at string, v reflect.Value) { k.atLeast(at, int(v.Int()), n) }
	}
	return func(k *checker, at string, v reflect.Value) { k.atMost(at, v.Len(), n, words[2]) }
}

func readRange(from, to string) rule {
	from, fromMeans, _ := strings.Cut(from, " ")
	to, toMeans, _ := strings.Cut(to, " ")
	low, high := bound(from), bound(to)
	span := strings.Join(strings.Fields(fmt.Sprint("from ", low, " ", fromMeans, " to ", high, " ", toMeans)), " ")
	return func(k *checker, at string, v reflect.Value) {
		if length, ok := v.Interface().(Length); ok {
			v = reflect.ValueOf(length.Units)
		}
		if n := v.Int(); n < low || n > high {
			k.fail(at, fmt.Sprintf("must be %s, found %d", span, n), "")
		}
	}
}

func readOpenRange(clause string) rule {
	from, to, _ := strings.Cut(clause, ", up to ")
	low, high := bound(from), bound(to)
	return func(k *checker, at string, v reflect.Value) {
		if n := v.Float(); !(n > float64(low) && n <= float64(high)) {
			k.fail(at, fmt.Sprintf("must be greater than %d and at most %d, found %s", low, high, short(n)), "")
		}
	}
}

// section checks a section, or a list of sections, given by a pointer: first the rules of each
// field, then the methods check of the parts, then its own.
func (k *checker) section(at string, pointer any) { k.value(at, reflect.ValueOf(pointer).Elem()) }

func (k *checker) value(at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			k.value(at, v.Elem())
		}
		return
	case reflect.Slice:
		if entry(v.Type()).Kind() == reflect.Struct {
			for i := range v.Len() {
				k.value(document.Index(at, i), v.Index(i))
			}
		}
	case reflect.Struct:
		s := sectionOf(v.Type())
		for i := range s.fields {
			if f := &s.fields[i]; s.union.has(v, f) {
				k.field(at, f, v.Field(f.index))
			}
		}
	}
	if own, ok := v.Addr().Interface().(checkable); ok {
		own.check(k, at)
	}
}

func (k *checker) field(at string, f *tagged, v reflect.Value) {
	if len(f.rules) == 0 && !f.own && !f.part.checks {
		return
	}
	at = document.Join(at, f.name)
	for _, r := range f.rules {
		r(k, at, v)
	}
	if f.own || f.part.checks {
		k.value(at, v)
	}
}

// checksItself reports whether a type, or the type of its entries, is checkable.
func checksItself(t reflect.Type) bool {
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[checkable]()):
		return true
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return checksItself(t.Elem())
	}
	return false
}
