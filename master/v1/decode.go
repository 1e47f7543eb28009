package v1

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/jsontext"
)

// maxDepth limits the nesting of messages; no message of the API is deeper.
const maxDepth = 64

// Unmarshal accepts what Determined's gateway accepts: names in camelCase or snake_case,
// unknown names, null for "not given", numbers as strings. An empty body is an empty message.
func Unmarshal(data []byte, v any) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		panic("v1: Unmarshal needs a pointer")
	}
	p := parser{Parser: jsontext.NewParser(data)}
	err := p.decode(rv.Elem(), 0)
	if err == nil && !p.Done() {
		err = jsontext.ErrSyntax
	}
	var m *mismatchError
	switch {
	case errors.Is(err, jsontext.ErrSyntax):
		return syntaxError(data)
	case errors.As(err, &m) && m.path == "":
		m.path = "the body"
	}
	return err
}

// syntaxError describes what is wrong with a body, and where.
func syntaxError(data []byte) error {
	var x any
	err := json.Unmarshal(data, &x)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the body is not JSON: %s at byte %d", se.Error(), se.Offset)
	}
	return fmt.Errorf("the body is not JSON: %w", err)
}

// parser reads a body, and counts the memory that its values need.
type parser struct {
	jsontext.Parser
	made int // bytes of the values that lists, maps and pointers have needed
}

// A body may need sparseBytes, and sparseFactor bytes for each of its own: lists of empty objects would need fifty times as
// much, and so more memory than the caller was granted.
const (
	sparseBytes  = 2 << 20
	sparseFactor = 4
)

// need counts a value of n bytes that is about to be made.
func (p *parser) need(n uintptr) error {
	p.made += int(n)
	if p.made <= sparseBytes || p.made <= sparseBytes+sparseFactor*p.Len() {
		return nil
	}
	return &mismatchError{want: "values that are mostly not empty", got: fmt.Sprintf("a body of %d bytes with too many small ones", p.Len())}
}

// decode decodes the next value into v. The path of a value is added to an error while the
// error returns, so that it costs nothing without an error.
func (p *parser) decode(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return &mismatchError{want: fmt.Sprintf("nothing nested more than %d deep", maxDepth), got: "deeper"}
	}
	first := p.Peek()
	if first == 'n' {
		_, err := p.Value()
		return err
	}
	switch v.Type() {
	case timeType, structType, bytesType:
		raw, err := p.Value()
		if err != nil {
			return err
		}
		return decodeSpecial(raw, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if err := p.need(v.Type().Elem().Size()); err != nil {
			return err
		}
		to := reflect.New(v.Type().Elem())
		if err := p.decode(to.Elem(), depth+1); err != nil {
			return err
		}
		v.Set(to)
		return nil
	case reflect.Struct:
		return p.message(v, depth)
	case reflect.Slice:
		return p.list(v, depth)
	case reflect.Map:
		return p.dict(v, depth)
	}
	raw, err := p.Value()
	if err != nil {
		return err
	}
	return decodeScalar(raw, v)
}

func decodeSpecial(raw []byte, v reflect.Value) error {
	switch v.Type() {
	case timeType:
		return decodeTime(raw, v)
	case bytesType:
		return decodeBytes(raw, v)
	}
	if raw[0] != '{' {
		return mismatch("an object", raw)
	}
	if err := jsontext.CheckDigits(raw); err != nil {
		return err
	}
	v.SetBytes(bytes.Clone(raw))
	return nil
}

func decodeScalar(raw []byte, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		s, ok := jsontext.Unquote(raw)
		if !ok {
			return mismatch("a string", raw)
		}
		v.SetString(s)
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(bare(raw))
		if err != nil {
			return mismatch("true or false", raw)
		}
		v.SetBool(b)
		return nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return decodeInt(raw, v)
	case reflect.Float64:
		return decodeFloat(raw, v)
	}
	return fmt.Errorf("v1: cannot decode into %s", v.Type())
}

// unfit returns the error for a value of the wrong type.
func (p *parser) unfit(want string) error {
	raw, err := p.Value()
	if err != nil {
		return err
	}
	return mismatch(want, raw)
}

