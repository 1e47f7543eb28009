// Package jsontext is pure: it checks, decodes and compares JSON texts of programs that PostgreSQL stores as jsonb. TestStorableJSON of
// package database compares the checks with PostgreSQL.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/decimals"
	"github.com/detent-ml/detent/master/fault"
)

// Decode decodes a JSON value; numbers stay json.Number.
func Decode(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// Same reports whether two JSON texts have the same value.
func Same(a, b json.RawMessage) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b), nil
	}
	var x, y any
	if err := errors.Join(Decode(a, &x), Decode(b, &y)); err != nil {
		return false, err
	}
	return sameValue(x, y), nil
}

// sameValue reports whether two decoded values are equal. It compares numbers by value,
// because PostgreSQL changes their text.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, there := y[k]
			if !there || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, xerr := strconv.ParseFloat(a.String(), 64)
	y, yerr := strconv.ParseFloat(b.String(), 64)
	return xerr == nil && yerr == nil && x == y
}

// Checks of JSON from programs before it is stored. PostgreSQL would reject such JSON itself,
// but then a statement with the values of several callers would fail.
const (
	// Deepest is how many levels of nesting are stored: PostgreSQL's stack allows thousands.
	Deepest    = 500
	maxNumber  = 4000 // characters of a number; PostgreSQL keeps 16,383 digits after the point
	surelyFits = 300  // a number with at most this many characters and no exponent is in the range of doubles
)

// Storable rejects JSON that jsonb cannot hold, and numbers outside the range of doubles,
// because stored numbers are compared and averaged as doubles. The text must be valid JSON.
func Storable(raw []byte) error {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return fault.New(fault.Invalid, "text with a NUL character or invalid UTF-8 cannot be stored")
	}
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n, err := String(raw[i+1:])
			if err != nil {
				return err
			}
			i += 1 + n
			continue
		case c == '-' || c >= '0' && c <= '9':
			n := decimals.NumberEnd(raw[i:])
			if err := storableNumber(raw[i : i+n]); err != nil {
				return err
			}
			i += n
			continue
		case c == '{' || c == '[':
			if depth++; depth > Deepest {
				return fault.New(fault.Invalid, "lists and objects are nested more than %d levels deep", Deepest)
			}
		case c == '}' || c == ']':
			depth--
		}
		i++
	}
	return nil
}

// String checks a string that begins after its first quote, and returns its length
// including the last quote.
func String(raw []byte) (n int, err error) {
	for n < len(raw) {
		switch {
		case raw[n] == '"':
			return n + 1, nil
		case raw[n] != '\\':
			n++
			continue
		case n+1 >= len(raw) || raw[n+1] != 'u':
			n += 2
			continue
		}
		r := escaped(raw[n:])
		n += 6
		switch {
		case r == 0:
			return n, fault.New(fault.Invalid, `text with a NUL (\u0000) cannot be stored`)
		case r >= 0xD800 && r < 0xDC00:
			if next := escaped(raw[min(n, len(raw)):]); next < 0xDC00 || next > 0xDFFF {
				return n, fault.New(fault.Invalid, `text with half a character (\u%x without the other half) cannot be stored`, r)
			}
			n += 6
		case r >= 0xDC00 && r < 0xE000:
			return n, fault.New(fault.Invalid, `text with half a character (\u%x without the half before it) cannot be stored`, r)
		}
	}
	return min(n, len(raw)), nil
}

// escaped decodes \uXXXX at the beginning of a text; -1 if there is none.
func escaped(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	r, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(r)
}

// storableNumber rejects numbers outside the range of doubles, and those with more digits
// than PostgreSQL keeps. It accepts numbers too small for a double, which database.FloatAt reads as 0.
func storableNumber(raw []byte) error {
	if len(raw) > maxNumber {
		return fault.New(fault.Invalid, "the number %s… has %d characters; %d can be stored", raw[:20], len(raw), maxNumber)
	}
	e := bytes.IndexAny(raw, "eE")
	if e < 0 && len(raw) <= surelyFits {
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f == 0 && e >= 0 && len(raw)-e > len("e-999") {
		return fault.New(fault.Invalid, "the number %.40s is out of the range of a 64-bit floating-point number and cannot be stored; "+
			`infinity is reported as the text "Infinity" or "-Infinity"`, raw)
	}
	return nil
}
