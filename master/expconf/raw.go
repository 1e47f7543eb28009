package expconf

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/detent-ml/detent/master/document"
)

// Raw is one experiment document as the user wrote it. Fields that the document does not set
// are zero; IsSet distinguishes them from a zero in the document. A Raw is immutable; Merge and
// Complete share its parts.
type Raw Config

// IsSet reports whether a section of a Raw, or the Raw itself, sets a field. The section is a
// pointer; the field is its name in documents.
func IsSet(section any, field string) bool {
	f, in := fieldOf(section, field)
	return f.said(in)
}

// MarkSet marks a field as set, which matters if its value is zero.
func MarkSet(section any, field string) {
	f, in := fieldOf(section, field)
	f.say(in)
}

// Unset takes a field away, and reports whether it was set.
func Unset(section any, field string) bool {
	f, in := fieldOf(section, field)
	was := f.said(in)
	in.Field(f.index).SetZero()
	if f.bare {
		marksOf(in).zeros &^= 1 << f.index
	}
	return was
}

func fieldOf(section any, field string) (*tagged, reflect.Value) {
	v := reflect.ValueOf(section).Elem()
	s := sectionOf(v.Type())
	i, known := s.byName[field]
	if !known {
		panic(fmt.Sprintf("%s has no field %s", v.Type(), field))
	}
	return &s.fields[i], v
}

// Parse parses the configuration of an experiment in YAML or JSON. The name of the file appears
// in messages only. The error is an Errors with every problem; warnings name accepted old
// forms.
func Parse(name string, src []byte) (Raw, document.Warnings, error) {
	return parse(name, src, document.UserLimits())
}

func parse(name string, src []byte, l document.Limits) (Raw, document.Warnings, error) {
	var raw Raw
	d, err := parseInto(name, src, l, &raw, func(at *document.Positions) error {
		raw.pos = at
		c, err := Complete(raw, ClusterDefaults{Name: "unnamed"})
		if err != nil {
			return err
		}
		return c.Validate()
	})
	if err != nil {
		return Raw{}, nil, err
	}
	raw.pos = d.positions()
	return raw, document.Sorted(d.warnings), nil
}

// parseInto decodes a whole document into the struct behind target. If decoding fails, the
// decoded part is validated nevertheless, so that one spelling mistake does not hide a wrong
// value further down.
func parseInto(name string, src []byte, l document.Limits, target any, validate func(*document.Positions) error) (*decoder, error) {
	root, problems := document.Parse(name, src, l)
	if len(problems) > 0 {
		return nil, document.AsError(problems)
	}
	d := newDecoder(name, target)
	d.lenient = l.Lenient
	d.into(root, "", target)
	if len(d.problems) == 0 {
		return d, nil
	}
	d.addInvalid(validate(d.positions()))
	return nil, document.AsError(d.problems)
}

func (d *decoder) positions() *document.Positions {
	return &document.Positions{Layers: []map[string]document.Position{d.at}}
}

// addInvalid adds validation problems of values that are in the document and were decoded. A
// field that seems to be missing may be misspelt, or set in the document under this one.
func (d *decoder) addInvalid(err error) {
	invalid, _ := errors.AsType[document.Errors](err)
	known := len(d.problems)
	for _, p := range invalid {
		doubtful := !d.positions().Written(p.Path)
		for _, other := range d.problems[:known] {
			doubtful = doubtful || document.Overlap(p.Path, other.Path)
		}
		if !doubtful {
			d.problems = append(d.problems, p)
		}
	}
}
