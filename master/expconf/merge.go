package expconf

import (
	"maps"
	"reflect"
	"slices"

	"github.com/detent-ml/detent/master/each"
)

// layered is a type with a merge rule of its own: onto receives the value of the document under
// this one and returns the combination. Both have the same type.
type layered interface {
	onto(under any) any
}

// Merge combines two documents: the values of over win; values that over does not set are those
// of under. Merge changes neither argument.
//
// Sections merge field by field and mappings key by key. Scalars and lists do not merge, except
// lists that combine the entries of both documents: bind mounts, devices, proxy ports, labels,
// environment variables, log policies and the lists of environment.nomad; there an entry of
// over replaces the entry of under with the same key. Two searchers or two checkpoint storages
// of the same type merge; if the types differ, only the fields that all types share are taken
// from under. A hyperparameter does not merge unless both are groups.
//
// Merging is associative, so a chain of documents can be combined in any grouping if their
// order is kept.
func Merge(over, under Raw) Raw {
	merged := merge(over, under)
	merged.pos = over.pos.Over(under.pos)
	return merged
}

func merge[T any](over, under T) T {
	lay(reflect.ValueOf(&over).Elem(), reflect.ValueOf(&under).Elem())
	return over
}

// lay merges under into over. It copies what over shares with the argument of Merge first.
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

// laySection merges field by field. If two documents name different members of a union, only
// the common fields of under are merged, and the result is sealed: later merges take only
// common fields too, so the grouping of merges does not matter.
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

// collect returns the entries of over, then those of under whose key no entry of over has.
// Duplicates within one list stay, so that validation reports them.
func collect[T any, K comparable](over, under []T, key func(T) K) []T {
	taken := each.Set(over, key)
	out := slices.Clone(over)
	for _, entry := range under {
		if !taken[key(entry)] {
			out = append(out, entry)
		}
	}
	return out
}

// keywise returns over's map with the keys that only under has.
func keywise[K comparable, V any](over, under map[K]V) map[K]V {
	out := maps.Clone(under)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, over)
	return out
}

// filled returns list, or an empty list for nil, so that JSON clients receive [] and never
// null.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
