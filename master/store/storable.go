package store

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
)

// What of JSON can be stored. PostgreSQL would refuse more, but in a statement that
// many share: what it refuses is found before.
const (
	deepestJSON = 500  // lists and objects in each other; PostgreSQL has a stack for thousands
	maxNumber   = 4000 // characters; PostgreSQL keeps 16,383 digits behind the point
	surelyFits  = 300  // characters of a number without an exponent
)

// storableJSON refuses JSON that jsonb cannot hold, or whose numbers are beyond the
// doubles, which is what they are compared and averaged as. The text has to be JSON.
func storableJSON(raw []byte) error {
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		return fault.New(fault.Invalid, "text with a NUL character or invalid UTF-8 cannot be stored")
	}
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n, err := storableString(raw[i+1:])
			if err != nil {
				return err
			}
			i += 1 + n
			continue
		case c == '-' || c >= '0' && c <= '9':
			n := numberEnd(raw[i:])
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

// storableString looks at a string from behind its first quote, and says how long it
// is with its last.
func storableString(raw []byte) (n int, err error) {
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

// escaped reads the \uXXXX that a text begins with; -1: it begins with none.
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

func numberEnd(raw []byte) int {
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return len(raw)
}

// storableNumber refuses numbers beyond the range of doubles, and what has more digits
// than PostgreSQL keeps. What a double makes zero is read as zero (floatAt).
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