func (p *parser) message(v reflect.Value, depth int) error {
	if p.Peek() != '{' {
		return p.unfit("an object")
	}
	plan := planOf(v.Type())
	return p.Members(func(name []byte) error {
		i, ok := plan.byName[string(name)]
		if !ok {
			_, err := p.Value()
			return err
		}
		f := &plan.fields[i]
		return within(p.decode(v.Field(f.index), depth+1), f.name)
	})
}

func (p *parser) list(v reflect.Value, depth int) error {
	if p.Peek() != '[' {
		return p.unfit("a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	n := -1
	return p.Items(func() error {
		n++
		if err := p.need(v.Type().Elem().Size()); err != nil {
			return err
		}
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		if err := p.decode(v.Index(n), depth+1); err != nil {
			return within(err, "["+strconv.Itoa(n)+"]")
		}
		return nil
	})
}

const mapEntry = 48 // bytes of an entry of a map, beside its value

func (p *parser) dict(v reflect.Value, depth int) error {
	if p.Peek() != '{' {
		return p.unfit("an object")
	}
	m := reflect.MakeMap(v.Type())
	err := p.Members(func(name []byte) error {
		if err := p.need(mapEntry + v.Type().Elem().Size()); err != nil {
			return err
		}
		item := reflect.New(v.Type().Elem()).Elem()
		key := string(name)
		if err := p.decode(item, depth+1); err != nil {
			return within(err, key)
		}
		m.SetMapIndex(reflect.ValueOf(key), item)
		return nil
	})
	v.Set(m)
	return err
}

func decodeInt(raw []byte, v reflect.Value) error {
	s := bare(raw)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // 1e3 and 5.0 are integers in JSON
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return mismatch("an integer", raw)
		}
		n = int64(f)
	}
	if v.OverflowInt(n) || (v.Kind() == reflect.Int && (n > math.MaxInt32 || n < math.MinInt32)) {
		return mismatch("an integer of 32 bits", raw)
	}
	v.SetInt(n)
	return nil
}

func decodeFloat(raw []byte, v reflect.Value) error {
	f, err := strconv.ParseFloat(bare(raw), 64)
	if err != nil {
		return mismatch("a number", raw)
	}
	v.SetFloat(f)
	return nil
}

func decodeTime(raw []byte, v reflect.Value) error {
	s, ok := jsontext.Unquote(raw)
	if !ok {
		return mismatch("a time", raw)
	}
	t, err := ParseTime(s)
	if err != nil {
		return mismatch("a time such as 2026-11-20T12:00:00Z", raw)
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

// ParseTime parses RFC 3339, and the forms without a zone that Python's isoformat writes; these
// are in UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}

func decodeBytes(raw []byte, v reflect.Value) error {
	s, ok := jsontext.Unquote(raw)
	if !ok {
		return mismatch("base64", raw)
	}
	enc := base64.StdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.URLEncoding
	}
	if !strings.HasSuffix(s, "=") && len(s)%4 != 0 {
		enc = enc.WithPadding(base64.NoPadding)
	}
	b, err := enc.DecodeString(s)
	if err != nil {
		return mismatch("base64", raw)
	}
	v.SetBytes(b)
	return nil
}

// bare returns a scalar's text without quotes.
func bare(raw []byte) string {
	if s, ok := jsontext.Unquote(raw); ok {
		return s
	}
	return string(raw)
}

// mismatchError reports a value of the wrong type.
type mismatchError struct{ path, want, got string }

func (e *mismatchError) Error() string {
	return fmt.Sprintf("%s: expected %s, found %s", e.path, e.want, e.got)
}

func mismatch(want string, raw []byte) error {
	got := string(raw)
	if len(got) > 40 {
		got = got[:40] + "…"
	}
	return &mismatchError{want: want, got: got}
}

// within adds a name to the path of an error.
func within(err error, name string) error {
	if m, ok := errors.AsType[*mismatchError](err); ok {
		if m.path != "" && m.path[0] != '[' {
			name += "."
		}
		m.path = name + m.path
	}
	return err
}
