package database

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/decimals"
	"github.com/detent-ml/detent/master/fault"
)

// Checks of JSON from programs before it is stored. PostgreSQL would reject such JSON itself,
// but then a statement with the values of several callers would fail.
const (
	deepestJSON = 500  // levels of nesting; PostgreSQL's stack allows thousands
	maxNumber   = 4000 // characters of a number; PostgreSQL keeps 16,383 digits after the point
	surelyFits  = 300  // a number with at most this many characters and no exponent is in the range of doubles
)

// StorableJSON rejects JSON that jsonb cannot hold, and numbers outside the range of doubles,
// because stored numbers are compared and averaged as doubles. The text must be valid JSON.
func StorableJSON(raw []byte) error {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return fault.New(fault.Invalid, "text with a NUL character or invalid UTF-8 cannot be stored")
	}
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n, err := StorableString(raw[i+1:])
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
			if depth++; depth > deepestJSON {
				return fault.New(fault.Invalid, "lists and objects are nested more than %d levels deep", deepestJSON)
			}
		case c == '}' || c == ']':
			depth--
		}
		i++
	}
	return nil
}

// StorableString checks a string that begins after its first quote, and returns its length
// including the last quote.
func StorableString(raw []byte) (n int, err error) {
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
// than PostgreSQL keeps. It accepts numbers too small for a double, which FloatAt reads as 0.
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

// Text returns a text that a column can store: PostgreSQL stores neither NUL nor invalid UTF-8.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// TextUpTo returns the first bytes of a Text, without a broken character, and … if there were more.
func TextUpTo(s string, most int) string {
	s = Text(s)
	if len(s) <= most {
		return s
	}
	return Text(s[:most]) + "…"
}
