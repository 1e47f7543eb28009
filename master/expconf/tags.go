package expconf

import (
	"reflect"
	"strings"
	"sync"

	"github.com/detent-ml/detent/master/document"
)

// A section of a configuration is a struct type. The tags of a field have
//
//	json     its name
//	default  its value where no document gives one, as a user would write it;
//	         without this tag it is zero: false, 0, "", or nothing at all
//	check    the rules for its value, see rules.go
//	of       the members of a union that have it, see union.go
//	secret   from whom which part of it is hidden, see redact.go
//
// Raw and Config use the same struct type. In a Raw, a field that the document does not set is
// zero; written distinguishes this from a zero in the document for types that cannot. TestTags
// finds tags with mistakes.
type section struct {
	fields []tagged
	byName map[string]int // index into fields
	names  []string
	union  *union // nil: no union
	marked bool   // embeds written

	// Whether the section or a part of it has defaults or marks, secrets, checks.
	fills, hides, checks bool
}

// tagged is one field of a section.
type tagged struct {
	name     string
	index    int
	bare     bool          // the zero value can be in a document; only written distinguishes it
	sure     bool          // always written: bare, in a section without written
	standard reflect.Value // the default, if there is one
	rules    []rule
	own      bool        // its type, or the type of its entries, is checkable
	of       []belonging // empty: all members
	secret   secret
	part     section // the section in the field, behind a pointer or in a list, if any
}

// written is embedded in unions, and in sections with fields whose zero value a document can
// contain (false, 0, "").
type written struct {
	zeros  uint64 // a bit for each such field that a document sets to zero
	sealed bool   // see laySection
}

func (w *written) marks() *written { return w }

type marked interface{ marks() *written }

// marksOf returns the marks of the section v.
func marksOf(v reflect.Value) *written { return v.Addr().Interface().(marked).marks() }

// said reports whether a document sets the field.
func (f *tagged) said(in reflect.Value) bool {
	return f.sure || !in.Field(f.index).IsZero() || f.bare && marksOf(in).zeros>>f.index&1 == 1
}

// say marks the field as set.
func (f *tagged) say(in reflect.Value) {
	if f.bare && in.Field(f.index).IsZero() {
		marksOf(in).zeros |= 1 << f.index
	}
}

// sections caches the results of readTags; types do not change.
var sections sync.Map

// sectionOf returns the tags of a struct type.
func sectionOf(t reflect.Type) *section {
	if s, ok := sections.Load(t); ok {
		return s.(*section)
	}
	s := readTags(t)
	sections.Store(t, s)
	return s
}

func readTags(t reflect.Type) *section {
	s := &section{byName: map[string]int{}, marked: reflect.PointerTo(t).Implements(reflect.TypeFor[marked]())}
	s.fills = s.marked
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		out := readField(name, f, s.marked)
		if noun, ok := f.Tag.Lookup("union"); ok {
			s.union = &union{noun: noun, key: name, index: i,
				members: strings.Fields(f.Tag.Get("members")), past: strings.Fields(f.Tag.Get("past"))}
		}
		s.byName[name] = len(s.fields)
		s.fields, s.names = append(s.fields, out), append(s.names, name)
		s.fills = s.fills || out.standard.IsValid() || out.part.fills
		s.hides = s.hides || out.secret != public || out.part.hides
		s.checks = s.checks || len(out.rules) > 0 || out.own || out.part.checks
	}
	return s
}

func readField(name string, f reflect.StructField, marked bool) tagged {
	out := tagged{name: name, index: f.Index[0], own: checksItself(f.Type),
		bare: marked && bare(f.Type), sure: !marked && bare(f.Type),
		of: readBelongings(f.Tag.Get("of")), secret: secretTags[f.Tag.Get("secret")]}
	if text, ok := f.Tag.Lookup("default"); ok {
		out.standard = standard(text, f.Type)
	}
	if text, ok := f.Tag.Lookup("check"); ok {
		for _, clause := range strings.Split(text, ";") {
			out.rules = append(out.rules, pointed(f.Type, readRule(strings.TrimSpace(clause))))
		}
	}
	if t := entry(f.Type); t.Kind() == reflect.Struct {
		out.part = *sectionOf(t)
	}
	return out
}

// standard parses a default in the same way as a document.
func standard(text string, t reflect.Type) reflect.Value {
	d, v := newDecoder("", nil), reflect.New(t).Elem()
	n, err := parseValue(text)
	if err == nil {
		d.value(n, "default", v)
		err = document.AsError(d.problems)
	}
	if err != nil {
		panic(err)
	}
	return v
}

// bare reports whether the type has no value that means "not set".
func bare(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return false
	case reflect.Struct:
		return len(sectionOf(t).fields) == 0
	}
	return true
}

// entry returns the type behind pointers and in lists.
func entry(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}
