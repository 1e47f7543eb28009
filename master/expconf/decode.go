package expconf

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/detent-ml/detent/master/document"
)

// decodable is a type that decodes itself from a node, because it has several forms or rules of
// its own. The decoder never passes null to it.
type decodable interface {
	decode(d *decoder, n *document.Node, path string)
}

// hinter is a struct with a better explanation for some unknown fields than the most similar
// name.
type hinter interface {
	unknown(name string) (message, hint string, ok bool)
}

// decoder fills Go values from nodes along their json tags. It collects all problems instead of
// stopping at the first.
type decoder struct {
	file     string
	root     reflect.Type // type that is searched for the right section of a misplaced field
	lenient  bool         // unknown fields are warnings
	problems []document.Problem
	warnings []document.Problem
	at       map[string]document.Position
	paths    int // bytes of the keys of at
}

func newDecoder(file string, root any) *decoder {
	return &decoder{file: file, root: reflect.TypeOf(root), at: map[string]document.Position{}}
}

func (d *decoder) problem(n *document.Node, path, message, hint string) {
	d.problems = append(d.problems, document.Problem{
		File: d.file, Line: n.Line, Column: n.Column, Path: path, Message: message, Hint: hint})
}

func (d *decoder) warn(n *document.Node, path, message string) {
	d.warnings = append(d.warnings, document.Problem{
		File: d.file, Line: n.Line, Column: n.Column, Path: path, Message: message})
}

// note keeps the position of a value. It reports false if the paths are too long, which is one problem.
func (d *decoder) note(n *document.Node, path string) bool {
	if d.paths > document.MaxPaths {
		return false
	}
	if d.paths += len(path); d.paths > document.MaxPaths {
		d.problem(n, "", document.PathsMessage(), "")
		return false
	}
	d.at[path] = document.Position{File: d.file, Line: n.Line, Column: n.Column}
	return true
}

// expected reports a value of the wrong type.
func (d *decoder) expected(n *document.Node, path, what, hint string) {
	d.problem(n, path, "expected "+what+", found "+n.Describe(), hint)
}

// into decodes n into the value that target points to.
func (d *decoder) into(n *document.Node, path string, target any) {
	d.value(n, path, reflect.ValueOf(target).Elem())
}

func (d *decoder) value(n *document.Node, path string, v reflect.Value) {
	if !d.note(n, path) || n.Kind == document.NullKind {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem())
		return
	}
	if self, ok := v.Addr().Interface().(decodable); ok {
		self.decode(d, n, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(n, path, v)
	case reflect.Slice:
		d.list(n, path, v)
	case reflect.Map:
		d.dict(n, path, v)
	case reflect.Interface:
		d.free(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

// object decodes a mapping into a struct.
func (d *decoder) object(n *document.Node, path string, v reflect.Value) {
	if n.Kind != document.MapKind {
		d.expected(n, path, "a mapping", "")
		return
	}
	s := sectionOf(v.Type())
	for _, f := range s.admitted(d, n, path) {
		at := document.Join(path, f.Key)
		i, known := s.byName[f.Key]
		if !known {
			d.unknown(f, at, v, s.names)
			continue
		}
		field := &s.fields[i]
		d.value(f.Value, at, v.Field(field.index))
		if f.Value.Kind != document.NullKind {
			field.say(v)
		}
	}
}

func (d *decoder) unknown(f document.Field, path string, v reflect.Value, siblings []string) {
	p := document.Problem{File: d.file, Line: f.Line, Column: f.Column, Path: path, Message: "unknown field"}
	if d.lenient {
		p.Message = "has no effect on tasks of this kind"
		d.warnings = append(d.warnings, p)
		return
	}
	if h, ok := v.Addr().Interface().(hinter); ok {
		if message, hint, ok := h.unknown(f.Key); ok {
			p.Message, p.Hint = message, hint
			d.problems = append(d.problems, p)
			return
		}
	}
	p.Hint = suggest(f.Key, siblings, d.root)
	d.problems = append(d.problems, p)
}

func (d *decoder) list(n *document.Node, path string, v reflect.Value) {
	if n.Kind != document.ListKind {
		d.expected(n, path, "a list", "")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		at := document.Index(path, i)
		if item.Kind == document.NullKind && v.Type().Elem().Kind() != reflect.Interface {
			d.problem(item, at, "is empty", "")
			continue
		}
		d.value(item, at, v.Index(i))
	}
}

func (d *decoder) dict(n *document.Node, path string, v reflect.Value) {
	if n.Kind != document.MapKind {
		d.expected(n, path, "a mapping", "")
		return
	}
	elem := v.Type().Elem()
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Fields)))
	for _, f := range n.Fields {
		at := document.Join(path, f.Key)
		if f.Value.Kind == document.NullKind && elem.Kind() != reflect.Interface {
			d.problem(f.Value, at, "is empty", "")
			continue
		}
		slot := reflect.New(elem).Elem()
		d.value(f.Value, at, slot)
		v.SetMapIndex(reflect.ValueOf(f.Key), slot)
	}
}

