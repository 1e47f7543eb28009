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
)

// maxDepth bounds nesting of messages; no message of the wire is deeper.
const maxDepth = 64

// Unmarshal reads a message as leniently as Determined's gateway does: names in
// camelCase or snake_case, unknown names ignored, null for "not given", numbers
// as strings. An empty body is an empty message.
func Unmarshal(data []byte, v any) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	if !json.Valid(data) {
		return syntaxError(data)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		panic("v1: Unmarshal needs a pointer")
	}
	return decode(data, rv.Elem(), "", 0)
}

// syntaxError words what is wrong with a body, and where.
func syntaxError(data []byte) error {
	var x any
	err := json.Unmarshal(data, &x)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return fmt.Errorf("the body is not JSON: %s at byte %d", se.Error(), se.Offset)
	}
	return fmt.Errorf("the body is not JSON: %w", err)
}

func decode(raw []byte, v reflect.Value, path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: nested more than %d deep", path, maxDepth)
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	switch v.Type() {
	case timeType:
		return decodeTime(raw, v, path)
	case structType:
		if raw[0] != '{' {
			return mismatch(path, "an object", raw)
		}
		v.SetBytes(bytes.Clone(raw))
		return nil
	case bytesType:
		return decodeBytes(raw, v, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := decode(raw, p.Elem(), path, depth+1); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		return decodeMessage(raw, v, path, depth)
	case reflect.Slice:
		return decodeList(raw, v, path, depth)
	case reflect.Map:
		return decodeMap(raw, v, path, depth)
	case reflect.String:
		s, ok := unquote(raw)
		if !ok {
			return mismatch(path, "a string", raw)
		}
		v.SetString(s)
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(bare(raw))
		if err != nil {
			return mismatch(path, "true or false", raw)
		}
		v.SetBool(b)
		return nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return decodeInt(raw, v, path)
	case reflect.Float64:
		return decodeFloat(raw, v, path)
	}
	return fmt.Errorf("v1: cannot decode into %s", v.Type())
}

func decodeMessage(raw []byte, v reflect.Value, path string, depth int) error {
	if raw[0] != '{' {
		return mismatch(path, "an object", raw)
	}
	p := planOf(v.Type())
	return eachMember(raw, func(name string, value []byte) error {
		i, ok := p.byName[name]
		if !ok {
			return nil
		}
		f := p.fields[i]
		return decode(value, v.Field(f.index), join(path, f.name), depth+1)
	})
}

func decodeList(raw []byte, v reflect.Value, path string, depth int) error {
	if raw[0] != '[' {
		return mismatch(path, "a list", raw)
	}
	items := elements(raw)
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := decode(item, list.Index(i), path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func decodeMap(raw []byte, v reflect.Value, path string, depth int) error {
	if raw[0] != '{' {
		return mismatch(path, "an object", raw)
	}
	m := reflect.MakeMap(v.Type())
	err := eachMember(raw, func(name string, value []byte) error {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := decode(value, item, join(path, name), depth+1); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(name), item)
		return nil
	})
	v.Set(m)
	return err
}

func decodeInt(raw []byte, v reflect.Value, path string) error {
	s := bare(raw)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // 1e3 and 5.0 are integers in JSON
		f, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return mismatch(path, "an integer", raw)
		}
		n = int64(f)
	}
	if v.OverflowInt(n) || (v.Kind() == reflect.Int && (n > math.MaxInt32 || n < math.MinInt32)) {
		return mismatch(path, "an integer of 32 bits", raw)
	}
	v.SetInt(n)
	return nil
}

func decodeFloat(raw []byte, v reflect.Value, path string) error {
	f, err := strconv.ParseFloat(bare(raw), 64)
	if err != nil {
		return mismatch(path, "a number", raw)
	}
	v.SetFloat(f)
	return nil
}

func decodeTime(raw []byte, v reflect.Value, path string) error {
	s, ok := unquote(raw)
	if !ok {
		return mismatch(path, "a time", raw)
	}
	t, err := ParseTime(s)
	if err != nil {
		return mismatch(path, "a time such as 2026-11-20T12:00:00Z", raw)
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

// ParseTime reads RFC 3339, and the forms without a zone (UTC is meant) that
// Python's isoformat writes.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", s)
}

func decodeBytes(raw []byte, v reflect.Value, path string) error {
	s, ok := unquote(raw)
	if !ok {
		return mismatch(path, "base64", raw)
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
		return mismatch(path, "base64", raw)
	}
	v.SetBytes(b)
	return nil
}

func unquote(raw []byte) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 { // the common case needs no second look
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// bare is a scalar's text, its quotes taken off.
func bare(raw []byte) string {
	if s, ok := unquote(raw); ok {
		return s
	}
	return string(raw)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func mismatch(path, want string, raw []byte) error {
	got := string(raw)
	if len(got) > 40 {
		got = got[:40] + "…"
	}
	if path == "" {
		path = "the body"
	}
	return fmt.Errorf("%s: expected %s, found %s", path, want, got)
}
