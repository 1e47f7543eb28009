package jsontext

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
)

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
	for t, rest := Token(raw); t != nil; t, rest = Token(rest) {
		switch c := t[0]; {
		case c == '"':
			if err := storableString(t); err != nil {
				return err
			}
		case IsNumber(t):
			if err := storableNumber(t); err != nil {
				return err
			}
		case c == '{' || c == '[':
			if depth++; depth > Deepest {
				return fault.New(fault.Invalid, "lists and objects are nested more than %d levels deep", Deepest)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// storableString checks the escapes of a string.
func storableString(raw []byte) error {
	for n := 0; ; {
		at := bytes.IndexByte(raw[n:], '\\')
		if at < 0 {
			return nil
		}
		if n += at; n+1 >= len(raw) || raw[n+1] != 'u' {
			n = min(n+2, len(raw))
			continue
		}
		r := escaped(raw[n:])
		n = min(n+6, len(raw))
		switch {
		case r == 0:
			return fault.New(fault.Invalid, `text with a NUL (\u0000) cannot be stored`)
		case r >= 0xD800 && r < 0xDC00:
			if next := escaped(raw[n:]); next < 0xDC00 || next > 0xDFFF {
				return fault.New(fault.Invalid, `text with half a character (\u%x without the other half) cannot be stored`, r)
			}
			n = min(n+6, len(raw))
		case r >= 0xDC00 && r < 0xE000:
			return fault.New(fault.Invalid, `text with half a character (\u%x without the half before it) cannot be stored`, r)
		}
	}
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
