package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// YAML converts a JSON text to YAML in block style with sorted keys.
//
// Parsers of YAML 1.1 and of 1.2 read the result in the same way, although they disagree about
// plain words: Determined's client and many scripts use 1.1, Go's libraries 1.2. So text that
// either would read as another type is quoted, and floats always have a point.
func YAML(w io.Writer, raw []byte) error {
	value, err := decode(raw)
	if err != nil {
		return err
	}
	var b strings.Builder
	switch v := value.(type) {
	case map[string]any, []any:
		writeBlock(&b, v, 0)
	default:
		b.WriteString(scalar(v))
		b.WriteByte('\n')
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// writeBlock writes a mapping or a list with the given indentation.
func writeBlock(b *strings.Builder, value any, depth int) {
	indent := strings.Repeat(" ", depth)
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			b.WriteString(indent + "{}\n")
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(indent + text(key) + ":")
			writeValue(b, v[key], depth)
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(indent + "[]\n")
			return
		}
		for _, item := range v {
			b.WriteString(indent + "-")
			writeItem(b, item, depth)
		}
	}
}

// writeValue writes the value after "key:". Lists begin in the key's column.
func writeValue(b *strings.Builder, value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			b.WriteByte('\n')
			writeBlock(b, v, depth+2)
			return
		}
		b.WriteString(" {}\n")
	case []any:
		if len(v) > 0 {
			b.WriteByte('\n')
			writeBlock(b, v, depth)
			return
		}
		b.WriteString(" []\n")
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

// writeItem writes the value after "-"; its first line is on the same line.
func writeItem(b *strings.Builder, value any, depth int) {
	var inner strings.Builder
	switch v := value.(type) {
	case map[string]any, []any:
		writeBlock(&inner, v, depth+2)
		b.WriteString(" " + strings.TrimLeft(inner.String(), " "))
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return number(v.String())
	case string:
		return text(v)
	}
	return text(fmt.Sprint(value))
}

// number writes 1e-05 as 1.0e-05: without the point it is a string in YAML 1.1.
func number(s string) string {
	mantissa, exponent, found := strings.Cut(strings.ToLower(s), "e")
	if !found {
		_, ierr := strconv.ParseInt(s, 10, 64)
		f, ferr := strconv.ParseFloat(s, 64)
		if ierr == nil || ferr != nil || strings.Contains(s, ".") {
			return s
		}
		// A whole number that is too large for many parsers is written as the float that JSON
		// parsers make of it.
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent[0] != '-' && exponent[0] != '+' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

// text is a string, quoted if a plain one would be read as another type.
func text(s string) string {
	if isPlain(s) {
		return s
	}
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) || r == '\ufeff' {
			quoted, err := json.Marshal(s) // JSON's strings are YAML's double-quoted ones
			if err != nil {
				return strconv.Quote(s)
			}
			return string(quoted)
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// words that some YAML parsers read as a boolean or as null.
const words = "|y|n|yes|no|true|false|on|off|null|~|=|<<|.inf|-.inf|+.inf|.nan|"

func isPlain(s string) bool {
	if s == "" || strings.Contains(words, "|"+strings.ToLower(s)+"|") {
		return false
	}
	if strings.ContainsRune("-?:,[]{}#&*!|>'\"%@` \t", rune(s[0])) || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.Contains(s, "---") {
		return false
	}
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) || r == '\ufeff' {
			return false
		}
	}
	return !looksLikeNumber(s) && !looksLikeDate(s)
}

// looksLikeNumber accepts the forms of all versions of YAML: underscores, octal and binary
// numbers, and 1:30 for ninety.
func looksLikeNumber(s string) bool {
	s = strings.ReplaceAll(s, "_", "")
	if _, err := strconv.ParseFloat(s, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return true
	}
	if _, err := strconv.ParseInt(s, 0, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return true
	}
	return strings.Contains(s, ":") && strings.Trim(s, "+0123456789:.") == ""
}

// looksLikeDate reports whether a text begins like 2026-11-20.
func looksLikeDate(s string) bool {
	year, rest, ok := strings.Cut(s, "-")
	if !ok || len(year) != 4 || strings.Trim(year, "0123456789") != "" {
		return false
	}
	month, _, ok := strings.Cut(rest, "-")
	return ok && len(month) <= 2 && strings.Trim(month, "0123456789") == ""
}