// free decodes a value of any shape that can be stored and sent as JSON.
func (d *decoder) free(n *document.Node, path string, v reflect.Value) {
	if value := n.Free(); d.storable(n, path) && value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// valueOf returns the settable variable behind a pointer.
func valueOf(pointer any) reflect.Value { return reflect.ValueOf(pointer).Elem() }

func (d *decoder) storable(n *document.Node, path string) bool {
	ok := d.note(n, path)
	if !n.Finite() {
		d.problem(n, path, "expected a finite number, found "+n.Describe(), "")
		ok = false
	}
	for i, item := range n.Items {
		ok = d.paths <= document.MaxPaths && d.storable(item, document.Index(path, i)) && ok
	}
	for _, f := range n.Fields {
		ok = d.paths <= document.MaxPaths && d.storable(f.Value, document.Join(path, f.Key)) && ok
	}
	return ok
}

func (d *decoder) scalar(n *document.Node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if n.Kind != document.StringKind {
			hint := ""
			if n.Kind == document.IntKind || n.Kind == document.FloatKind || n.Kind == document.BoolKind {
				hint = "put it in quotes: " + strconv.Quote(document.Clip(n.Text))
			}
			d.expected(n, path, "a string", hint)
			return
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if b, ok := n.Truth(); ok {
			v.SetBool(b)
			return
		}
		d.expected(n, path, "true or false", "")
	case reflect.Float64:
		d.number(n, path, v)
	default:
		d.integer(n, path, v)
	}
}

func (d *decoder) number(n *document.Node, path string, v reflect.Value) {
	switch {
	case n.Kind == document.IntKind:
		v.SetFloat(float64(n.I))
	case n.Kind == document.FloatKind && n.Finite():
		v.SetFloat(n.F)
	case n.Kind == document.FloatKind:
		d.expected(n, path, "a finite number", "")
	default:
		d.expected(n, path, "a number", numberHint(n))
	}
}

// integer decodes into the integer kinds. Plain int fields are limited to 32 bits, as in the
// API.
func (d *decoder) integer(n *document.Node, path string, v reflect.Value) {
	i, ok := n.Whole()
	if !ok {
		d.expected(n, path, "an integer", numberHint(n))
		return
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	switch v.Kind() {
	case reflect.Int64:
		low, high = math.MinInt64, math.MaxInt64
	case reflect.Uint32:
		low, high = 0, math.MaxUint32
	}
	if i < low || i > high {
		d.problem(n, path, fmt.Sprintf("expected an integer from %d to %d, found %s", low, high, document.Clip(n.Text)), "")
		return
	}
	if v.CanUint() {
		v.SetUint(uint64(i))
		return
	}
	v.SetInt(i)
}

// numberHint detects a number that was written as a string.
func numberHint(n *document.Node) string {
	if n.Kind != document.StringKind {
		return ""
	}
	if _, err := strconv.ParseFloat(n.Text, 64); err == nil {
		return "write it without quotes"
	}
	return ""
}
