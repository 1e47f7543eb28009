package expconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTags reads the tags of every section and finds none with a mistake.
func TestTags(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, root := range []reflect.Type{reflect.TypeFor[Raw](), reflect.TypeFor[Config](), reflect.TypeFor[RawCommand](),
		reflect.TypeFor[CommandConfig](), reflect.TypeFor[TaskContainerDefaults]()} {
		for _, mistake := range mistakes(root, seen) {
			t.Error(mistake)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d sections were looked at", len(seen))
	}
}

// TestMistakesInTags: a misspelt tag, rule, bound, default or member is found.
func TestMistakesInTags(t *testing.T) {
	for _, section := range []any{
		struct {
			A int `json:"a" dflt:"1"`
		}{},
		struct {
			A int `json:"a" check:"at lest 1"`
		}{},
		struct {
			A int `json:"a" check:"0..maxSlotz"`
		}{},
		struct {
			A int `json:"a" check:"absolute"`
		}{},
		struct {
			A string `json:"a" check:"required; oen of x y"`
		}{},
		struct {
			A []string `json:"a" check:"each 1..2"`
		}{},
		struct {
			A float64 `json:"a" check:"0..1"`
		}{},
		struct {
			A int `json:"a" check:"over 0, up to 1"`
		}{},
		struct {
			written
			A int `json:"a" default:"one"`
		}{},
		struct {
			A int `json:"a" default:"1"`
		}{},
		struct {
			A int `json:"a" of:"x"`
		}{},
		struct {
			A int `json:"a" secret:"true"`
		}{},
		struct {
			A string `json:"a" secret:"yes"`
		}{},
		struct {
			A []string `json:"a" secret:"variables"`
		}{},
		struct {
			A string `json:"a" secret:"values"`
		}{},
		struct {
			A string `json:"a" union:"u" members:"x"`
			B int    `json:"b" of:"y"`
		}{},
	} {
		if found := mistakes(reflect.TypeOf(section), map[reflect.Type]bool{}); len(found) == 0 {
			t.Errorf("nothing is wrong with %T", section)
		}
	}
}

// mistakes lists the errors in the tags of a section and of its parts.
func mistakes(t reflect.Type, seen map[reflect.Type]bool) (list []string) {
	if t = entry(t); t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	field := ""
	wrong := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("%s.%s: ", t, field)+fmt.Sprintf(format, args...))
	}
	defer func() {
		if r := recover(); r != nil {
			wrong("%v", r)
		}
	}()
	s := readTags(t)
	if t.NumField() > 64 {
		wrong("more fields than written has bits")
	}
	for _, f := range s.fields {
		of := t.Field(f.index)
		field = of.Name
		for _, key := range keysOf(of.Tag) {
			if !slices.Contains([]string{"json", "default", "check", "of", "secret", "union", "members", "past"}, key) {
				wrong("there is no tag %q", key)
			}
		}
		if f.standard.IsValid() && f.sure {
			wrong("has a default and cannot tell zero from nothing: embed written")
		}
		for _, b := range f.of {
			if s.union == nil || !s.union.knows(b.member) {
				wrong("there is no member %q", b.member)
			}
		}
		if text, ok := of.Tag.Lookup("secret"); ok && !secretOf(text, of.Type) {
			wrong("there is no secret %q of this type", text)
		}
		for _, r := range f.rules {
			r(&checker{}, "", sample(of.Type)) // panics if it is not for this type
		}
		list = append(list, mistakes(of.Type, seen)...)
	}
	return list
}

// secretOf reports whether a tag `secret` is known, and is for fields of a type.
func secretOf(text string, t reflect.Type) bool {
	switch secretTags[text] {
	case secretValue, secretQuery:
		return entry(t).Kind() == reflect.String
	case secretSecrets, secretStorage, ownValues:
		return t.Kind() == reflect.Map
	case ownVariables:
		return t == reflect.TypeFor[EnvironmentVariables]()
	}
	return false
}

// keysOf lists the keys of a tag.
func keysOf(tag reflect.StructTag) (keys []string) {
	for rest := string(tag); rest != ""; {
		key, after, _ := strings.Cut(rest, `:"`)
		_, rest, _ = strings.Cut(after, `"`)
		keys = append(keys, strings.TrimSpace(key))
	}
	return keys
}

// sample is a value of a type with something in it.
func sample(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(sample(t.Elem()).Addr())
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("k"), sample(t.Elem()))
	}
	return v
}
