package expconf

import (
	"maps"
	"reflect"
	"slices"
)

// layered is a type with a merge rule of its own: given what lies under it, it
// returns the combination. The types of both are the same.
type layered interface {
	onto(under any) any
}

// Merge lays one document over another: what over says wins, what it leaves
// open is taken from under. Neither argument is changed.
//
// Sections merge field by field and mappings key by key. Scalars and lists are
// taken whole, but for the lists that collect: bind mounts, devices, proxy
// ports, labels, environment variables, log policies and the lists of
// environment.nomad have the entries of both, an entry of over displacing the
// one in its place under it. A searcher and a checkpoint storage merge when
// both are of the same type; when they differ, only what all types share is
// taken from below. A hyperparameter is taken whole unless both are groups.
//
// Merging is associative, so a chain of documents can be combined in any
// grouping as long as the order is kept.
func Merge(over, under Raw) Raw {
	merged := merge(over, under)
	merged.pos = over.pos.over(under.pos)
	return merged
}

func merge[T any](over, under T) T {
	lay(reflect.ValueOf(&over).Elem(), reflect.ValueOf(&under).Elem())
	return over
}

// lay makes over the combination of over and under. What over shares with the
// argument of Merge is copied first.
func lay(over, under reflect.Value) {
	switch over.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if over.IsNil() {
			over.Set(under)
			return
		}
		if under.IsNil() {
			return
		}
	}
	if over.Kind() != reflect.Pointer {
		if own, ok := over.Interface().(layered); ok {
			over.Set(reflect.ValueOf(own.onto(under.Interface())))
			return
		}
	}
	switch over.Kind() {
	case reflect.Pointer:
		if over.Elem().Kind() == reflect.Struct {
			own := reflect.New(over.Type().Elem())
			own.Elem().Set(over.Elem())
			lay(own.Elem(), under.Elem())
			over.Set(own)
		}
	case reflect.Struct:
		laySection(over, under)
	case reflect.Map:
		own := reflect.MakeMapWithSize(over.Type(), over.Len()+under.Len())
		for _, layer := range []reflect.Value{under, over} {
			for it := layer.MapRange(); it.Next(); {
				own.SetMapIndex(it.Key(), it.Value())
			}
		}
		over.Set(own)
	}
}

// laySection merges field by field. Where two documents name different members
// of a union, only the common fields of under shine through, and the result is
// sealed: from there on down nothing else does, however the merges are grouped.
func laySection(over, under reflect.Value) {
	s := sectionOf(over.Type())
	sealed := false
	if s.union != nil {
		a, b := s.union.member(over), s.union.member(under)
		sealed = marksOf(over).sealed || a != "" && b != "" && a != b
		marksOf(over).sealed = sealed || marksOf(under).sealed
	}
	for i := range s.fields {
		f := &s.fields[i]
		switch covered := sealed && len(f.of) > 0; {
		case covered || !f.said(under):
		case f.said(over):
			lay(over.Field(f.index), under.Field(f.index))
		default:
			over.Field(f.index).Set(under.Field(f.index))
			f.say(over)
		}
	}
}

// collect is the entries of over and then those of under whose place, named by
// key, over leaves free. Double entries within one list stay: hiding a mistake
// in a document would be worse than reporting it.
func collect[T any, K comparable](over, under []T, key func(T) K) []T {
	taken := make(map[K]bool, len(over))
	for _, entry := range over {
		taken[key(entry)] = true
	}
	out := slices.Clone(over)
	for _, entry := range under {
		if !taken[key(entry)] {
			out = append(out, entry)
		}
	}
	return out
}

// keywise is over's map with the keys that only under has.
func keywise[K comparable, V any](over, under map[K]V) map[K]V {
	out := maps.Clone(under)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, over)
	return out
}

// first is the value of the first pointer that is set, or the default.
func first[T any](fallback T, candidates ...*T) T {
	for _, c := range candidates {
		if c != nil {
			return *c
		}
	}
	return fallback
}

// filled is list, or an empty list where there is none: JSON clients are sent
// [] and never null for a list.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
