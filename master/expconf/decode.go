package expconf

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// decodable is a type that decodes itself from a node, because it has several forms or rules of
// its own. The decoder never passes null to it.
type decodable interface {
	decode(d *decoder, n *node, path string)
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
	problems []Problem
	warnings []Problem
	at       map[string]Position
	paths    int // bytes of the keys of at
}

func newDecoder(file string, root any) *decoder {
	return &decoder{file: file, root: reflect.TypeOf(root), at: map[string]Position{}}
}

func (d *decoder) problem(n *node, path, message, hint string) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: n.line, Column: n.column, Path: path, Message: message, Hint: hint})
}

func (d *decoder) warn(n *node, path, message string) {
	d.warnings = append(d.warnings, Problem{
		File: d.file, Line: n.line, Column: n.column, Path: path, Message: message})
}

// note keeps the position of a value. It reports false if the paths are too long, which is one problem.
func (d *decoder) note(n *node, path string) bool {
	if d.paths > maxPaths {
		return false
	}
	if d.paths += len(path); d.paths > maxPaths {
		d.problem(n, "", pathsMessage(), "")
		return false
	}
	d.at[path] = Position{File: d.file, Line: n.line, Column: n.column}
	return true
}

// expected reports a value of the wrong type.
func (d *decoder) expected(n *node, path, what, hint string) {
	d.problem(n, path, "expected "+what+", found "+n.describe(), hint)
}

// into decodes n into the value that target points to.
func (d *decoder) into(n *node, path string, target any) {
	d.value(n, path, reflect.ValueOf(target).Elem())
}

func (d *decoder) value(n *node, path string, v reflect.Value) {
	if !d.note(n, path) || n.kind == nullKind {
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
func (d *decoder) object(n *node, path string, v reflect.Value) {
	if n.kind != mapKind {
		d.expected(n, path, "a mapping", "")
		return
	}
	s := sectionOf(v.Type())
	for _, f := range s.admitted(d, n, path) {
		at := join(path, f.key)
		i, known := s.byName[f.key]
		if !known {
			d.unknown(f, at, v, s.names)
			continue
		}
		field := &s.fields[i]
		d.value(f.value, at, v.Field(field.index))
		if f.value.kind != nullKind {
			field.say(v)
		}
	}
}

func (d *decoder) unknown(f field, path string, v reflect.Value, siblings []string) {
	p := Problem{File: d.file, Line: f.line, Column: f.column, Path: path, Message: "unknown field"}
	if d.lenient {
		p.Message = "has no effect on tasks of this kind"
		d.warnings = append(d.warnings, p)
		return
	}
	if h, ok := v.Addr().Interface().(hinter); ok {
		if message, hint, ok := h.unknown(f.key); ok {
			p.Message, p.Hint = message, hint
			d.problems = append(d.problems, p)
			return
		}
	}
	p.Hint = suggest(f.key, siblings, d.root)
	d.problems = append(d.problems, p)
}

func (d *decoder) list(n *node, path string, v reflect.Value) {
	if n.kind != listKind {
		d.expected(n, path, "a list", "")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		at := index(path, i)
		if item.kind == nullKind && v.Type().Elem().Kind() != reflect.Interface {
			d.problem(item, at, "is empty", "")
			continue
		}
		d.value(item, at, v.Index(i))
	}
}

func (d *decoder) dict(n *node, path string, v reflect.Value) {
	if n.kind != mapKind {
		d.expected(n, path, "a mapping", "")
		return
	}
	elem := v.Type().Elem()
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.fields)))
	for _, f := range n.fields {
		at := join(path, f.key)
		if f.value.kind == nullKind && elem.Kind() != reflect.Interface {
			d.problem(f.value, at, "is empty", "")
			continue
		}
		slot := reflect.New(elem).Elem()
		d.value(f.value, at, slot)
		v.SetMapIndex(reflect.ValueOf(f.key), slot)
	}
}

// free decodes a value of any shape that can be stored and sent as JSON.
func (d *decoder) free(n *node, path string, v reflect.Value) {
	if value := n.free(); d.storable(n, path) && value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

// valueOf returns the settable variable behind a pointer.
func valueOf(pointer any) reflect.Value { return reflect.ValueOf(pointer).Elem() }

func (d *decoder) storable(n *node, path string) bool {
	ok := d.note(n, path)
	if !n.finite() {
		d.problem(n, path, "expected a finite number, found "+n.describe(), "")
		ok = false
	}
	for i, item := range n.items {
		ok = d.paths <= maxPaths && d.storable(item, index(path, i)) && ok
	}
	for _, f := range n.fields {
		ok = d.paths <= maxPaths && d.storable(f.value, join(path, f.key)) && ok
	}
	return ok
}

func (d *decoder) scalar(n *node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if n.kind != stringKind {
			hint := ""
			if n.kind == intKind || n.kind == floatKind || n.kind == boolKind {
				hint = "put it in quotes: " + strconv.Quote(clip(n.text))
			}
			d.expected(n, path, "a string", hint)
			return
		}
		v.SetString(n.text)
	case reflect.Bool:
		if b, ok := n.truth(); ok {
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

// truth is n as a boolean. The boolean words of YAML 1.1 are accepted, because many existing
// configurations use them.
func (n *node) truth() (value, ok bool) {
	switch n.kind {
	case boolKind:
		return n.b, true
	case stringKind:
		switch strings.ToLower(n.text) {
		case "yes", "on":
			return true, true
		case "no", "off":
			return false, true
		}
	}
	return false, false
}

func (d *decoder) number(n *node, path string, v reflect.Value) {
	switch {
	case n.kind == intKind:
		v.SetFloat(float64(n.i))
	case n.kind == floatKind && n.finite():
		v.SetFloat(n.f)
	case n.kind == floatKind:
		d.expected(n, path, "a finite number", "")
	default:
		d.expected(n, path, "a number", numberHint(n))
	}
}

// integer decodes into the integer kinds. Plain int fields are limited to 32 bits, as in the
// API.
func (d *decoder) integer(n *node, path string, v reflect.Value) {
	i, ok := n.whole()
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
		d.problem(n, path, fmt.Sprintf("expected an integer from %d to %d, found %s", low, high, clip(n.text)), "")
		return
	}
	if v.CanUint() {
		v.SetUint(uint64(i))
		return
	}
	v.SetInt(i)
}

// numberHint detects a number that was written as a string.
func numberHint(n *node) string {
	if n.kind != stringKind {
		return ""
	}
	if _, err := strconv.ParseFloat(n.text, 64); err == nil {
		return "write it without quotes"
	}
	return ""
}
